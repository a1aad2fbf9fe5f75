# lib.sh: what engine tests are written with. A test is a function test_NAME in a file tests/engine/test_*.sh; it runs in
# its own directory ($SBXFS_TEST_DIR) with its own mount point ($MNT) and container prefix, and need not clean up.
# A test that attacks has its premise beside it: with the guard away, the same attack must succeed.

MNT=$SBXFS_TEST_DIR/mnt
PREFIX=$(test_prefix "$SBXFS_TEST_DIR")
export XDG_CONFIG_HOME=$SBXFS_TEST_DIR/config XDG_RUNTIME_DIR=$SBXFS_TEST_DIR/runtime XDG_CACHE_HOME=$SBXFS_TEST_DIR/cache
mkdir -p "$MNT" "$XDG_CONFIG_HOME" "$XDG_RUNTIME_DIR" "$XDG_CACHE_HOME"
chmod 0700 "$XDG_RUNTIME_DIR"

# ---- verdicts

fail() { echo "$*" >"$SBXFS_TEST_DIR/why"; exit 1; }
skip() { echo "$*" >"$SBXFS_TEST_DIR/why"; exit 77; }
engine_is() { case $SBXFS_TEST_ENGINE in $1*) ;; *) return 1 ;; esac; }

# same WHAT GOT WANTED
same() { [ "$2" = "$3" ] || fail "$1: got '$(printf %q "${2:0:150}")', wanted '$(printf %q "${3:0:150}")'"; }
# has WHAT TEXT PART
has() { case $2 in *"$3"*) ;; *) fail "$1: no '$3' in '$(printf %q "${2:0:250}")'" ;; esac; }
lacks() { case $2 in *"$3"*) fail "$1: '$3' is in '$(printf %q "${2:0:250}")'" ;; esac; }

# How much slower than a quiet machine things may be; sanitizers and crowded machines want more.
SLOW=${SBXFS_TEST_SLOW:-1}
# wait_for SECONDS CMD…: until CMD succeeds.
wait_for() {
	local until=$((${EPOCHREALTIME/./} + $1 * SLOW * 1000000))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "${EPOCHREALTIME/./}" -lt $until ] || fail "did not happen in time: $*"
		sleep 0.05
	done
}
now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }
# within MS BEGAN WHAT: not more than MS since BEGAN (now_ms of then).
within() {
	local took=$(($(now_ms) - $2))
	echo "$3: $took ms"
	[ $took -lt $(($1 * SLOW)) ] || fail "$3 took $took ms"
}

# ---- commands, all bounded

d() { timeout -k 2 $((30 * SLOW)) docker "$@" </dev/null; }
sbxfs() { timeout -k 2 $((60 * SLOW)) "$SBXFS" "$@" </dev/null; }
api() { local path=$1; shift; curl -sS --max-time $((20 * SLOW)) --unix-socket "${DOCKER_HOST#unix://}" "http://engine/v1.41$path" "$@" </dev/null; }
# fsop OP ARGS…: one system call and its errno by name, see fsop.py.
fsop() { timeout -k 2 $((40 * SLOW)) python3 "$SBXFS_TOP/tests/engine/fsop.py" "$@" </dev/null; }
# expect_errno ERRNO OP ARGS…
expect_errno() {
	local wanted=$1 got
	shift
	got=$(fsop "$@") || true
	same "$*" "${got%% *}" "$wanted"
}
# In the background a shell lets what it starts ignore SIGINT and SIGQUIT, and so would sbxfs: signalled CMD… & does not.
signalled() { exec env --default-signal=INT,QUIT "$@"; }
# expect_exit CODE CMD…: its output is left in $OUT, what it said on stderr in $ERR.
expect_exit() {
	local wanted=$1 status=0
	shift
	OUT=$("$@" 2>"$SBXFS_TEST_DIR/stderr") || status=$?
	ERR=$(cat "$SBXFS_TEST_DIR/stderr")
	[ $status = "$wanted" ] || fail "\`$*\` gave $status, wanted $wanted: ${ERR:0:200}"
}

# ---- sandboxes

