# test_in.sh: what is written under in/ lands whole, owned by the guest's user, or its writer hears why not and the bytes
# are kept.
. "$SBXFS_TOP/tests/engine/in_lib.sh"

start() {
	sandbox_start a out/
	in_up "$@"
	IN=$(in_of a)
}
audit_lines() { timeout -k 2 10 cat "$(box a)/.sbxfs/audit" | grep -c . || true; }

test_reads_back_before_and_after_it_landed() {
	start
	exec 3>"$IN/f"
	echo first >&3
	same 'while open' "$(cat "$IN/f")" first
	echo second >&3
	exec 3>&-
	same 'after close' "$(cat "$IN/f")" $'first\nsecond'
	sleep 1.5
	same 'as the guest has it' "$(cat "$IN/f")" $'first\nsecond'
	same 'in the guest' "$(in_guest a cat /work/in/f)" $'first\nsecond'
	echo third >>"$IN/f"
	same 'appended' "$(in_guest a cat /work/in/f)" $'first\nsecond\nthird'
}

test_bytes_are_verbatim() {
	start
	printf 'caf\303\251 \000\001\377\r\n\n' >bytes
	h cp bytes "$IN/bytes"
	landed a bytes bytes
	head -c 3000000 /dev/urandom >big
	h cp big "$IN/big"
	landed a big big
	if engine_is podman; then # of a paused container it cannot be asked for a name that is not UTF-8
		expect_errno EILSEQ write "$IN/odd\\xffname\\x0a"
		return 0
	fi
	expect_errno ok write "$IN/odd\\xffname\\x0a"
	same 'no cut by name' "$(in_guest a sh -c 'ls -A /work/in | wc -l')" 3
}

test_truncates() {
	start
	printf '0123456789' >"$IN/f"
	expect_errno ok truncate "$IN/f" 4
	same shorter "$(in_guest a cat /work/in/f)" 0123
	expect_errno ok truncate "$IN/f" 6
	same longer "$(in_guest a od -An -c /work/in/f | tr -d ' ')" '0123\0\0'
	expect_errno ok truncate "$IN/f" 0
	same empty "$(guest_stat a %s f)" 0
}

test_directories() {
	start
	h mkdir -p "$IN/d/e/f"
	same owner "$(guest_stat a %u:%g d/e/f)" 1000:1000
	exec 3>"$IN/d/open"
	echo x >"$IN/d/closed"
	in_guest a sh -c 'echo x >/work/in/d/guest'
	sleep 1.1
	same 'staged and landed together' "$(ls "$IN/d" | tr '\n' ' ')" 'closed e guest open '
	expect_errno ENOTEMPTY rmdir "$IN/d"
	exec 3>&-
	expect_errno ok rmdir "$IN/d/e/f"
	guest_lacks a d/e/f || fail 'rmdir left it in the guest'
	expect_errno EPERM mkdir "$IN/.Trash-0"
	h chmod 0700 "$IN/d/e"
	same 'mode of a directory' "$(guest_stat a %a d/e)" 700
}

test_in_dir_itself_is_made_on_first_use() {
	sandbox_start a out/
	in_guest a sh -c 'rm -rf /work/in'
	in_up
	same listing "$(ls "$(in_of a)")" ''
	echo x >"$(in_of a)/x"
	same owner "$(in_guest a stat -c '%u:%g %a' /work/in)" '1000:1000 755'
}

test_existing_directories_keep_owner_and_mode() {
	start
	in_guest a sh -c 'mkdir -p /work/in; mkdir -m 0751 /work/in/own'
	in_guest_as_root a sh -c 'mkdir -m 0711 /work/in/roots'
	(umask 077; echo x >"$IN/own/f"; echo x >"$IN/roots/f")
	same own "$(guest_stat a '%u:%g %a' own)" '1000:1000 751'
	same roots "$(guest_stat a '%u:%g %a' roots)" '0:0 711'
	same file "$(guest_stat a '%u:%g %a' own/f)" '1000:1000 600'
	h chmod 0755 "$IN/roots"
	same 'after chmod' "$(guest_stat a '%u:%g %a' roots)" '0:0 711'
}

test_chown_succeeds_and_changes_nothing() {
	start
	echo x >"$IN/f"
	expect_errno ok chown "$IN/f" 12345
	same owner "$(guest_stat a %u:%g f)" 1000:1000
}

