# test_hardening.sh: what every sandbox is held by, seen from inside and from the engine.
. "$SBXFS_TOP/tests/lifecycle/life.sh"

# AIR-06, AIR-07, AIR-09, MAF-17, MAF-28, MAF-29, MAF-50: the defaults (bug case 86).
test_defaults() {
	local inspect host status
	make a --json
	inspect=$(d inspect "$(full a)")
	host=$(jq '.[0].HostConfig' <<<"$inspect")
	same network "$(jq -r .NetworkMode <<<"$host")" none
	same limits "$(jq -r '"\(.PidsLimit) \(.Memory) \(.MemorySwap) \(.NanoCpus)"' <<<"$host")" '512 536870912 536870912 1000000000'
	same privileged "$(jq -r .Privileged <<<"$host")" false
	same mounts "$(jq -c '[.[0].Mounts // [], .[0].HostConfig.Binds // [], .[0].HostConfig.Devices // [] | length] | add' <<<"$inspect")" 0
	same tmpfs "$(jq -r '.Tmpfs // {} | length' <<<"$host")" 0
	has options "$(jq -c .SecurityOpt <<<"$host")" no-new-privileges
	guest a cat /proc/self/status
	status=$OUT
	same capabilities "$(awk '/^Cap(Eff|Prm|Bnd):/ { print $2 }' <<<"$status" | sort -u)" 0000000000000000
	same 'no new privileges' "$(awk '/^NoNewPrivs:/ { print $2 }' <<<"$status")" 1
	same seccomp "$(awk '/^Seccomp:/ { print $2 }' <<<"$status")" 2
	guest a ls /sys/class/net
	same interfaces "$OUT" lo
	expect_exit 1 sbxfs exec "$(full a)" -- nc -w 2 1.1.1.1 53
	expect_exit 1 sbxfs exec "$(full a)" -- chown 0:0 /work
	expect_exit 1 sbxfs exec "$(full a)" -- sh -c 'test -e /var/run/docker.sock || test -e /run/docker.sock || test -e /run/podman'
	# AIR-20: what it is told about user namespaces is so.
	guest a cat /proc/self/uid_map
	same 'the engine remaps users' "$(sbxfs doctor --json | jq .userns)" "$([ "$(awk '{ print $2 }' <<<"$OUT")" = 0 ] && echo false || echo true)"
}

# AIR-06: a set-user-id program of root's gives the guest nothing; without the option (the premise) it does.
test_set_user_id_gives_nothing() {
	printf '#include <stdio.h>\n#include <unistd.h>\nint main(void) { printf("%%d\\n", (int)geteuid()); }\n' >euid.c
	cc -static -Os -o euid euid.c || skip 'no static libc to build with'
	make a
	install -o 0 -g 0 -m 4755 euid "$(guest_root a)/bin/euid"
	guest a /bin/euid
	same 'effective user' "$OUT" 1000
	local limits=()
	engine_is podman && limits=(--ulimit nofile=1024:1024 --ulimit nproc=1000:1000)
	d run -d --name "$(full premise)" --network none "${limits[@]}" "$IMAGE" >/dev/null
	install -o 0 -g 0 -m 4755 euid "$(guest_root premise)/bin/euid"
	same 'the premise' "$(d exec "$(full premise)" /bin/euid)" 0
}

# AIR-10: values reach the cgroup, and are kept.
test_ceilings_are_kept() {
	make a --memory 32m --cpus 0.5 --pids-limit 20
	local groups memory cpu group quota
	groups=/proc/$(guest_pid a)/cgroup
	memory=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' "$groups")
	cpu=/sys/fs/cgroup/cpu$(sed -n 's/^[0-9]*:[^:]*\bcpu\b[^:]*://p' "$groups")
	if [ -e "$memory/memory.limit_in_bytes" ]; then
		same memory "$(cat "$memory/memory.limit_in_bytes")" 33554432
		same cpu "$(($(cat "$cpu/cpu.cfs_quota_us") * 1000 / $(cat "$cpu/cpu.cfs_period_us")))" 500
		same pids "$(cat "/sys/fs/cgroup/pids$(sed -n 's/^[0-9]*:pids://p' "$groups")/pids.max")" 20
	else # cgroup version 2
		group=/sys/fs/cgroup$(sed -n 's/^0:://p' "$groups")
		same 'memory and processes' "$(cat "$group/memory.max" "$group/pids.max")" $'33554432\n20'
		quota=$(cat "$group/cpu.max")
		same cpu "$((${quota% *} * 1000 / ${quota#* }))" 500
	fi
	expect_exit 137 sbxfs exec "$(full a)" -- tail /dev/zero
	same 'the sandbox lives' "$(state_of a)" running
	# MAF-28: a fork bomb stops at the limit. Once its orphans have ended there is room again.
	expect_exit 0 sbxfs exec "$(full a)" --shell '(i=0; while [ $i -lt 30 ]; do sleep 2 & i=$((i + 1)); done) 2>/work/why; true'
	has 'what the shell said' "$(cat "$(guest_root a)/work/why")" fork
	wait_for 20 "$SBXFS" exec --no-stdin "$(full a)" -- true
}

