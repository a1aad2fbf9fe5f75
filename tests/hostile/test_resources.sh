# test_resources.sh: disks of the host that are full: a clean errno, and the mount lives.

# A small file system of its own, which the clean-up of a test unmounts: a disk in a file, or in memory where no loop device is
# to be had.
small_disk() { # DIRECTORY BYTES
	mkdir -p "$1"
	truncate -s "$2" "$1.image"
	if mkfs.ext4 -q -m 0 -O ^has_journal "$1.image" && mount -o loop "$1.image" "$1" 2>/dev/null; then
		chmod 0700 "$1"
	else
		echo 'no loop device: a tmpfs'
		mount -t tmpfs -o "size=$2,mode=0700" tmpfs "$1" || skip 'no small file system can be mounted here'
	fi
}
big_file() { in_guest "$1" sh -c 'mkdir -p out && dd if=/dev/zero of=out/big bs=65536 count=64 2>/dev/null'; }
daemon_lives() { kill -0 "$MOUNT_PID" 2>/dev/null || fail "the daemon is gone: $(tail -n 1 "$SBXFS_TEST_DIR/mount.log")"; }

test_spool_disk_full() {
	sandbox_start a out/
	big_file a
	guest_write a out/small text
	small_disk "$SBXFS_TEST_DIR/disk" 1m
	mount_up -o "cache_dir=$SBXFS_TEST_DIR/disk"
	# What the disk holds may be read; the byte that it has no room for is an error.
	! cat "$(box a)/out/big" >got 2>err || fail 'four MiB were read through a disk of one'
	grep -qiE 'no space|input/output|quota' err || fail "cat said: $(tail -n 1 err)"
	[ "$(stat -c %s got)" -lt $((64 * 65536)) ] || fail 'every byte was given and then an error'
	daemon_lives
	same 'a small file' "$(cat "$(box a)/out/small")" text
	mount_down
	umount -l "$SBXFS_TEST_DIR/disk"
}

# The staging disk is full: write, fsync or close says so and nothing lands half.
test_staging_disk_full() {
	sandbox_start a out/
	small_disk "$SBXFS_TEST_DIR/disk" 1m
	mount_up -o "staging_dir=$SBXFS_TEST_DIR/disk"
	! dd if=/dev/zero of="$(box a)/in/big" bs=65536 count=64 2>err || fail 'four MiB fitted into one'
	grep -qiE 'no space|quota' err || fail "dd said: $(tail -n 1 err)"
	daemon_lives
	# What could not be written is kept until its owner drops it: then there is room again.
	rm -f "$(box a)/in/big"
	printf small >"$(box a)/in/small"
	same 'the guest has it' "$(in_guest a cat /work/in/small)" small
	local size
	size=$(in_guest a sh -c 'wc -c </work/in/big 2>/dev/null || echo 0')
	[ "$size" -lt $((64 * 65536)) ] || fail 'the whole file landed'
	kill -TERM "$MOUNT_PID"
	wait "$MOUNT_PID" || true
	umount -l "$SBXFS_TEST_DIR/disk"
}

# Refused when the mount is made, not when somebody reads.
test_cache_dir_read_only() {
	sandbox_start a out/
	small_disk "$SBXFS_TEST_DIR/disk" 1m
	mount -o remount,ro "$SBXFS_TEST_DIR/disk"
	local status=0
	ERR=$(sbxfs mount "$MNT" -o "cache_dir=$SBXFS_TEST_DIR/disk" 2>&1) || status=$?
	umount -l "$SBXFS_TEST_DIR/disk"
	[ $status != 0 ] || fail 'it mounted with a cache it cannot write'
	same 'sentences' "$(printf '%s\n' "$ERR" | wc -l)" 1
	has 'the sentence' "$ERR" "$SBXFS_TEST_DIR/disk"
	! grep -qF " $MNT " /proc/mounts || fail 'mounted after all'
}

# The daemon, and nobody else, with room for 64 descriptors: what does not fit is refused, what was asked before and after is
# served. Files too large to be kept in memory: each that is open holds a spool.
test_64_descriptors() {
	sandbox_start a out/
	in_guest a sh -c 'mkdir -p out && for i in 0 1 2 3 4; do for k in 0 1 2 3 4 5 6 7 8 9; do
		{ echo $i$k; dd if=/dev/zero bs=65536 count=5 2>/dev/null; } >out/$i$k; done; done'
	printf '#!/bin/sh\nexec prlimit --nofile=64:64 "%s" "$@"\n' "$SBXFS" >limited
	chmod +x limited
	SBXFS=$SBXFS_TEST_DIR/limited mount_up
	timeout -k 2 $((120 * SLOW)) python3 - "$(box a)/out" >opened <<-'END'
		import errno, os, sys
		held, refused = [], {}
		for name in sorted(os.listdir(sys.argv[1])):
		    try:
		        held.append(os.open(os.path.join(sys.argv[1], name), os.O_RDONLY))
		        os.read(held[-1], 2)
		    except OSError as problem:
		        word = errno.errorcode[problem.errno]
		        refused[word] = refused.get(word, 0) + 1
		print(len(held), *sorted(refused))
	END
	daemon_lives
	echo "opened, and how the rest was refused: $(cat opened)"
	same 'refused as' "$(cut -d' ' -f2- opened)" EMFILE
	same 'afterwards' "$(head -n 1 "$(box a)/out/42")" 42
	mount_down
}