test_removes_what_is_staged_and_what_landed() {
	start
	exec 3>"$IN/staged"
	echo x >&3
	expect_errno ok unlink "$IN/staged"
	exec 3>&-
	echo x >"$IN/landed"
	echo x >"$IN/-rf"
	expect_errno ok unlink "$IN/landed"
	expect_errno ok unlink "$IN/-rf"
	expect_errno ENOENT unlink "$IN/landed"
	same 'left in the guest' "$(in_guest a ls -A /work/in)" ''
	same 'left here' "$(ls -A "$IN")" ''
	in_guest a sh -c 'ln -s /work/out /work/in/link'
	sleep 1.1
	expect_errno ok unlink "$IN/link"
	guest_lacks a link || fail 'the link is still there'
	in_guest a test -d /work || fail 'a target went too'
}

test_links_and_nodes_cannot_be_made() {
	start
	echo x >"$IN/f"
	expect_errno EPERM symlink /etc/passwd "$IN/l"
	expect_errno EPERM link "$IN/f" "$IN/hard"
	expect_errno EPERM mknod "$IN/fifo" p
	expect_errno EPERM mknod "$IN/null" c
	expect_errno EOPNOTSUPP setxattr "$IN/f" user.x
	same 'in the guest' "$(in_guest a ls -A /work/in)" f
}

test_outside_of_in_is_read_only() {
	start
	guest_write a out/x text
	expect_errno EROFS write "$(box a)/out/y"
	expect_errno EROFS write "$(box a)/y"
	expect_errno EROFS unlink "$(box a)/out/x"
	expect_errno EROFS mkdir "$MNT/new"
	expect_errno EROFS rmdir "$(box a)/in"
	echo x >"$IN/f"
	expect_errno EXDEV rename "$IN/f" "$(box a)/out/f"
	expect_errno EXDEV rename "$(box a)/out/x" "$IN/x"
	sandbox_start b
	wait_for 10 test -d "$(in_of b)"
	expect_errno EXDEV rename "$IN/f" "$(in_of b)/f"
}

# The guest's link must not lead an upload anywhere. Premise: an engine follows it if asked directly.
test_a_link_in_the_way_is_refused() {
	start
	in_guest a sh -c 'mkdir -p /work/in/d /work/elsewhere; ln -s /work/elsewhere /work/in/l'
	mkdir p && echo premise >p/premise && tar -C p -cf p.tar premise
	api "/containers/$(full a)/archive?path=/work/in/l" -X PUT -H 'Content-Type: application/x-tar' --data-binary @p.tar >/dev/null
	in_guest a test -e /work/elsewhere/premise || fail 'premise: the engine did not follow the link'
	expect_errno ELOOP write "$IN/l"
	expect_errno ENOTDIR write "$IN/l/x"
	ls "$IN/d" >/dev/null
	in_guest a sh -c 'rmdir /work/in/d; ln -s /work/elsewhere /work/in/d'
	! (echo x >"$IN/d/x") 2>/dev/null || fail 'a write through a link succeeded'
	same 'landed behind the link' "$(in_guest a ls /work/elsewhere)" premise
	[ "$(audit_lines)" -gt 0 ] || fail 'no line in the audit'
}

# What the mount believes is older than the swap, so that each reaches the walk.
test_each_refusal_is_one_line_of_the_audit() {
	start -o entry_timeout=120
	in_guest a sh -c 'mkdir -p /work/in/d/sub /work/elsewhere/sub; head -c 2000000 /dev/zero >/work/in/d/f; cp /work/in/d/f /work/elsewhere/f; echo x >/work/in/other'
	stat "$IN/d/f" "$IN/d/sub" "$IN/other" >/dev/null
	in_guest a sh -c 'mv /work/in/d /work/in/was; ln -s /work/elsewhere /work/in/d'
	local lines=0 each
	for each in "chmod $IN/d/f 600" "utime $IN/d/f 1700000000" "rename $IN/d/f $IN/d/g" "rename $IN/other $IN/d/other" \
		"truncate $IN/d/f 10" "mkdir $IN/d/new" "rmdir $IN/d/sub" "unlink $IN/d/f"; do
		# shellcheck disable=SC2086 # an operation and its arguments
		expect_errno ELOOP $each
		lines=$((lines + 1))
		same "lines after $each" "$(audit_lines)" $lines
	done
	same 'behind the link' "$(in_guest a sh -c 'cd /work/elsewhere && ls && stat -c "%n %a %s" f' | tr '\n' ' ')" 'f sub f 644 2000000 '
	same 'not moved' "$(in_guest a cat /work/in/other)" x
}

