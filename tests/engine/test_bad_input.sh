# test_bad_input.sh: what is asked wrongly is refused in one sentence with exit 2, and nothing is made.

containers() { d ps -aq --filter "name=^/?$PREFIX" | wc -l; }

# refused ARGS…: exit 2, one line on stderr, nothing on stdout, no container.
refused() {
	expect_exit 2 sbxfs "$@"
	same 'stdout' "$OUT" ''
	[ -n "$ERR" ] && [ "$(printf '%s\n' "$ERR" | wc -l)" = 1 ] || fail "\`$*\` said: $ERR"
	same "containers after $*" "$(containers)" 0
}
create() { refused create --name "$(full x)" --image sbxfs-test:latest "$@"; }

test_outputs_that_cannot_be_declared() {
	local path
	for path in ../x x/../../y /etc/passwd in/x in in/ '' . ./x a//b a/./b out/..; do
		create --output "$path"
	done
	create --output "$(printf 'bad\xff')"
	create --output "$(printf '%0256d' 0)"
}

test_outputs_that_collide() {
	create --output out/ --output out/x
	create --output report --output report
	create --output report --output report/
	create --output a/b --output a
}

test_unknown_words_and_options() {
	refused create --image sbxfs-test:latest --no-such-option
	refused no-such-command
	refused unmount "$MNT"
	refused mount "$MNT" -o no_such_option
	refused mount "$MNT" -o max_file_bytes=lots
	refused mount "$MNT" -o state=sleeping
	refused create --name "$(full x)"
	refused create --name 'bad name' --image sbxfs-test:latest
	refused create --name "$(full x)" --image sbxfs-test:latest --memory plenty
	! grep -qF " $MNT " /proc/mounts || fail 'mounted after all'
}

# Absent here, it is pulled: whether the registry says no (2) or cannot be asked (11) depends on where this runs.
test_an_image_that_is_not_there() {
	local status=0
	ERR=$(sbxfs create --name "$(full x)" --image sbxfs-test:no-such-tag --pull-timeout 10 2>&1 >/dev/null) || status=$?
	case $status in 2 | 11) ;; *) fail "exit $status: $ERR" ;; esac
	same containers "$(containers)" 0
	has 'the sentence' "$ERR" no-such-tag
}

test_a_work_dir_that_is_none() {
	create --workdir relative
	create --workdir /a/../b
	create --workdir /proc/x
}

# What the guest names is escaped where it reaches a terminal.
test_guest_text_cannot_drive_a_terminal() {
	sandbox_start a out/
	in_guest a sh -c 'mkdir -p /work/out; ln -s "$(printf "x\033]0;owned\007")" "/work/out/$(printf "evil\033[2Jname")"'
	mount_up
	ls "$(box a)/out" >/dev/null
	local name
	name=$(printf 'evil\033[2Jname')
	fsop open "$(box a)/out/$name" >/dev/null || true
	cat "$(box a)/.sbxfs/refused" "$(box a)/.sbxfs/audit" "$(box a)/.sbxfs/info.json" "$SBXFS_TEST_DIR/mount.log" >all
	sbxfs info "$(full a)" "out/$name" >>all 2>&1 || true
	sbxfs info "$(full a)" "out/$name/x" >>all 2>&1 || true
	! grep -q "$(printf '\033')" all || fail 'an escape byte came through'
	grep -q 'evil' all || fail 'the name is nowhere: the test proves nothing'
}
