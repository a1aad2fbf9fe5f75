# test_life.sh: the mount's own life: how it starts, fails, ends, follows the engine, and who may use it.

mounted() { grep -qF " $1 fuse" /proc/mounts; }
# The daemons of mounts of this test.
daemons() { test_processes "$SBXFS_TEST_DIR" | while read -r pid; do [ "$(basename "$(readlink "/proc/$pid/exe")")" = sbxfs ] && echo "$pid"; done; return 0; }
gone() { [ -z "$(daemons)" ]; }

test_mount_returns_when_it_serves_and_umount_ends_it() {
	sandbox_start a out/
	guest_write a out/x text
	expect_exit 0 sbxfs mount "$MNT"
	mounted "$MNT" || fail 'not mounted when it returned'
	same bytes "$(cat "$(box a)/out/x")" text
	expect_exit 0 sbxfs umount "$MNT"
	! mounted "$MNT" || fail 'still mounted'
	wait_for 5 gone
}

test_umount_follows_a_link_to_the_mount() {
	mount_up
	ln -s "$MNT" link
	expect_exit 3 sbxfs umount "$SBXFS_TEST_DIR"
	expect_exit 0 sbxfs umount link
	! mounted "$MNT" || fail 'still mounted'
}

test_signals_end_a_mount_cleanly() {
	sandbox_start a out/
	local signal status
	for signal in TERM INT; do
		mount_up
		ls "$(box a)" >/dev/null
		kill -$signal "$MOUNT_PID"
		status=0
		wait "$MOUNT_PID" || status=$?
		same "exit after SIG$signal" $status 0
		! mounted "$MNT" || fail "still mounted after SIG$signal"
	done
	wait_for 5 gone
}

# SIGTERM ends it even while reads are blocked.
test_sigterm_with_blocked_readers() {
	proxy_up
	sandbox_start a out/
	guest_write a out/x text
	mount_up
	ls "$(box a)/out" >/dev/null
	sleep 1 # its window is closed: a resume that the engine keeps to itself is waited for
	proxy_stall "$(sandbox_id a)"
	cat "$(box a)/out/x" >/dev/null 2>&1 &
	local reader=$! began
	sleep 0.7
	began=$(now_ms)
	kill -TERM "$MOUNT_PID"
	wait "$MOUNT_PID" || true
	within 6000 $began SIGTERM
	wait $reader || true
	! mounted "$MNT" || fail 'still mounted'
	proxy_flow
}

# SIGKILL leaves neither a dead mount point nor a frozen guest: helpers outlive the daemon for that.
test_sigkill_is_recoverable() {
	sandbox_start a out/
	guest_write a out/x text
	mount_up
	ls "$(box a)/out" >/dev/null
	kill -KILL "$MOUNT_PID"
	wait "$MOUNT_PID" || true
	wait_for 5 bash -c '! grep -qF " $1 " /proc/mounts' sh "$MNT"
	wait_for 5 gone
	mount_up
	same bytes "$(cat "$(box a)/out/x")" text
	wait_for 3 runs a # the read's own window lingers a little
}
runs() { [ "$(d inspect -f '{{.State.Status}}' "$(full "$1")")" = running ]; }

one_sentence() { [ "$(printf '%s\n' "$ERR" | wc -l)" = 1 ] && [ -n "$ERR" ] || fail "not one sentence: $ERR"; }

# A directory dev with what a process needs there, to be mounted over /dev.
little_dev() {
	mkdir -p dev/shm
	cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/fuse dev/
}

# Behind there is no terminal: what it says goes to the log that /dev/log leads to.
test_a_mount_behind_logs_to_syslog() {
	sandbox_start a out/
	in_guest a sh -c 'mkdir -p out; echo text >out/x; ln -s /etc/passwd out/link'
	little_dev
	cat >listen.py <<-'END'
		import socket
		log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		log.bind("dev/log")
		while True:
		    with open("lines", "ab") as lines:
		        lines.write(log.recv(65536) + b"\n")
	END
	python3 listen.py </dev/null &
	local listener=$!
	wait_for 10 test -S dev/log
	timeout -k 2 $((60 * SLOW)) unshare -m --propagation private bash -c '
		mount --bind dev /dev
		"$1" mount "$2" && cat "$3/out/x" && ! cat "$3/out/link" 2>/dev/null
		"$1" umount "$2"' sh "$SBXFS" "$MNT" "$(box a)" </dev/null >seen
	kill $listener
	same bytes "$(cat seen)" text
	has 'the log' "$(cat lines)" "serving $MNT"
	has 'who says it' "$(cat lines)" 'sbxfs['
}