test_a_link_swapped_in_before_close_is_refused() {
	start
	in_guest a sh -c 'mkdir -p /work/in/d /work/elsewhere'
	cat >late.py <<-'END'
		import os, sys, time
		fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
		os.write(fd, b"x")
		open("written", "w").close()
		while not os.path.exists("swapped"):
		    time.sleep(0.05)
		os.close(fd)
	END
	timeout -k 2 100 python3 late.py "$IN/d/x" 2>err </dev/null &
	local writer=$!
	wait_for 30 test -e written
	in_guest a sh -c 'rmdir /work/in/d; ln -s /work/elsewhere /work/in/d'
	touch swapped
	! wait $writer || fail 'close succeeded'
	has errno "$(cat err)" 'Too many levels'
	same 'landed behind the link' "$(in_guest a ls /work/elsewhere)" ''
	has pending "$(cat "$MNT/.sbxfs/pending")" ELOOP
}

# chmod and utimens of a large file go by the guest's own commands, and no byte of it moves; where it has none, its bytes go.
test_mode_and_time_of_a_large_file() {
	start
	head -c 3000000 /dev/urandom >big
	h cp big "$IN/big"
	moved() { stats '"\(.engine.archive_gets) \(.engine.archive_puts)"'; }
	local before each
	before=$(moved)
	for each in 'at once' 'when it is the guest'\''s again'; do
		expect_errno ok chmod "$IN/big" 600
		expect_errno ok chmod "$IN/big" 640
		expect_errno ok utime "$IN/big" 1700000000
		expect_errno ok utime "$IN/big" 1700000001
		same "shown $each" "$(stat -c '%a %s %Y' "$IN/big")" '640 3000000 1700000001'
		same "in the guest $each" "$(guest_stat a '%a %s %Y' big)" '640 3000000 1700000001'
		sleep 1.5
	done
	same 'bytes moved' "$(moved)" "$before"
	same 'shown later' "$(stat -c '%a %s %Y' "$IN/big")" '640 3000000 1700000001'
	landed a big big
	in_guest_as_root a sh -c 'rm /bin/chmod /bin/touch'
	expect_errno ok chmod "$IN/big" 604
	expect_errno ok utime "$IN/big" 1700000002
	same 'without commands' "$(guest_stat a '%a %s %Y' big)" '604 3000000 1700000002'
	landed a big big
}

# An image with no account files and no `id`: a user by name stays unknown.
test_unknown_guest_user_makes_it_read_only() {
	start
	in_guest a sh -c 'mkdir -p /work/in/d; echo x >/work/in/old'
	in_guest_as_root a sh -c 'mv /etc/passwd /passwd; mv /bin/id /id' # its user is the name guest, which nobody knows now
	expect_errno EROFS write "$IN/f"
	has reason "$(cat "$(box a)/.sbxfs/info.json")" user
	expect_errno EROFS mkdir "$IN/new"
	expect_errno EROFS unlink "$IN/old"
	expect_errno EROFS rename "$IN/old" "$IN/new"
	expect_errno EROFS rmdir "$IN/d"
	same 'in the guest' "$(in_guest a ls /work/in | tr '\n' ' ')" 'd old '
	in_guest_as_root a sh -c 'mv /passwd /etc/passwd; mv /id /bin/id' # what is not known is not remembered
	expect_errno ok write "$IN/f"
	expect_errno ok unlink "$IN/old"
	same 'in the guest later' "$(in_guest a ls /work/in | tr '\n' ' ')" 'd f '
}

# The guest's own commands do it, and an image may lack them.
test_commands_that_the_image_lacks() {
	start
	in_guest a sh -c 'mkdir -p /work/in/d; echo x >/work/in/f'
	in_guest_as_root a sh -c 'cd /bin && busybox rm rm mv rmdir'
	expect_errno EOPNOTSUPP unlink "$IN/f"
	expect_errno EOPNOTSUPP rename "$IN/f" "$IN/g"
	expect_errno EOPNOTSUPP rmdir "$IN/d"
	local each
	for each in rm mv rmdir; do
		has log "$(cat mount.log)" "needs the command $each, which this image does not have"
	done
	same 'in the guest' "$(in_guest a ls /work/in | tr '\n' ' ')" 'd f '
}

