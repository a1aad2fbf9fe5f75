# test_hard_life.sh: the daemon stopped, killed and let go of while it is used.

# Suspended and resumed: what waits goes on, nobody stays frozen. 5 s, with SBXFS_LONG 30 s.
test_suspended_and_resumed() {
	sandbox_start a out/
	guest_write a out/x text
	mount_up
	cat "$(box a)/out/x" >/dev/null
	kill -STOP "$MOUNT_PID"
	timeout -k 2 60 cat "$(box a)/out/x" >got &
	local reader=$!
	sleep $((5 + ${SBXFS_LONG:-0} * 25))
	kill -CONT "$MOUNT_PID"
	wait $reader || fail "the reader ended with $?"
	same bytes "$(cat got)" text
	wait_for 10 in_guest a true
	printf after >"$(box a)/in/y"
	same 'the guest has it' "$(in_guest a cat /work/in/y)" after
	mount_down
}

# Suspended in the middle of a freeze window: the guardian undoes it, and what was moved across that is not handed out.
# Premise: without the guardian the guest stays frozen for as long. The file is too large to be moved in a moment.
suspend_in_a_window() {
	local try
	in_guest a touch /work/out/big
	cat "$(box a)/out/big" >got 2>err &
	READER=$!
	for ((try = 0; try < 2000; try++)); do
		! is_frozen "$FREEZER" || break
		sleep 0.002
	done
	sleep 0.1
	kill -STOP "$MOUNT_PID"
	is_frozen "$FREEZER"
}
suspended_with_a_file_of() {
	. "$SBXFS_TOP/tests/conformance/attackers.sh"
	sandbox_start a out/
	in_guest a sh -c 'mkdir -p /work/out; head -c '"$1"' /dev/zero >/work/out/big'
	attacker_start a counter /tmp/count
	wait_for 5 guest_runs_within 1000 a
	FREEZER=$(freezer_file a)
	mount_up
	ls "$(box a)/out" >/dev/null
	for _ in 1 2 3 4 5; do
		! suspend_in_a_window || return 0
		kill -CONT "$MOUNT_PID"
		wait $READER || fail "a read without a window: $(cat err)"
	done
	fail 'it was never suspended in a window, which proves nothing'
}
test_suspended_in_a_window() {
	local began
	suspended_with_a_file_of 268435456
	began=$(now_ms)
	! guest_runs_within 1500 a || fail 'the guest ran at once, which proves nothing'
	wait_for 30 guest_runs_within 500 a
	echo "measured: the guest of a suspended daemon ran again after $(($(now_ms) - began)) ms"
	kill -CONT "$MOUNT_PID"
	if wait $READER; then
		same 'what was read in the end' "$(tr -d '\0' <got | wc -c):$(wc -c <got)" 0:268435456
		has 'what the daemon noticed' "$(cat mount.log)" suspended
	else
		case $(cat err) in *'Stale file handle'* | *'Connection timed out'*) ;; *) fail "the read ended with: $(cat err)" ;; esac
	fi
	wait_for 10 is_not_paused a
	same 'the next read' "$(timeout 60 wc -c <"$(box a)/out/big")" 268435456
	wait_for 10 is_not_paused a
	mount_down
}
test_suspended_with_its_guardian_it_stays_frozen() {
	local guardian
	suspended_with_a_file_of 268435456
	for guardian in $(test_processes "$SBXFS_TEST_DIR"); do
		case $(cat "/proc/$guardian/comm") in sbxfs-guardian) kill -STOP "$guardian" ;; esac
	done
	! guest_runs_within 12000 a || fail 'it ran without the guardian: what did undo the window?'
	# Somebody else who wants the sandbox finds it overdue. On Docker the open transfer keeps the file itself from them.
	timeout 60 "$SBXFS" get "$(full a)" out/note --to got.note 2>&1 || true
	wait_for 10 guest_runs_within 500 a
	for guardian in $(test_processes "$SBXFS_TEST_DIR"); do kill -CONT "$guardian"; done
	wait $READER || true
	wait_for 10 is_not_paused a
	mount_down
}