# Also what else serves without what mounting takes (bug case 117).
test_mount_failures_say_why() {
	mkdir full-dir && touch full-dir/x
	expect_exit 2 sbxfs mount
	touch file
	local status directory why
	while read -r directory why; do
		status=0
		ERR=$(sbxfs mount "$SBXFS_TEST_DIR/$directory" 2>&1) || status=$?
		[ $status != 0 ] || fail "mounted on $directory"
		one_sentence
		has 'the sentence' "$ERR" "$SBXFS_TEST_DIR/$directory"
		has 'the sentence' "$ERR" "$why"
	done <<-'END'
		nowhere No such file or directory
		full-dir not empty
		file not a directory
	END
	status=0
	ERR=$(sbxfs mount "$MNT" --engine "unix://$SBXFS_TEST_DIR/no.sock" 2>&1) || status=$?
	same 'no engine' $status 11
	one_sentence
	has 'the sentence' "$ERR" no.sock
	status=0
	ERR=$(timeout -k 2 $((20 * SLOW)) unshare -m bash -c 'mount --bind /dev/null /dev/fuse && exec "$@"' sh "$SBXFS" mount "$MNT" 2>&1 </dev/null) || status=$?
	[ $status != 0 ] || fail 'mounted without /dev/fuse'
	one_sentence
	status=0
	little_dev && rm dev/fuse
	ERR=$(timeout -k 2 $((20 * SLOW)) unshare -m bash -c 'mount --bind dev /dev && exec "$@"' sh "$SBXFS" mount "$MNT" 2>&1 </dev/null) || status=$?
	[ $status != 0 ] || fail 'mounted where there is no /dev/fuse'
	one_sentence
	same 'its code' $status 8
	has 'the sentence' "$ERR" '/dev/fuse is not there'
	has 'the sentence' "$ERR" '--device /dev/fuse'
	has 'the sentence' "$ERR" 'get, put and exec need no mount'
	sandbox_start a report
	guest_write a report text
	same 'without it' "$(timeout -k 2 $((20 * SLOW)) unshare -m bash -c 'mount --bind dev /dev && exec "$@"' sh "$SBXFS" get "$(full a)" report --to - -q </dev/null)" text
	status=0
	ERR=$(timeout -k 2 $((20 * SLOW)) setpriv --bounding-set -sys_admin --inh-caps -sys_admin "$SBXFS" mount "$MNT" 2>&1 </dev/null) || status=$?
	same 'the code of no permission' $status 8
	has 'the sentence' "$ERR" 'the kernel does not permit it'
	install -m 0755 "$SBXFS" sbxfs-copy
	mkdir -m 0755 theirs
	status=0
	ERR=$(timeout -k 2 $((20 * SLOW)) setpriv --reuid 65534 --regid 65534 --clear-groups env "HOME=$PWD" ./sbxfs-copy mount "$PWD/theirs" 2>&1 </dev/null) || status=$?
	[ $status != 0 ] || fail "mounted on somebody else's directory"
	one_sentence
	! mounted "$MNT" || fail 'mounted after all'
	gone || fail 'a daemon stays behind'
}

test_unknown_context_is_refused() {
	expect_exit 2 sbxfs ls --engine no-such-context-anywhere
	one_sentence
	has 'the sentence' "$ERR" no-such-context-anywhere
}

# mount(8) and fstab give us a source and options of their own: `sbxfs SOURCE DIR -o …`. As nothing is installed here,
# the type fuse.sbxfs is written as mount.fuse(8) allows for a program that is not on the system's path.
test_mount_by_fstab() {
	sandbox_start a out/
	guest_write a out/x text
	ln -s "$SBXFS" "$SBXFS_TEST_DIR/sbxfs" # fstab's fields end at a space
	printf '%s/sbxfs#sbxfs %s fuse noauto,nofail,_netdev,allow_other,state=running,engine=%s 0 0\n' "$SBXFS_TEST_DIR" "$MNT" "$DOCKER_HOST" >fstab
	timeout -k 2 $((30 * SLOW)) mount -T "$SBXFS_TEST_DIR/fstab" "$MNT" </dev/null
	mounted "$MNT" || fail 'not mounted'
	same bytes "$(cat "$(box a)/out/x")" text
	timeout -k 2 $((20 * SLOW)) umount "$MNT"
	wait_for 5 gone
	timeout -k 2 $((30 * SLOW)) mount -t fuse "$SBXFS_TEST_DIR/sbxfs#sbxfs" "$MNT" -o rw,nosuid,engine="$DOCKER_HOST" </dev/null
	same bytes "$(cat "$(box a)/out/x")" text
	sbxfs umount "$MNT"
	wait_for 5 gone
}