# fsync says how the upload went, while the file stays open.
test_fsync_is_an_upload() {
	proxy_up
	start
	cat >fsync.py <<-'END'
		import errno, os, sys, time
		fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
		for name in "first", "second":
		    os.write(fd, name.encode())
		    try:
		        os.fsync(fd)
		        result = "ok"
		    except OSError as failure:
		        result = errno.errorcode[failure.errno]
		    with open(name + ".part", "w") as file:
		        file.write(result)
		    os.rename(name + ".part", name)
		    while name == "first" and not os.path.exists("away"):
		        time.sleep(0.05)
	END
	timeout -k 2 110 python3 fsync.py "$IN/f" </dev/null >/dev/null 2>&1 &
	wait_for 30 test -e first
	same fsync "$(cat first)" ok
	same 'in the guest while it is open' "$(in_guest a cat /work/in/f)" first
	proxy_down
	touch away
	wait_for 60 test -e second
	same 'fsync without an engine' "$(cat second)" EHOSTDOWN
}

# Acknowledged, not landed: the one who unmounts hears of it.
test_async_without_an_engine_is_said_at_the_end() {
	proxy_up
	start -o async
	ls "$IN" >/dev/null
	proxy_down
	echo kept >"$IN/f"
	mount_down 13
	has kept "$(sbxfs pending --staging-dir "$STAGING" --json)" in/f
}