full() { echo "$PREFIX$1"; }
# The directory of a sandbox in the mount.
box() { echo "$MNT/$PREFIX$1"; }

# sandbox_start NAME [OUTPUT…]: by the engine's own client with our labels, so that the view's tests rest on nothing
# else. IMAGE, RUN_OPTIONS (array) and RUN_COMMAND (array) change what is run, LABELS (array) adds labels.
RUN_OPTIONS=() RUN_COMMAND=() LABELS=()
sandbox_start() {
	local name=$1 outputs
	shift
	outputs=$(printf '%s\n' "$@" | jq -Rn '[inputs | select(. != "")]' -c)
	container_start "$name" --label sbxfs.version=1 --label "sbxfs.outputs=$outputs" "${LABELS[@]}"
}
container_start() {
	local name=$1 limits=()
	shift
	engine_is podman && limits=(--ulimit nofile=1024:1024 --ulimit nproc=1000:1000)
	d run -d --name "$(full "$name")" --network none --cap-drop ALL --security-opt no-new-privileges "${limits[@]}" "$@" \
		"${RUN_OPTIONS[@]}" "${IMAGE:-sbxfs-test:latest}" "${RUN_COMMAND[@]}" >/dev/null
}
sandbox_id() { d inspect -f '{{.Id}}' "$(full "$1")"; }
sandbox_remove() { d rm -f "$(full "$1")" >/dev/null; }

guest_pid() {
	local file=$SBXFS_TEST_DIR/pid.$1
	[ -s "$file" ] || d inspect -f '{{.State.Pid}}' "$(full "$1")" >"$file"
	cat "$file"
}
# The guest's root directory as this host sees it, to plant what no shell can name. Not a path through any guest link.
guest_root() { echo "/proc/$(guest_pid "$1")/root"; }