# The root follows the engine: no polling, no waiting for a listing to expire.
test_created_shows_and_removed_vanishes_within_a_second() {
	mount_up
	local began
	ls "$MNT" >/dev/null
	sandbox_start a out/
	began=$(now_ms)
	wait_for 3 bash -c 'ls "$1" | grep -qxF "$2"' sh "$MNT" "$(full a)"
	within 1000 $began 'to be seen after run returned'
	ls "$(box a)" >/dev/null
	sandbox_remove a
	began=$(now_ms)
	wait_for 3 bash -c '! ls "$1" | grep -qxF "$2"' sh "$MNT" "$(full a)"
	within 1000 $began 'to be gone after rm returned'
	expect_errno ENOENT stat "$(box a)"
}

# After a gap in the event stream everything is listed again.
test_what_happened_in_a_gap_is_seen() {
	proxy_up
	sandbox_start a out/
	mount_up
	proxy_down
	DOCKER_HOST=$ENGINE_HOST sandbox_start b out/
	DOCKER_HOST=$ENGINE_HOST sandbox_remove a
	DOCKER_HOST=$ENGINE_HOST proxy_up
	wait_for 20 bash -c 'ls "$1" | grep -qxF "$2"' sh "$MNT" "$(full b)"
	lacks 'the root' "$(ls "$MNT")" "$(full a)"
}

test_an_idle_mount_takes_no_time() {
	sandbox_start a out/
	mount_up
	ls -lR "$(box a)" >/dev/null
	sleep 2
	local before after
	before=$(awk '{ print $14 + $15 }' "/proc/$MOUNT_PID/stat")
	sleep 5
	after=$(awk '{ print $14 + $15 }' "/proc/$MOUNT_PID/stat")
	# Events of other containers are work; a poll of any kind would be more than one tick in a hundred.
	[ $((after - before)) -le 5 ] || fail "$((after - before)) ticks in 5 idle seconds"
}

test_uid_gid_and_umask() {
	sandbox_start a out/
	guest_write a out/x text
	mount_up -o uid=4321,gid=4322,umask=027
	same file "$(stat -c %u:%g:%a "$(box a)/out/x")" 4321:4322:440
	same 'in dir' "$(stat -c %u:%g:%a "$(box a)/in")" 4321:4322:750
}

# An ordinary user (nobody: fusermount3 wants one with a name) whose group may use the engine's socket. The device is open to all, as udev makes it on a host; where
# there is no udev, one of our own stands in for it in a mount namespace.
test_an_ordinary_user() {
	[ -u "$(command -v fusermount3)" ] || skip 'fusermount3 is not setuid here'
	proxy_up 4343
	sandbox_start a out/
	guest_write a out/x text
	install -m 0755 "$SBXFS" sbxfs-copy
	mkdir home src
	echo one >src/f
	chmod 0644 src/f
	chmod 0755 src
	chown 65534:65534 home "$MNT" "$XDG_RUNTIME_DIR"
	mknod -m 0666 fuse c 10 229
	local env=(env -u XDG_CONFIG_HOME -u XDG_CACHE_HOME "HOME=$SBXFS_TEST_DIR/home" "SBXFS=$SBXFS_TEST_DIR/sbxfs-copy")
	in_namespace() { timeout -k 2 $((60 * SLOW)) unshare -m --propagation private bash -c 'mount --bind fuse /dev/fuse && exec "$@"' sh "$@" </dev/null; }
	# A repository's many small files take Podman minutes: there test_host_tools' clone, by root, stands for it.
	local repository=repo
	engine_is podman && repository=none
	# Without allow_other the mount is nobody else's, root's neither.
	in_namespace bash -ec '
		top=$1 box=$2 repository=$3
		shift 3
		"$@" sh -c "\$SBXFS mount $top"
		"$@" cat "$box/out/x" >x.got
		"$@" stat -c %u "$box/out/x" >owner.got
		"$@" sh -c "echo hello >$box/in/note"
		"$@" sh -ec "
			cp -a src $box/in/
			rsync -a src/ $box/in/rsync/
			mkdir $box/in/tar
			tar -cf - src | tar -xf - -C $box/in/tar
			sed -i s/one/two/ $box/in/tar/src/f
			vim -es -c \"normal othree\" -c wq $box/in/tar/src/f
			test $repository = none && exit
			git init -q $box/in/repo
			cd $box/in/repo
			git config user.name t
			git config user.email t@example.invalid
			cp $box/in/src/f .
			git add f
			git commit -qm first
			test -z \"\$(git status --porcelain)\""
		! stat "$box" 2>root.got
		"$@" sh -c "\$SBXFS umount $top"
		! grep -qF " $top " /proc/mounts' sh "$MNT" "$(box a)" "$repository" setpriv --reuid 65534 --regid 65534 --groups 4343 "${env[@]}"
	same bytes "$(cat x.got)" text
	same owner "$(cat owner.got)" 65534
	has "root's stat" "$(cat root.got)" 'Permission denied'
	same 'the guest has it' "$(in_guest a cat /work/in/note)" hello
	same 'by cp and rsync' "$(in_guest a sh -c 'cd /work/in && cat src/f rsync/f | tr "\n" " "')" 'one one '
	[ $repository = none ] || same 'by git' "$(in_guest a cat /work/in/repo/f)" one
	same 'by tar, sed and vim' "$(in_guest a cat /work/in/tar/src/f | tr '\n' ' ')" 'two three '
	same owners "$(in_guest a sh -c 'find /work/in -exec stat -c %u:%g {} + | sort -u')" 1000:1000
	# Outside the group there is one sentence.
	local status=0
	ERR=$(in_namespace setpriv --reuid 65534 --regid 65534 --clear-groups "${env[@]}" sh -c "\$SBXFS mount $MNT" 2>&1) || status=$?
	same 'without the group' $status 11
	one_sentence
}