test_retries_come_less_and_less_often() {
	proxy_up
	start
	ls "$IN" >/dev/null
	proxy_down
	expect_errno EHOSTDOWN write "$IN/f" text
	local until=$((SECONDS + 30 * SLOW)) first=0 third=0 attempts wait
	while [ "$third" = 0 ]; do
		[ $SECONDS -lt $until ] || fail 'it was not tried three times'
		read -r attempts wait <<<"$(jq -r '"\(.attempts) \(.retry_in_ms // 0)"' "$MNT/.sbxfs/pending")"
		[ "$attempts" != 1 ] || [ "$wait" -le $first ] || first=$wait
		[ "$attempts" != 3 ] || third=$wait
		sleep 0.05
	done
	[ $first -le 1000 ] || fail "the first wait was $first ms"
	[ $third -gt 2000 ] || fail "the third wait was $third ms"
}

# Bug case 55: refused with what to do, and that works.
test_read_only_root_is_read_only() {
	RUN_OPTIONS=(--read-only --tmpfs /tmp:mode=1777)
	start
	expect_errno EROFS write "$IN/f"
	has reason "$(info a .in.reason)" "read-only, engines upload nothing into it"
	has 'what to do' "$(info a .in.reason)" "exec NAME --shell 'cat >FILE' <FILE"
	echo text >f
	expect_exit 8 sbxfs put "$(full a)" f
	has 'the sentence of put' "$ERR" "sbxfs exec $(full a) --shell 'cat >FILE' <FILE"
	timeout 30 "$SBXFS" exec "$(full a)" --shell 'cat >/tmp/f' <f
	same 'what to do' "$(in_guest a cat /tmp/f)" text
}

test_exited_and_paused_sandboxes_take_files() {
	start
	d pause "$(full a)" >/dev/null
	echo x >"$IN/paused"
	d unpause "$(full a)" >/dev/null
	same 'while paused' "$(in_guest a cat /work/in/paused)" x
	d kill "$(full a)" >/dev/null
	echo y >"$IN/exited"
	api "/containers/$(full a)/archive?path=/work/in/exited" -o exited.tar
	same 'after its exit' "$(tar -xOf exited.tar)" y
}

test_ceiling() {
	start -o max_in_bytes=100k
	head -c 102400 /dev/zero >ok
	h cp ok "$IN/ok"
	landed a ok ok
	head -c 102401 /dev/zero >over
	local puts
	puts=$(stats .engine.archive_puts)
	! h cp over "$IN/more" 2>err || fail 'it was taken'
	has errno "$(cat err)" 'File too large'
	same 'uploads begun' "$(stats .engine.archive_puts)" "$puts"
	guest_lacks a more || fail 'a part of it landed'
	expect_errno ok unlink "$IN/more"
	echo x >"$IN/f"
	expect_errno EFBIG truncate "$IN/f" 102401
}

test_parallel_closes_share_uploads() {
	start
	echo warm >"$IN/warm"
	local before
	before=$(stats .in.uploads)
	cat >close.py <<-'END'
		import os, sys, threading
		fds = [os.open("%s/p%d" % (sys.argv[1], i), os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for i in range(16)]
		for i, fd in enumerate(fds):
		    os.write(fd, b"%d\n" % (i + 1))
		threads = [threading.Thread(target=os.close, args=(fd,)) for fd in fds]
		[t.start() for t in threads]
		[t.join() for t in threads]
	END
	timeout -k 2 100 python3 close.py "$IN" </dev/null
	local used=$(($(stats .in.uploads) - before))
	[ $used -le 4 ] || fail "$used uploads for 16 files"
	same files "$(in_guest a sh -c 'cat /work/in/p* | sort -n | tr "\n" " "')" "$(seq 16 | tr '\n' ' ')"
}

test_the_guests_change_is_seen() {
	start
	echo mine >"$IN/f"
	in_guest a sh -c 'echo the guest >/work/in/f'
	sleep 1.2
	same read "$(cat "$IN/f")" 'the guest'
	echo again >>"$IN/f"
	same appended "$(in_guest a cat /work/in/f)" $'the guest\nagain'
	in_guest a rm /work/in/f
	sleep 1.2
	expect_errno ENOENT stat "$IN/f"
}

# The engine goes away while a file is open: close says so, the bytes stay, and land when it is back.
test_engine_away_keeps_the_bytes() {
	proxy_up
	start
	ls "$IN" >/dev/null
	writer_open "$IN/f" precious
	proxy_down
	same 'close without an engine' "$(writer_close)" EHOSTDOWN
	has listed "$(cat "$MNT/.sbxfs/pending")" '"in/f"'
	! h "$SBXFS" sync "$MNT" 2>err || fail 'sync succeeded'
	same 'still read here' "$(cat "$IN/f")" precious
	DOCKER_HOST=$ENGINE_HOST
	proxy_up
	wait_for 30 guest_has a f
	wait_for 10 nothing_pending
	same landed "$(in_guest a cat /work/in/f)" precious
}

# What is begun after the engine has gone is staged all the same: new names, new contents of files that are known, all of
# it listed with the reason. The writer hears of it at close.
test_engine_away_stages_what_is_new() {
	proxy_up
	start
	h mkdir "$IN/d"
	echo old >"$IN/known"
	ls "$IN/d" >/dev/null
	sleep 1.2 # what was known of the names is stale now
	proxy_down
	expect_errno EHOSTDOWN write "$IN/new" new
	expect_errno EHOSTDOWN write "$IN/d/new" new
	expect_errno EHOSTDOWN write "$IN/known" rewritten
	same 'read back' "$(cat "$IN/new" "$IN/d/new" "$IN/known")" newnewrewritten
	expect_errno EHOSTDOWN mkdir "$IN/d/directory"
	local pending
	pending=$(cat "$MNT/.sbxfs/pending")
	has 'a new name' "$pending" '"in/new"'
	has 'below a directory' "$pending" '"in/d/new"'
	has 'a known name' "$pending" '"in/known"'
	has 'the reason' "$pending" EHOSTDOWN
	DOCKER_HOST=$ENGINE_HOST
	proxy_up
	wait_for 90 nothing_pending
	same landed "$(in_guest a sh -c 'cat /work/in/new /work/in/d/new /work/in/known')" newnewrewritten
}

# Made while nobody could say that the guest has the name: it is never replaced.
test_engine_away_replaces_nothing_unknown() {
	proxy_up
	start
	ls "$IN" >/dev/null
	guest_pid a >/dev/null
	proxy_down
	in_guest a sh -c 'mkdir -p /work/in; echo precious >/work/in/f'
	sleep 1.2
	timeout -k 2 40 python3 -c 'import os, sys; fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_EXCL); os.write(fd, b"x"); os.close(fd)' \
		"$IN/f" 2>err </dev/null && fail 'it was acknowledged'
	has errno "$(cat err)" 'Host is down'
	DOCKER_HOST=$ENGINE_HOST
	proxy_up
	wait_for 60 pending_says EEXIST
	same 'in the guest' "$(in_guest a cat /work/in/f)" precious
	mount_down 13
	expect_exit 13 sbxfs pending --staging-dir "$STAGING" --retry
	local why
	why=$(sbxfs pending --staging-dir "$STAGING" --json | jq -r '.[].reason')
	DOCKER_HOST=$ENGINE_HOST expect_exit 13 sbxfs pending --staging-dir "$STAGING" --retry
	has 'the retry' "$ERR" 'another engine'
	same 'the reason that is kept' "$(sbxfs pending --staging-dir "$STAGING" --json | jq -r '.[].reason')" "$why"
	same 'still in the guest' "$(in_guest a cat /work/in/f)" precious
	expect_exit 0 sbxfs pending --staging-dir "$STAGING" --discard
	same left "$(sbxfs pending --staging-dir "$STAGING" --json)" '[]'
}
pending_says() { grep -q "$1" "$MNT/.sbxfs/pending"; }

# Broken off in the middle, the engine has a part under the final name. It is sent again in the same freeze window, so
# that the guest never sees the part. Premise: cut for good, the part is what the engine keeps.
test_a_cut_upload_is_never_seen() {
	proxy_up
	start
	head -c 4000000 /dev/urandom >big
	echo first >"$IN/warm"
	in_guest a sh -c 'while :; do s=$(stat -c %s /work/in/big 2>/dev/null) && [ "$s" != "$o" ] && echo $s >>/work/seen; o=$s; done' &
	proxy_cut 1000000
	h cp big "$IN/big" || fail 'a cut that was mended was reported'
	landed a big big
	same 'uploads left to cut' "$(cut -d' ' -f2 stall.cut)" 0
	wait_for 10 in_guest a test -s /work/seen
	same 'sizes the guest saw' "$(in_guest a sort -u /work/seen)" 4000000
}

test_an_upload_cut_twice_is_said_and_mended() {
	proxy_up
	start
	head -c 4000000 /dev/urandom >big
	echo first >"$IN/keep"
	proxy_cut 1000000 2
	! h cp big "$IN/big" 2>err || fail 'it was acknowledged'
	has errno "$(cat err)" 'Input/output error'
	guest_lacks a big || fail 'a part is left in the guest'
	wait_for 60 nothing_pending
	landed a big big
	proxy_cut 1000000 1000
	! h cp big "$IN/keep" 2>err || fail 'it was acknowledged'
	has 'what pending says' "$(cat "$MNT/.sbxfs/pending")" 'a partial file may be left'
	[ "$(guest_stat a %s keep)" != 4000000 ] || fail 'premise: the cut left a whole file'
	rm -f stall.cut
	wait_for 90 nothing_pending
	landed a keep big
}

# The mount is killed while close waits: its caller hears of it, nothing else is lost, and the next mount sends the rest.
test_kill_between_close_and_its_return() {
	proxy_up
	start
	echo before >"$IN/before"
	ls "$IN" >/dev/null
	writer_open "$IN/f" unacknowledged
	proxy_stall 'PUT /'
	touch close-now
	wait_for 30 pending_says uploading
	kill -KILL "$MOUNT_PID"
	wait "$MOUNT_PID" 2>/dev/null || true
	wait_for 70 test -e closed
	case $(cat closed) in ok) fail 'close was acknowledged' ;; esac
	fusermount3 -uz "$MNT" || true
	proxy_flow
	in_up
	same 'acknowledged before' "$(in_guest a cat /work/in/before)" before
	wait_for 60 nothing_pending
	same 'sent by the next' "$(in_guest a cat /work/in/f)" unacknowledged
}

test_pending_survives_the_mount() {
	proxy_up
	start
	ls "$IN" >/dev/null
	writer_open "$IN/kept" kept
	proxy_down
	same 'close without an engine' "$(writer_close)" EHOSTDOWN
	# Its store is where the mount says, and the exit code tells.
	expect_exit 13 sbxfs umount "$MNT"
	has 'what umount says' "$ERR" '1 files written there have not landed'
	has list "$(sbxfs pending --staging-dir "$STAGING" --json)" in/kept
	has 'by the environment' "$(SBXFS_OPTIONS="staging_dir=$STAGING" "$SBXFS" pending --json)" in/kept
	mkdir saved
	expect_exit 0 sbxfs pending --staging-dir "$STAGING" --save saved
	same saved "$(cat "saved/$(full a)/in/kept")" kept
	DOCKER_HOST=$ENGINE_HOST
	proxy_up
	expect_exit 0 sbxfs pending --staging-dir "$STAGING" --retry
	same landed "$(in_guest a cat /work/in/kept)" kept
	same left "$(sbxfs pending --staging-dir "$STAGING" --json)" '[]'
}

# More than there are descriptors.
test_many_pending_files_are_retried() {
	proxy_up
	start -o async
	mkdir many
	local i
	for i in $(seq 300); do echo "$i" >"many/f$i"; done
	ls "$IN" >/dev/null
	proxy_down
	h cp many/* "$IN/"
	kill -KILL "$MOUNT_PID"
	wait "$MOUNT_PID" 2>/dev/null || true
	fusermount3 -uz "$MNT" || true
	DOCKER_HOST=$ENGINE_HOST
	proxy_up
	(ulimit -n 128; expect_exit 0 sbxfs pending --staging-dir "$STAGING" --retry)
	same files "$(in_guest a sh -c 'cat /work/in/f* | sort -n | tr "\n" " "')" "$(seq 300 | tr '\n' ' ')"
}

test_async_acknowledges_and_sync_is_the_barrier() {
	start -o async
	local i
	for i in $(seq 20); do echo "$i" >"$IN/a$i"; done
	expect_exit 0 synced
	same files "$(in_guest a sh -c 'cat /work/in/a* | sort -n | tr "\n" " "')" "$(seq 20 | tr '\n' ' ')"
}

# Names that cannot be there are not asked for one by one, and closes that nobody waits for share uploads.
test_many_new_files_ask_the_engine_little() {
	start -o async
	mkdir many
	local i heads uploads
	for i in $(seq 200); do echo "$i" >"many/f$i"; done
	h mkdir "$IN/there"
	heads=$(stats .engine.archive_heads) uploads=$(stats .in.uploads)
	h cp -r many "$IN/"
	h cp many/* "$IN/there/"
	synced
	heads=$(($(stats .engine.archive_heads) - heads)) uploads=$(($(stats .in.uploads) - uploads))
	landed_tree a many many
	landed_tree a there many
	[ $uploads -le 20 ] || fail "$uploads uploads of 400 files"
	[ $heads -le 200 ] || fail "$heads questions about 400 names"
}

# What the kernel checks again one by one on its way down is asked for at once, in one window.
test_a_way_down_is_one_window() {
	start
	h mkdir -p "$IN/d/e/f"
	echo x >"$IN/d/e/f/g"
	ls "$IN/d/e/f/g" >/dev/null
	local pauses heads asked
	for name in no g; do
		sleep 2.5
		pauses=$(stats .engine.pauses) heads=$(stats .engine.archive_heads) asked=$(stats .requests.stats_asked)
		ls "$IN/d/e/f/$name" >/dev/null 2>&1 || true
		asked=$(($(stats .requests.stats_asked) - asked))
		[ $asked -le 3 ] || fail "$asked names asked for one by one, of five to $name"
		pauses=$(($(stats .engine.pauses) - pauses)) heads=$(($(stats .engine.archive_heads) - heads))
		# Where a pause takes long one window does not hold for all of it.
		case $name in no) [ "$pauses" -le $SLOW ] ;; *) [ "$pauses" -le $((SLOW + 1)) ] ;; esac || fail "$pauses windows for $name"
		[ "$heads" -le 9 ] || fail "$heads questions for $name"
	done
	# A directory that the guest swaps meanwhile is found out as before.
	in_guest a sh -c 'cd /work/in/d && mv e kept && ln -s kept e'
	sleep 1.5
	expect_errno ELOOP read "$IN/d/e"
	! ls "$IN/d/e/f/g" 2>/dev/null || fail 'a link was followed'
	! echo y >"$IN/d/e/f/h" 2>/dev/null || fail 'a link was followed to write'
	guest_lacks a d/kept/f/h
}

# Where the directory is known still, a window would be for nothing. A slow machine may need more than one try to be there in time.
test_an_absent_name_needs_no_window() {
	start
	in_guest a mkdir -p /work/in/d
	local pauses try
	for try in 1 2 3 4 5; do
		sleep 2.5
		stat "$IN/d" >/dev/null
		sleep 0.3 # no window is open any more
		pauses=$(stats .engine.pauses)
		! ls "$IN/d/a$try" "$IN/d/b$try" "$IN/d/c$try" 2>/dev/null || fail 'they are there'
		pauses=$(($(stats .engine.pauses) - pauses))
		[ $pauses != 0 ] || return 0
	done
	fail "$pauses windows for names that are not there"
}

# What was looked up below a directory is not there any more when it has gone, and is not in the next of its name.
test_nothing_is_remembered_below_a_renamed_directory() {
	start -o entry_timeout=20
	in_guest a sh -c 'mkdir -p /work/in/g/h && echo x >/work/in/g/h/x'
	cat "$IN/g/h/x" >/dev/null
	h mv "$IN/g" "$IN/k"
	h mkdir "$IN/g"
	expect_errno ENOENT stat "$IN/g/h/x"
	expect_errno ok mkdir "$IN/g/h"
	same 'moved along' "$(cat "$IN/k/h/x")" x
}

test_a_directory_that_the_guest_made_first() {
	start
	ls "$IN" >/dev/null
	expect_errno ENOENT stat "$IN/d"
	in_guest a mkdir -p /work/in/d
	expect_errno EEXIST mkdir "$IN/d"
}

# What could not be staged whole is never sent, not by the next mount either: its writer was told.
test_a_part_is_never_sent() {
	mkdir -p "$STAGING"
	mount -t tmpfs -o size=1m,mode=0700 tmpfs "$STAGING" || skip 'tmpfs cannot be mounted here'
	start
	echo x >"$IN/warm"
	! dd if=/dev/zero of="$IN/big" bs=65536 count=64 2>err </dev/null || fail 'four MiB fitted into one'
	has errno "$(cat err)" 'No space left'
	has listed "$(cat "$MNT/.sbxfs/pending")" '"in/big"'
	! synced 2>err || fail 'sync said that everything has landed'
	mount_down 13
	in_up
	sleep 3 # what can be sent is sent at once
	guest_lacks a big || fail 'a part of it landed'
	mount_down
	expect_exit 0 sbxfs pending --staging-dir "$STAGING" --discard
	umount -l "$STAGING"
}

# A mount that ends under a writer leaves what it has for its user to judge.
test_the_end_of_the_mount_sends_no_part() {
	start
	writer_open "$IN/f" half
	kill -TERM "$MOUNT_PID"
	wait "$MOUNT_PID" || fail "the daemon ended with $?"
	guest_lacks a f || fail 'half of it landed'
	has list "$(sbxfs pending --staging-dir "$STAGING" --json)" in/f
	in_up
	sleep 3 # what can be sent is sent at once
	guest_lacks a f || fail 'the next mount sent half of it'
	has listed "$(cat "$MNT/.sbxfs/pending")" '"damaged"'
	# While what was closed is whole, with or without bytes, however soon the mount ends.
	touch "$IN/empty"
	mount_down 13 # the damaged part is still listed
	guest_has a empty || fail 'an empty file was dropped'
	expect_exit 0 sbxfs pending --staging-dir "$STAGING" --discard
}

# A rename of the directory takes what was acknowledged along.
test_what_is_gathered_goes_along_with_its_directory() {
	start -o async
	mkdir "$IN/tmp"
	local i
	for i in $(seq 50); do echo "$i" >"$IN/tmp/f$i"; done
	mv "$IN/tmp" "$IN/final"
	expect_exit 0 synced
	same directories "$(in_guest a ls -A /work/in)" final
	same files "$(in_guest a sh -c 'cat /work/in/final/* | sort -n | tr "\n" " "')" "$(seq 50 | tr '\n' ' ')"
}

test_memory_does_not_grow_with_size() {
	start
	head -c 200000000 /dev/zero >big
	h cp big "$IN/big"
	landed a big big
	local peak
	peak=$(awk '/VmHWM/ { print $2 }' "/proc/$MOUNT_PID/status")
	[ "$peak" -le 65536 ] || fail "the daemon took $peak KiB"
}

# Acknowledged at close, killed before it landed: the next mount sends it.
test_async_survives_a_kill() {
	proxy_up
	start -o async
	ls "$IN" >/dev/null
	proxy_stall 'PUT /'
	echo survives >"$IN/f"
	kill -KILL "$MOUNT_PID"
	wait "$MOUNT_PID" 2>/dev/null || true
	fusermount3 -uz "$MNT" || true
	proxy_flow
	in_up -o async
	wait_for 30 guest_has a f
	same landed "$(in_guest a cat /work/in/f)" survives
	wait_for 10 nothing_pending
}

test_temporary_names_stay_local() {
	start
	echo x >"$IN/.f.Ab12Cd"
	same 'read back' "$(cat "$IN/.f.Ab12Cd")" x
	guest_lacks a .f.Ab12Cd || fail 'it was uploaded'
	has listed "$(cat "$MNT/.sbxfs/pending")" '"local"'
	local litter
	for litter in .DS_Store .directory Thumbs.db desktop.ini '.~lock.f#'; do echo x >"$IN/$litter"; done
	expect_errno ok rename "$IN/.f.Ab12Cd" "$IN/f"
	same landed "$(in_guest a ls -A /work/in)" f
	for litter in .DS_Store .directory Thumbs.db desktop.ini '.~lock.f#'; do rm "$IN/$litter"; done
	nothing_pending || fail 'something is pending'
	# One that its saver forgot is kept, and no failure.
	echo x >"$IN/.f.Cd34Ef"
	expect_exit 0 synced
	has 'what sync says' "$ERR" 'in/.f.Cd34Ef has a temporary name'
	echo x >"$IN/Cargo.lock"
	same 'a lock file that is no lock' "$(in_guest a cat /work/in/Cargo.lock)" x
	expect_exit 0 sbxfs umount "$MNT"
	has 'what umount says' "$ERR" 'in/.f.Cd34Ef has a temporary name'
	lacks 'what umount says' "$ERR" 'have not landed'
	has kept "$(sbxfs pending --staging-dir "$STAGING" --json)" .f.Cd34Ef
}
