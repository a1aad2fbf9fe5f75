# test_confined.sh: what a bug in a parser could make the daemon and the guardian open: nothing but what they need.

inside() { timeout -k 2 $((30 * SLOW)) python3 "$SBXFS_TOP/tests/hostile/open_inside.py" "$@" </dev/null; }
has_landlock() { python3 -c 'import ctypes; raise SystemExit(ctypes.CDLL(None).syscall(444, None, 0, 1) < 1)'; }
children_of() { pgrep -P "$1" -x "$2"; }
# forbidden PID WHO DIRECTORY: of this process; DIRECTORY it may use.
forbidden() {
	local path
	for path in /etc/shadow /etc/passwd /root /proc/1/environ "$SBXFS_TEST_DIR/secret"; do
		same "$2 opening $path" "$(inside "$1" "$path" r)" EACCES
	done
	same "$2 making a file" "$(inside "$1" "$SBXFS_TEST_DIR/planted" w)" EACCES
	[ ! -e "$SBXFS_TEST_DIR/planted" ] || fail "$2 made a file"
	same "$2 opening what it needs" "$(inside "$1" "$3" r)" OK
	# The flags that a forked process inherits and that no child of it can drop.
	same "no new privileges of $2" "$(sed -n 's/^NoNewPrivs:\t//p' "/proc/$1/status")" 1
}

# MAF-82: the premise is a process of the same user that is not confined: the same injected call opens the same files.
test_forbidden_opens_fail_inside() {
	[ "$(uname -m)" = x86_64 ] || skip 'the injected call is written for x86-64'
	has_landlock || skip 'this kernel has no Landlock'
	echo secret >secret
	sleep 300 &
	local free=$!
	same 'the premise: /etc/shadow' "$(inside $free /etc/shadow r)" OK
	same 'the premise: a file made' "$(inside $free "$SBXFS_TEST_DIR/made" w)" OK
	[ -e made ] || fail 'the premise made no file'
	kill $free
	proxy_up
	sandbox_start a out/
	guest_write a out/x text
	guest_write a out/z text
	mount_up
	cat "$(box a)/out/x" >/dev/null
	local guardian thread got threads=0
	guardian=$(children_of "$MOUNT_PID" sbxfs-guardian)
	# What parses runs in the workers: every thread is confined, not only the first. A worker is kept by an engine that stalls.
	proxy_stall '/archive?path='
	timeout -k 1 $((60 * SLOW)) cat "$(box a)/out/z" >/dev/null 2>&1 &
	wait_for 10 eval '[ "$(ls /proc/$MOUNT_PID/task | wc -l)" -gt 2 ]'
	forbidden "$MOUNT_PID" 'the daemon' "$XDG_CACHE_HOME/sbxfs"
	for thread in /proc/"$MOUNT_PID"/task/*; do
		got=$(inside "${thread##*/}" /etc/shadow r 2>/dev/null) || true
		[ -d "$thread" ] || continue # it had nothing more to do
		same "thread ${thread##*/} opening /etc/shadow" "$got" EACCES
		threads=$((threads + 1))
	done
	[ $threads -gt 2 ] || fail "it has $threads threads: where are its workers?"
	proxy_flow
	wait $!
	forbidden "$guardian" 'the guardian' /run/sbxfs
	# Both go on: the mount serves, and the guardian still lets go what a killed daemon left frozen.
	guest_write a out/y more
	same bytes "$(cat "$(box a)/out/y")" more
	kill -KILL "$MOUNT_PID"
	wait "$MOUNT_PID" || true
	wait_for 20 not_frozen a
	wait_for 30 bash -c '! kill -0 "$1"' sh "$guardian"
}
not_frozen() { [ "$(d inspect -f '{{.State.Status}}' "$(full "$1")")" = running ]; }

# Not dumpable: no core file with spool data, and no other process of the same user reads its memory.
test_memory_is_not_for_others() {
	[ "$(uname -m)" = x86_64 ] || skip 'the injected call is written for x86-64'
	sleep 300 &
	same 'the premise' "$(inside $! dumpable)" 1
	kill $!
	sandbox_start a out/
	mount_up
	same 'the daemon' "$(inside "$MOUNT_PID" dumpable)" 0
	same 'the guardian' "$(inside "$(children_of "$MOUNT_PID" sbxfs-guardian)" dumpable)" 0
	mount_down
}

# Where the kernel has no Landlock the daemon says so and serves all the same. A seccomp filter that knows no Landlock
# stands for such a kernel: the answer is ENOSYS.
test_missing_landlock_is_said() {
	sandbox_start a out/
	guest_write a out/x text
	"${CC:-cc}" -o without "$SBXFS_TOP/tests/hostile/without_landlock.c" -lseccomp || skip 'libseccomp is not here to build with'
	local real=$SBXFS
	SBXFS=$SBXFS_TEST_DIR/run-without
	printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$SBXFS_TEST_DIR/without" "$real" >"$SBXFS"
	chmod +x "$SBXFS"
	mount_up
	has 'the log' "$(cat mount.log)" 'no Landlock'
	same bytes "$(cat "$(box a)/out/x")" text
	SBXFS=$real
	mount_down
}
