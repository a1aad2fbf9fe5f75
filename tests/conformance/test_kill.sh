# test_kill.sh: the mount's daemon is killed at random moments of reads and writes; the guest must never be left frozen.
# KILL_COUNT kills (20; the full count is 200). Premise: kills that met a frozen guest, and a guest that stays frozen when
# the guardian is killed too.
# shellcheck shell=bash
. "$SBXFS_TOP/tests/conformance/attackers.sh"

COUNT=${KILL_COUNT:-20}
export GUEST_SECONDS=$((COUNT * 10 + 120))

counting_sandbox() {
	sandbox_start box out/
	in_guest box sh -c 'mkdir -p /work/out /work/in; for i in 1 2 3 4; do head -c 8388608 /dev/zero >/work/out/big$i; done'
	attacker_start box counter /tmp/count
	wait_for 5 guest_runs_within 1000 box
	FREEZER=$(freezer_file box)
}
# Files that change, so that no cache answers.
keep_busy() {
	local n=0
	while :; do
		n=$((n + 1))
		touch "$(guest_root box)/work/out/big$((n % 4 + 1))"
		cat "$(box box)/out/big$((n % 4 + 1))" >/dev/null 2>&1
		[ $((n % 3)) != 0 ] || echo "$n" 2>/dev/null >"$(box box)/in/n$n"
		[ -e "$(box box)" ] || return 0
	done
}

test_killed_at_random_moments() {
	local n load frozen=0 longest=0 killed took
	counting_sandbox
	for ((n = 1; n <= COUNT; n++)); do
		mount_up
		keep_busy 2>/dev/null &
		load=$!
		sleep "$((RANDOM % 2)).$(printf %03d $((RANDOM % 1000)))"
		if is_frozen "$FREEZER"; then frozen=$((frozen + 1)); fi
		kill -KILL "$MOUNT_PID"
		killed=$(now_ms)
		until guest_runs_within 100 box && [ "$(paused box)" = false ]; do
			[ $(($(now_ms) - killed)) -lt $((2000 * SLOW)) ] || fail "kill $n of $COUNT: the guest does not run after $(($(now_ms) - killed)) ms, Paused $(paused box)"
		done
		took=$(($(now_ms) - killed))
		[ $took -le $longest ] || longest=$took
		[ $took -lt $((2000 * SLOW)) ] || fail "kill $n of $COUNT: the guest was seen to run after $took ms only"
		wait "$MOUNT_PID" 2>/dev/null || true
		wait_for 10 bash -c '! grep -qF " $1 " /proc/mounts' sh "$MNT"
		kill -KILL $load 2>/dev/null || true
		wait $load 2>/dev/null || true
	done
	echo "measured kills=$COUNT of a frozen guest=$frozen longest until seen running=$longest ms"
	[ $frozen -gt 0 ] || fail "none of $COUNT kills met a frozen guest, which proves nothing"
}

# With the guardian gone too the guest stays frozen: that is what the guardian is for, and what the next mount undoes.
test_killed_with_its_guardian_is_undone_by_the_next_mount() {
	local try load pids
	counting_sandbox
	for ((try = 1; try <= 20; try++)); do
		mount_up
		keep_busy 2>/dev/null &
		load=$!
		for _ in $(seq 300); do is_frozen "$FREEZER" && break; sleep 0.01; done
		pids=$(test_processes "$SBXFS_TEST_DIR" | while read -r pid; do case $(readlink "/proc/$pid/exe") in *sbxfs*) echo "$pid" ;; esac; done)
		# shellcheck disable=SC2086 # a list of numbers
		kill -KILL $pids 2>/dev/null
		kill -KILL $load 2>/dev/null || true
		wait $load "$MOUNT_PID" 2>/dev/null || true
		timeout 10 umount -l "$MNT" 2>/dev/null || true
		guest_runs_within 700 box || break
	done
	[ $try -le 20 ] || fail 'in 20 kills the guest was never left frozen, which proves nothing'
	echo "left frozen at kill $try"
	mount_up
	wait_for 5 guest_runs_within 500 box
	wait_for 5 is_not_paused box # what was pending is uploaded in a window of its own
}