# Processes that a command leaves running are waited for when they end, or they would fill the limit of --pids-limit for
# good: so it is, the premise, where the first process is the caller's own. An image without a shell has `sleep` alone.
test_orphans_are_waited_for() {
	leave_orphans() {
		guest "$1" sh -c '(for i in 1 2 3 4 5; do sleep 0.2 & done)'
		sleep 1
		guest "$1" sh -c 'grep -lF "Z (zombie)" /proc/[0-9]*/status 2>/dev/null | wc -l'
	}
	make premise -- sleep 1000
	leave_orphans premise
	same 'left by a first process that does not wait' "$OUT" 5
	make a
	leave_orphans a
	same 'left by ours' "$OUT" 0
	# Whatever the guest kills, the sandbox goes on.
	expect_exit 137 sbxfs exec "$(full a)" -- sh -c 'kill -KILL -1; kill -KILL $$'
	guest a true
	mkdir -p tree/bin tree/etc tree/proc tree/sys tree/dev
	install -m 0755 "$(command -v busybox)" tree/bin/sleep
	tar -C tree -cf tree.tar .
	d import tree.tar "sbxfs-test:${PREFIX}nosh" >/dev/null
	local IMAGE=sbxfs-test:${PREFIX}nosh
	make b
	same 'without a shell' "$(d inspect "$(full b)" | jq -rc '.[0].Config.Entrypoint')" '["sleep","2147483647"]'
	make b --json
	same 'and used again' "$(field .outcome)" reused
	sbxfs rm "$(full b)" >/dev/null
	d rmi "$IMAGE" >/dev/null
}

# AIR-08: a profile reaches the guest; without one the engine's own holds.
test_seccomp_profile() {
	echo '{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["mkdir","mkdirat"],"action":"SCMP_ACT_ERRNO"}]}' >no-mkdir.json
	run_json 1 --security-opt "seccomp=$SBXFS_TEST_DIR/no-mkdir.json" -- mkdir /work/x
	has 'what the guest was told' "$(field .stderr)" 'not permitted'
	run_json 0 -- mkdir /work/x
	# By another name from here, and what is enforced is what was checked: no copy of it stays.
	run_json 1 --security-opt seccomp=no-mkdir.json -- mkdir /work/x
	make a --security-opt seccomp=no-mkdir.json
	echo '{"defaultAction":"SCMP_ACT_ALLOW"}' >no-mkdir.json
	d kill "$(full a)" >/dev/null
	d start "$(full a)" >/dev/null
	expect_exit 1 sbxfs exec --no-stdin "$(full a)" -- mkdir /work/x
	# Podman was given a copy, which is gone.
	local copy
	copy=$(d inspect -f '{{json .HostConfig.SecurityOpt}}' "$(full a)" | grep -o '/tmp/sbxfs-seccomp-[A-Za-z0-9]*' || true)
	engine_is podman && [ -z "$copy" ] && fail 'premise: it has the name of a file'
	[ -z "$copy" ] || [ ! -e "$copy" ] || fail "$copy is left"
	sbxfs rm "$(full a)" >/dev/null
	none_left
}

# Bug case 56: root without capabilities is no root, which is said where somebody asks for it or finds it.
test_root_without_capabilities() {
	make a --user root
	has 'the note' "$ERR" 'the guest is root without capabilities'
	has 'what to do' "$ERR" '--user UID:GID'
	same info "$(sbxfs info "$(full a)" --json | jq -r '"\(.guest_uid) \(.guest_user_note[:38])"')" '0 the guest is root without capabilities'
	expect_exit 1 sbxfs exec --no-stdin "$(full a)" -- sh -c 'echo x >/work/f'
	make b --user 0:0 --cap-add DAC_OVERRIDE
	lacks 'with the power' "$ERR" capabilities
	guest b sh -c 'echo x >/work/f'
	make c
	lacks 'another user' "$ERR" capabilities
	same 'its info' "$(sbxfs info "$(full c)" --json | jq 'has("guest_user_note")')" false
	make d --user root --quiet
	same quiet "$ERR" ''
	expect_exit 0 sbxfs doctor --image sbxfs-test:nouser
	has doctor "$OUT" 'the guest is root without capabilities'
}

# AIR-06: options of the caller's are added, and none takes the strong ones away.
test_caller_options_are_added() {
	make a --cap-add CHOWN --security-opt seccomp=unconfined --user root
	guest a cat /proc/self/status
	same capabilities "$(awk '/^CapBnd:/ { print $2 }' <<<"$OUT")" 0000000000000001
	same 'no new privileges' "$(awk '/^NoNewPrivs:/ { print $2 }' <<<"$OUT")" 1
	same seccomp "$(awk '/^Seccomp:/ { print $2 }' <<<"$OUT")" 0
	local option
	for option in no-new-privileges=false no-new-privileges:false no-new-privileges NO-NEW-PRIVILEGES=0; do
		expect_exit 12 sbxfs create --name "$(full b)" --scope "$PREFIX" --image "$IMAGE" --security-opt "$option"
		one_sentence
		says --security-opt no-new-privileges
	done
}
