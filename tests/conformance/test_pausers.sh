# test_pausers.sh: somebody else pauses and resumes the sandbox all the time. Nobody's pause is undone by us, nothing hangs,
# and every read is right or a clean error. PAUSER_SECONDS (20; the full run is 200) each.
# shellcheck shell=bash
. "$SBXFS_TOP/tests/conformance/attackers.sh"

LIMIT=${PAUSER_SECONDS:-20}
export GUEST_SECONDS=$((LIMIT * 3 + 120))

ask() { api "/containers/$(full "$1")/$2" -X POST -o /dev/null -w '%{http_code}'; }

# Pauses where it may, and looks whether its pause holds until it ends it itself.
careful_pauser() {
	local until=$((SECONDS + LIMIT)) freezer held=0
	freezer=$(freezer_file box)
	while [ $SECONDS -lt $until ]; do
		if [ "$(ask box pause)" = 204 ]; then
			held=$((held + 1))
			for _ in 1 2 3 4 5 6 7 8; do
				is_frozen "$freezer" || echo "pause $held was undone" >>undone
				sleep 0.05
			done
			[ "$(ask box unpause)" = 204 ] || echo "pause $held was not there to be ended" >>undone
		fi
		sleep "0.$((RANDOM % 4))"
	done
	echo $held >held
}

# read_all UNTIL: files of one byte value each, that change all the time by being replaced; counts into $GOOD and $REFUSED.
read_until() {
	local n=0 got began
	GOOD=0 REFUSED=0
	while [ $SECONDS -lt "$1" ]; do
		n=$((n + 1))
		touch "$(guest_root box)/work/out/f$((n % 3))"
		began=$(now_ms)
		got=$(fsop read "$(box box)/out/f$((n % 3))" 200000) || true
		[ $(($(now_ms) - began)) -lt $((35000 * SLOW)) ] || fail "read $n took $(($(now_ms) - began)) ms"
		case $got in
		"ok $WANTED") GOOD=$((GOOD + 1)) ;;
		EIO | ESTALE | EOPNOTSUPP | EBUSY | EAGAIN | ETIMEDOUT) REFUSED=$((REFUSED + 1)) ;;
		*) fail "read $n gave ${got:0:60}" ;;
		esac
	done
}

# MAF-97: what somebody else paused is theirs to resume.
test_nobodys_pause_is_undone() {
	local pauser
	sandbox_start box out/
	in_guest box sh -c 'mkdir -p /work/out; for i in 0 1 2; do head -c 20000 /dev/zero | tr "\0" A >/work/out/f$i; done'
	WANTED=$(head -c 20000 /dev/zero | tr '\0' A | od -An -v -tx1 | tr -d ' \n')
	mount_up
	ls "$(box box)/out" >/dev/null
	careful_pauser &
	pauser=$!
	read_until $((SECONDS + LIMIT))
	wait $pauser
	echo "measured somebody's pauses=$(cat held) reads right=$GOOD refused=$REFUSED"
	[ ! -s undone ] || fail "$(wc -l <undone) times somebody's pause did not hold: $(head -n 1 undone)"
	[ "$(cat held)" -gt 0 ] || fail 'somebody never got to pause, which proves nothing'
	[ "$GOOD" -gt 0 ] || fail 'no read was answered'
	wait_for 5 is_not_paused box
	same 'after it all' "$(cat "$(box box)/out/f0" | tr -d A | wc -c)" 0
}

# Resumes whatever is paused, our windows too, while the guest rewrites the file in place: what was read across such a
# resume must never be handed out as one version.
test_a_resume_in_our_window_is_noticed() {
	local pauser tally
	sandbox_start box out/
	in_guest box mkdir -p /work/out
	attacker_start box generations /work/out/f 4000000
	sleep 1
	(
		resumed=0
		while :; do
			ask box pause >/dev/null
			[ "$(ask box unpause)" != 204 ] || resumed=$((resumed + 1))
			echo $resumed >resumed
		done
	) 2>/dev/null &
	pauser=$!
	tally=$(timeout -k 5 $((LIMIT + 60)) "$ATTACK" uniform "$(full box)" out/f 1000000 always "$LIMIT" </dev/null 2>race.err) ||
		fail "the reads did not end: $(tail -n 1 race.err)"
	kill -KILL $pauser
	wait $pauser 2>/dev/null || true
	echo "measured resumes=$(cat resumed) $tally $(tail -n 1 race.err | cut -c1-150)"
	[ "$(cat resumed)" -gt 0 ] || fail 'nobody resumed anything, which proves nothing'
	no_leak "reads of two values ($tally)" "$(count_of leaks "$tally")"
	same "timeouts ($tally)" "$(count_of timeouts "$tally")" 0
	[ "$(count_of attempts "$tally")" -gt 0 ] || fail "nothing was tried: $tally"
	ask box unpause >/dev/null
	wait_for 5 is_not_paused box
}

# Somebody resumes our window and pauses again at once. A command has no event stream, and the state at the end is that of
# before; the guest swaps what was checked meanwhile. Premise: without its processor time to look at, the pair is not noticed.
test_a_pair_in_our_window_is_noticed_by_a_command() {
	local tally premise
	sandbox_start box out/
	in_guest_as_root box sh -c 'mkdir /secret; chmod 0755 /secret; head -c 4242 /dev/zero | tr "\0" S | sed "s/^SSSSSS/SECRET/" >/secret/file; touch -d @1700000000 /secret/file'
	in_guest box sh -c 'mkdir -p /work/out/d; ln -s /secret /work/out/l; head -c 4242 /dev/zero | tr "\0" p >/work/out/d/file; touch -d @1700000000 /work/out/d/file'
	attacker_start box swap /work/out/d /work/out/l
	tally=$(against_pairs) || fail "the reads did not end: $tally"
	echo "measured pairs: $tally"
	premise=$(against_pairs unshare -m --propagation private sh -c 'mount -t tmpfs none "$(readlink -f /sys/fs/cgroup/cpuacct)" && exec "$@"' sh) || fail "the premise did not end: $premise"
	echo "premise: $premise"
	no_leak "leaks ($tally)" "$(count_of leaks "$tally")"
	same "timeouts ($tally)" "$(count_of timeouts "$tally")" 0
	same "somebody's pauses that did not hold ($tally)" "$(count_of undone "$tally")" 0
	[ "$(count_of pairs "$tally")" -gt 0 ] || fail "no pair was made: $tally"
	[ "$(count_of leaks "$premise")" -gt 0 ] || [ "$(count_of undone "$premise")" -gt 0 ] || fail "unnoticed pairs did no harm, which proves nothing: $premise"
	wait_for 5 is_not_paused box
}
# against_pairs [CMD…]: attempts to read, by CMD, while pairs are made.
against_pairs() {
	python3 "$SBXFS_TOP/tests/conformance/pair.py" "${DOCKER_HOST#unix://}" "$(full box)" "$(freezer_file box)" "$LIMIT" </dev/null >pairs &
	local pairs=$!
	timeout -k 5 $((LIMIT + 60)) "$@" "$ATTACK" read "$(full box)" out/d/file 1000000 always "$LIMIT" </dev/null 2>race.err || { tail -n 1 race.err; return 1; }
	wait $pairs
	cat pairs
	ask box unpause >/dev/null
}
