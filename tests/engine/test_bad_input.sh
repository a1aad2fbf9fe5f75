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

# Bug case 25: wherever a guest or a label can plant them, no control byte reaches a terminal: tables, rows, sentences, and
# what a command prints. To a pipe what a command prints goes as it is.
test_planted_everywhere() {
	LABELS=(--label "sbxfs.scope=$PREFIX" --label "sbxfs.label.x=$(printf 'l\033]0;pwn\007')" --label sbxfs.thread=t --label sbxfs.agent=a --label sbxfs.kind=k)
	RUN_COMMAND=(sh -c 'printf "log\033]0;pwn\007\n"; exec sleep 1000')
	sandbox_start a out/ evil
	RUN_COMMAND=()
	sandbox_start b "$(printf 'bad\033[2J')"
	local evil status command n=0
	evil=$(printf 'evil\033]0;pwn\007\033[2J\nname\302\233')
	in_guest a sh -c 'mkdir -p "out/$1" && echo x >"out/$1/$1" && ln -s "$1" "out/$1.link" && mkfifo "out/$1.pipe" && echo x >"/tmp/$1"' sh "$evil"
	mkdir host && echo x >"host/$evil" && ln -s "$evil" host/link
	printf '%s' "$evil" >evil
	cat >commands <<-'END'
		ls
		ls $A
		ls $A --json
		ls $A --changes
		ls $A --changes --json
		ls $A "$EVIL"
		ls $A "out/$EVIL.link/x"
		ls $B
		info $A
		info $B
		info $A "out/$EVIL.link"
		info $A --json
		log $A
		get $A out --to got -q
		get $A out --to got.json --json -q
		get $A "out/$EVIL.pipe" --to got -q
		get $A "out/$EVIL/$EVIL" --to - -q
		get $A evil --to - -q
		put $A host -q
		put $A "host/$EVIL" --to "in/$EVIL/x" -q
		exec $A -- sh -c 'cat evil; cat evil >&2'
		exec $A -- "$EVIL"
		exec $A --cwd "/$EVIL" -- true
		exec $A --json -- cat evil
		run --image sbxfs-test:latest --in evil -- cat in/evil
		run --image "x/$EVIL" -- true
		reap --older-than 1s --scope $SCOPE --dry-run
		rm --instance "$EVIL" $A
		rm "$EVIL"
	END
	in_guest a sh -c 'printf %s "$1" >evil' sh "$evil"
	sleep 1.1
	export A B SCOPE EVIL
	A=$(full a) B=$(full b) SCOPE=$PREFIX EVIL=$evil
	# -l and -e: a login shell is not wanted, its code is not looked at.
	while read -r command; do
		status=0
		SBXFS_NO_NOTICE=1 timeout -k 2 $((60 * SLOW)) script -qc "'$SBXFS' $command" /dev/null </dev/null >seen 2>&1 || status=$?
		n=$((n + 1))
		[ -s seen ] || [[ $command = 'get '* || $command = 'put '* ]] || fail "\`$command\` said nothing"
		! LC_ALL=C tr -d '\r\n\t' <seen | LC_ALL=C grep -q '[[:cntrl:]]' || fail "\`$command\`: $(tr '\n' '|' <seen | cut -c1-250 | cat -v)"
		! grep -q "$(printf '\302\233')" seen || fail "\`$command\`: a C1 byte: $(cut -c1-250 seen | cat -v)"
		cat seen >>all
	done <commands
	same 'all were tried' $n 29
	[ "$(grep -c 'evil' all)" -gt 20 ] || fail "the name is hardly anywhere: $(grep -c evil all)"
	same 'to a pipe' "$("$SBXFS" exec "$(full a)" -- cat evil </dev/null | od -An -tx1)" "$(od -An -tx1 <evil)"
}