# A dead mount is found and replaced by the next mount itself. Its reaper is killed first: it would have taken the mount away.
test_mount_replaces_a_dead_one() {
	sandbox_start a out/
	guest_write a out/x text
	mount_up
	pkill -KILL -P "$MOUNT_PID" -x sbxfs-reaper || fail 'it has no reaper'
	kill -KILL "$MOUNT_PID"
	wait "$MOUNT_PID" || true
	# Of a file system's numbers the kernel keeps none, as it does of a directory's.
	has 'the dead mount' "$(timeout 20 stat -f "$MNT" 2>&1 || true)" 'not connected'
	mount_up
	wait_for 20 grep -q 'replacing the mount' mount.log # the dead one's name is in the kernel's cache until then
	wait_for 20 test -e "$(box a)/out/x"
	same mounts "$(grep -cF " $MNT " /proc/mounts)" 1
	same bytes "$(timeout 20 cat "$(box a)/out/x")" text
	mount_down
}
# The same where the daemon is an ordinary user's, whose mounts only fusermount3 takes away.
test_a_user_replaces_a_dead_one() {
	[ -u "$(command -v fusermount3)" ] || skip 'fusermount3 is not setuid here'
	proxy_up 4343
	sandbox_start a out/
	guest_write a out/x text
	install -m 0755 "$SBXFS" sbxfs-copy
	mkdir home
	chown 65534:65534 home "$MNT" "$XDG_RUNTIME_DIR"
	mknod -m 0666 fuse c 10 229
	cat >script <<-'END'
		set -e
		top=$1 box=$2
		user() { setpriv --reuid 65534 --regid 65534 --groups 4343 env -u XDG_CONFIG_HOME -u XDG_CACHE_HOME "HOME=$PWD/home" "$@"; }
		mount --bind fuse /dev/fuse
		user ./sbxfs-copy mount -f "$top" >first.log 2>&1 &
		for _ in $(seq 200); do grep -qF " $top fuse" /proc/mounts && break; sleep 0.1; done
		pid=$(pgrep -u 65534 -f "sbxfs-copy mount -f $top" | head -n 1)
		pkill -KILL -P "$pid" -x sbxfs-reaper
		kill -KILL "$pid"
		! user ls "$top" 2>dead.said || exit 1
		user ./sbxfs-copy mount "$top" 2>second.said
		user cat "$box/out/x" >x.got
		user ./sbxfs-copy umount "$top"
		! grep -qF " $top " /proc/mounts
	END
	timeout -k 2 $((90 * SLOW)) unshare -m --propagation private bash script "$MNT" "$(box a)" </dev/null
	has 'the dead mount' "$(cat dead.said)" 'endpoint is not connected'
	same bytes "$(cat x.got)" text
}

# Let go of while a file is open: the name is free at once, the reader gets its bytes or an error, the daemon ends.
test_lazy_unmount() {
	sandbox_start a out/
	guest_write a out/x text
	mount_up
	exec 5<"$(box a)/out/x"
	timeout 10 umount -l "$MNT"
	! grep -qF " $MNT " /proc/mounts || fail 'still mounted'
	same bytes "$(cat <&5)" text
	exec 5<&-
	wait_for 20 bash -c '! kill -0 "$1"' sh "$MOUNT_PID"
	same 'nobody is left frozen' "$(d inspect -f '{{.State.Status}}' "$(full a)")" running
}

# The same by our own command, which plain umount refuses as busy.
test_umount_lazy() {
	sandbox_start a out/
	guest_write a out/x text
	mount_up
	exec 5<"$(box a)/out/x"
	expect_exit 0 sbxfs umount --lazy "$MNT"
	! grep -qF " $MNT " /proc/mounts || fail 'still mounted'
	same bytes "$(cat <&5)" text
	exec 5<&-
	wait_for 20 bash -c '! kill -0 "$1"' sh "$MOUNT_PID"
}

# Unmounted while a file is open: refused as busy, said in one sentence, and the reader goes on; afterwards it goes.
test_unmount_with_open_files() {
	sandbox_start a out/
	guest_write a out/x text
	mount_up
	exec 5<"$(box a)/out/x"
	local status=0
	ERR=$(sbxfs umount "$MNT" 2>&1) || status=$?
	[ $status != 0 ] || fail 'it was unmounted under an open file'
	same sentences "$(printf '%s\n' "$ERR" | wc -l)" 1
	same bytes "$(cat <&5)" text
	exec 5<&-
	mount_down
}

# The wall clock jumps by years, forth and back, while it is read and written: deadlines, windows, caches and waits do not
# follow it. The premise: the daemon's own times do.
test_clock_stepped() {
	[[ $SBXFS != *san/* ]] || skip 'a sanitizer wants to be the first library'
	sandbox_start a out/
	"${CC:-cc}" -shared -fPIC -o stepped.so "$SBXFS_TOP/tests/hostile/stepped_clock.c" || skip 'there is no compiler'
	local real=$SBXFS step number=0
	echo 0 >clock
	printf '#!/bin/sh\nSTEPPED_CLOCK="%s" LD_PRELOAD="%s" exec "%s" "$@"\n' "$SBXFS_TEST_DIR/clock" "$SBXFS_TEST_DIR/stepped.so" "$real" >with-clock
	chmod +x with-clock
	SBXFS=$SBXFS_TEST_DIR/with-clock
	mount_up
	SBXFS=$real
	for step in 315000000 -315000000 3600 -30 0; do
		printf '%-12d' "$step" 1<>clock
		number=$((number + 1))
		guest_write a "out/f$number" "text $number"
		wait_for 20 test -e "$(box a)/out/f$number"
		same "bytes at $step" "$(timeout 20 cat "$(box a)/out/f$number")" "text $number"
		printf %s "$step" >"$(box a)/in/f$number"
		same "the guest has it at $step" "$(in_guest a cat "/work/in/f$number")" "$step"
		wait_for 10 running a
		if [ $number = 1 ]; then
			sandbox_start b out/
			wait_for 20 test -e "$(box b)"
			[ "$(stat -c %Y "$MNT")" -gt $(($(date +%s) + 300000000)) ] || fail 'the premise: the daemon does not see the step'
		fi
	done
	mount_down
}
running() { [ "$(d inspect -f '{{.State.Status}}' "$(full "$1")")" = running ]; }