# The same view from the command: create, ls, info, rm, by the hardened defaults.
test_create_ls_info_rm() {
	local name
	name=$(full made)
	expect_exit 0 sbxfs create --name "$name" --image sbxfs-test:latest --output out/ --output report.json
	same 'the name is the result' "$OUT" "$name"
	guest_write made out/x text
	mount_up
	same bytes "$(cat "$(box made)/out/x")" text
	has ls "$(sbxfs ls)" "$name"
	same info "$(sbxfs info "$name" --json | jq -r .workdir)" /work
	has doctor "$(sbxfs doctor || true)" "${DOCKER_HOST#unix://}"
	local inspect
	inspect=$(d inspect "$name")
	same network "$(jq -r '.[0].HostConfig.NetworkMode' <<<"$inspect")" none
	same pids "$(jq -r '.[0].HostConfig.PidsLimit' <<<"$inspect")" 512
	same memory "$(jq -r '.[0].HostConfig.Memory' <<<"$inspect")" 536870912
	same capabilities "$(in_guest made grep -E '^Cap(Eff|Prm|Bnd)' /proc/1/status | awk '{ print $2 }' | sort -u)" 0000000000000000
	same 'no new privileges' "$(in_guest made awk '/NoNewPrivs/ { print $2 }' /proc/1/status)" 1
	expect_exit 0 sbxfs rm "$name"
	wait_for 2 bash -c '! ls "$1" | grep -qxF "$2"' sh "$MNT" "$name"
	expect_exit 3 sbxfs info "$name"
}

# Nothing is paused that nobody would resume: not the guardian, who was killed first, nor the mount, killed next.
test_a_killed_guardian_leaves_nobody_frozen() {
	sandbox_start a out/
	guest_write a out/x text
	mount_up
	same 'with its guardian' "$(cat "$(box a)/out/x")" text
	local guardian
	guardian=$(pgrep -P "$MOUNT_PID" -x sbxfs-guardian) || fail 'no guardian'
	guest_write a out/y text
	kill -KILL "$guardian"
	expect_errno EOPNOTSUPP read "$(box a)/out/y"
	has reason "$(info a .freeze.reason)" 'guardian of this sbxfs was killed'
	kill -KILL "$MOUNT_PID"
	wait "$MOUNT_PID" 2>/dev/null || true
	same 'the guest' "$(d inspect -f '{{.State.Status}}' "$(full a)")" running
	wait_for 10 bash -c '! grep -qF " $1 " /proc/mounts' sh "$MNT"
	# The next one serves it.
	mount_up
	same 'the next mount' "$(cat "$(box a)/out/y")" text
}

# Until an engine lists, nobody who looks at the directory around the mount point meets a mount that does not answer.
test_a_stalled_engine_is_met_by_nobody_else() {
	proxy_up
	proxy_stall containers/json
	"$SBXFS" mount "$MNT" -f </dev/null >>"$SBXFS_TEST_DIR/mount.log" 2>&1 &
	MOUNT_PID=$!
	local looks
	for looks in 1 2 3 4; do
		sleep 1
		timeout -k 1 3 stat "$MNT" >/dev/null || fail "look $looks at the mount point hangs"
		timeout -k 1 3 df "$MNT" >/dev/null || fail "df hangs, look $looks"
	done
	kill -0 $MOUNT_PID || fail 'premise: it waits for the engine'
	proxy_flow
	wait_for 20 grep -qF " $MNT fuse" /proc/mounts
	wait_for 10 stat "$MNT/.sbxfs/stats.json"
	mount_down
}