# The memory of the daemon's own control group ends: it dies as any process would, the guardian lets the guest go, and the
# dead mount can be replaced.
test_out_of_memory() {
	local top=/sys/fs/cgroup/memory limit=memory.limit_in_bytes killed=memory.oom_control
	[ -d $top ] || top=/sys/fs/cgroup limit=memory.max killed=memory.events
	local group=$top/sbxfs-test.$$
	mkdir "$group" 2>/dev/null && [ -e "$group/$limit" ] || skip 'no memory control group can be made here'
	# shellcheck disable=SC2064 # the group's name now: the variable is gone by then
	trap "for i in 1 2 3 4 5 6 7 8 9 10; do rmdir '$group' 2>/dev/null && break; sleep 0.3; done; true" EXIT
	sandbox_start a out/
	guest_write a out/x text
	mount_up
	ls "$(box a)/out" >/dev/null
	echo "$MOUNT_PID" >"$group/cgroup.procs"
	echo 1 >"$group/memory.force_empty" 2>/dev/null || true
	[ ! -e "$group/memory.swappiness" ] || echo 0 >"$group/memory.swappiness"
	# A limit that what the daemon has already cannot be pushed below is refused: the least that is taken, then more is asked for.
	local mib
	for mib in 1 2 4 8; do echo ${mib}m >"$group/$limit" 2>/dev/null && break; done
	in_guest a sh -c 'i=0; while [ $i -lt 1500 ]; do head -c 16000 /dev/zero >out/many$i; i=$((i+1)); done'
	# What it is asked for may fail instead, on a busy engine: it is asked again, for other names, until it needs the memory.
	local try
	for try in 1 2 3 4 5 6; do
		timeout -k 2 60 sh -c 'ls -l "$1"; cat "$1"/many*' sh "$(box a)/out" >/dev/null 2>asked || true
		kill -0 "$MOUNT_PID" 2>/dev/null || break
		echo "asked $try times: $(tail -n 1 asked); limit $(cat "$group/$limit"), $(sed -n '/^VmRSS/p' "/proc/$MOUNT_PID/status")"
		sleep 1
	done
	wait_for 20 eval '! kill -0 $MOUNT_PID'
	[ "$(sed -n 's/^oom_kill //p' "$group/$killed")" -gt 0 ] || fail 'it ended of something else than its memory'
	wait "$MOUNT_PID" || true
	wait_for 20 eval '! grep -qF " $MNT " /proc/mounts' # by its reaper
	mount_up
	same 'replaced' "$(cat "$(box a)/out/x")" text
	mount_down
	same 'nobody is left frozen' "$(d inspect -f '{{.State.Status}}' "$(full a)")" running
}

# RLIMIT_NPROC, which binds an ordinary user only: with no thread to be had a read is refused and the mount lives; later it is
# served. A mount that cannot be started says why.
test_no_more_processes() {
	[ -u "$(command -v fusermount3)" ] || skip 'fusermount3 is not setuid here'
	proxy_up 4343
	sandbox_start a out/
	guest_write a out/x text
	guest_write a out/y more
	install -m 0755 "$SBXFS" sbxfs-copy
	mkdir home
	chown 65534:65534 home "$MNT" "$XDG_RUNTIME_DIR"
	mknod -m 0666 fuse c 10 229
	cat >script <<-'END'
		set -e
		top=$1 box=$2
		user() { setpriv --reuid 65534 --regid 65534 --groups 4343 env -u XDG_CONFIG_HOME -u XDG_CACHE_HOME "HOME=$PWD/home" "$@"; }
		mount --bind fuse /dev/fuse
		! user prlimit --nproc=1:1 ./sbxfs-copy mount "$top" 2>start.said || exit 1
		! grep -qF " $top " /proc/mounts
		user ./sbxfs-copy mount "$top"
		user cat "$box/out/x" >x.got
		pgrep -u 65534 -f "$PWD/sbxfs-copy|sbxfs-copy mount" >pids
		sleep 1.5 # the window is closed: the next one needs a thread
		while read -r pid; do user prlimit --pid "$pid" --nproc=1:; done <pids
		user timeout 30 cat "$box/out/y" >y.refused 2>y.said || true
		while read -r pid; do user prlimit --pid "$pid" --nproc=500:; done <pids
		user timeout 30 cat "$box/out/y" >y.got
		user ./sbxfs-copy umount "$top"
		! grep -qF " $top " /proc/mounts
	END
	timeout -k 2 $((90 * SLOW)) unshare -m --propagation private bash script "$MNT" "$(box a)" </dev/null
	same 'sentences of the start' "$(wc -l <start.said)" 1
	same 'before' "$(cat x.got)" text
	same 'refused' "$(cat y.refused)" ''
	has 'what the reader is told' "$(cat y.said)" 'Input/output error'
	same 'afterwards' "$(cat y.got)" more
	same 'nobody is left frozen' "$(DOCKER_HOST=$ENGINE_HOST d inspect -f '{{.State.Status}}' "$(full a)")" running
}