# in_guest NAME CMD…: a command as the guest user, in the sandbox's namespaces and its freezer, so that a pause holds it, and where
# its processor time is counted.
# Not by the engine's exec: Docker 20.10 deadlocks a container for good when an exec starts while it is being paused.
in_guest() { enter 1000 1000 "$@"; }
in_guest_as_root() { enter 0 0 "$@"; }
enter() {
	local uid=$1 gid=$2 pid
	pid=$(guest_pid "$3")
	shift 3
	timeout -k 2 "${GUEST_SECONDS:-60}" bash -c '
		uid=$1 gid=$2 pid=$3
		shift 3
		line=$(grep -E "^[0-9]+:freezer:" /proc/$pid/cgroup || grep -E "^0::" /proc/$pid/cgroup)
		case $line in *:freezer:*) group=/sys/fs/cgroup/freezer${line#*:freezer:} ;; *) group=/sys/fs/cgroup${line#0::} ;; esac
		echo $$ >"$group/cgroup.procs" || exit 125
		case $line in *:freezer:*) ! [ -d /sys/fs/cgroup/cpuacct${line#*:freezer:} ] || echo $$ >/sys/fs/cgroup/cpuacct${line#*:freezer:}/cgroup.procs || exit 125 ;; esac
		exec nsenter -t "$pid" -m -u -i -n -p -r -w --setgid "$gid" --setuid "$uid" -- /bin/env -i PATH=/bin HOME=/work "$@"
	' enter "$uid" "$gid" "$pid" "$@" </dev/null
}
# guest_write NAME PATH TEXT: relative to the work dir, parents made.
guest_write() { in_guest "$1" sh -c 'mkdir -p "$(dirname "$1")" && printf %s "$2" >"$1"' sh "/work/$2" "$3"; }

# ---- the mount

# mount_up [OPTION…]: in front, with its log in mount.log; returns when it serves. The pid is in MOUNT_PID.
mount_up() {
	"$SBXFS" mount "$MNT" -f "$@" </dev/null >>"$SBXFS_TEST_DIR/mount.log" 2>&1 &
	MOUNT_PID=$!
	local until=$((SECONDS + 20 * SLOW))
	until grep -qF " $MNT fuse" /proc/mounts && timeout -k 1 10 stat "$MNT" >/dev/null 2>&1; do
		kill -0 $MOUNT_PID 2>/dev/null || fail "mount ended: $(tail -n 1 "$SBXFS_TEST_DIR/mount.log")"
		[ $SECONDS -lt $until ] || fail 'the mount does not serve after 20 s'
		sleep 0.05
	done
}
# mount_down [CODE]: 13 where something has not landed.
mount_down() {
	local until=$((SECONDS + 15 * SLOW)) status=0
	sbxfs umount "$MNT" || status=$?
	same "exit code of umount" $status "${1:-0}"
	while kill -0 "$MOUNT_PID" 2>/dev/null; do
		[ $SECONDS -lt $until ] || fail 'the daemon lives 15 s after umount'
		sleep 0.05
	done
	wait "$MOUNT_PID" || fail "the daemon ended with $?"
	! grep -qF " $MNT " /proc/mounts || fail 'still mounted after umount'
}
# stats .jq.path: of the mount's counters.
stats() { timeout -k 2 20 cat "$MNT/.sbxfs/stats.json" | jq -r "$1"; }
info() { timeout -k 2 20 cat "$(box "$1")/.sbxfs/info.json" | jq -r "$2"; }

# ---- an engine that stalls or is gone

# proxy_up [GID]: DOCKER_HOST becomes a socket of our own in front of the engine; the engine's is in ENGINE_HOST.
# Not in the test's own directory: the path of a socket has 107 bytes.
PROXY_SOCKET=$(dirname "$SBXFS_TEST_DIR")/${PREFIX}s
proxy_up() {
	ENGINE_HOST=$DOCKER_HOST
	python3 "$SBXFS_TOP/tests/engine/proxy.py" "$PROXY_SOCKET" "${DOCKER_HOST#unix://}" "$SBXFS_TEST_DIR/stall" "$@" </dev/null &
	PROXY_PID=$!
	export DOCKER_HOST=unix://$PROXY_SOCKET
	wait_for 20 test -S "$PROXY_SOCKET"
}
# proxy_stall TEXT…: holds every connection whose latest request has one of these in it, until proxy_flow. What was asked for is
# in stall.requests.
proxy_stall() { printf '%s\n' "$@" >"$SBXFS_TEST_DIR/stall.new"; mv "$SBXFS_TEST_DIR/stall.new" "$SBXFS_TEST_DIR/stall"; }
# proxy_held REGEX: a request that was held.
proxy_held() { grep -qE "$1" "$SBXFS_TEST_DIR/stall.held"; }
proxy_flow() { rm -f "$SBXFS_TEST_DIR/stall"; }
# proxy_lose TEXT…: the engine does what requests with one of these say, and its answers are lost, until proxy_keep. What was lost
# is in stall.lost.
proxy_lose() { printf '%s\n' "$@" >"$SBXFS_TEST_DIR/stall.lose"; }
proxy_keep() { rm -f "$SBXFS_TEST_DIR/stall.lose"; }
# proxy_refuse TEXT…: requests with one of these are answered with 500, as by an engine without a freezer, until proxy_serve.
proxy_refuse() { printf '%s\n' "$@" >"$SBXFS_TEST_DIR/stall.refuse"; }
# proxy_refuse_once TEXT MESSAGE: the next request with TEXT in it is answered with 500 and MESSAGE.
proxy_refuse_once() { printf '%s\n' "$@" >"$SBXFS_TEST_DIR/stall.once"; }
proxy_serve() { rm -f "$SBXFS_TEST_DIR/stall.refuse"; }
# proxy_cut BYTES [TIMES]: an upload is broken off after so many bytes, TIMES (1) uploads in all.
proxy_cut() { echo "$1 ${2:-1}" >"$SBXFS_TEST_DIR/stall.cut"; }
proxy_down() {
	kill -KILL "$PROXY_PID"
	wait "$PROXY_PID" 2>/dev/null || true
	rm -f "$PROXY_SOCKET"
}

# unplug NAME: ends what waits for a fifo that a guest has in place of its /etc/passwd, and takes it away.
unplug() {
	timeout 10 python3 -c '
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_NONBLOCK)
time.sleep(3)
os.close(fd)
os.unlink(sys.argv[1])' "$(guest_root "$1")/etc/passwd"
}
