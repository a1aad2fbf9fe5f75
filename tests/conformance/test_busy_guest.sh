# test_busy_guest.sh: guests that are hard to freeze: 64 spinning processes, and one that forks for ever. A read is right, or
# refused in bounded time, and the guest runs on. BUSY_READS (20; the full count is 200).
# shellcheck shell=bash
. "$SBXFS_TOP/tests/conformance/attackers.sh"

COUNT=${BUSY_READS:-20}
export GUEST_SECONDS=$((COUNT * 3 + 200)) ATTACKER_NICE=19 # what else runs here shall go on

# read_a_busy_guest WHAT: COUNT reads of a file that is new to every cache, in at most 60 s.
read_a_busy_guest() {
	local n got began took longest=0 good=0 refused=0 end
	end=$((SECONDS + 60 * SLOW))
	mount_up
	for ((n = 1; n <= COUNT && SECONDS < end; n++)); do
		echo "content $n" >"$(guest_root box)/work/out/f$n"
		sleep 1.2 # a listing of the moment before still holds for a second, and has no such name
		began=$(now_ms)
		got=$(fsop read "$(box box)/out/f$n" 100) || true
		took=$(($(now_ms) - began))
		[ $took -le $longest ] || longest=$took
		[ $took -lt $((35000 * SLOW)) ] || fail "$1: read $n took $took ms"
		case $got in
		"ok $(printf 'content %s\n' $n | od -An -v -tx1 | tr -d ' \n')") good=$((good + 1)) ;;
		EIO | ESTALE | EOPNOTSUPP | EBUSY | ETIMEDOUT) refused=$((refused + 1)) ;;
		*) fail "$1: read $n gave ${got:0:60}" ;;
		esac
	done
	echo "measured $1: reads right=$good refused=$refused longest=$longest ms"
	[ $((good + refused)) -gt 0 ] || fail "$1: nothing was read"
	mount_down
	wait_for 5 guest_runs_within 1000 box
	wait_for 5 is_not_paused box
}
busy_sandbox() {
	sandbox_start box out/
	in_guest box mkdir -p /work/out
	attacker_start box counter /tmp/count
}

test_64_spinning_processes() {
	busy_sandbox
	attacker_start box spin 64
	wait_for 30 bash -c '[ "$(wc -l <"$1")" -ge 64 ]' sh "$(dirname "$(freezer_file box)")/cgroup.procs"
	read_a_busy_guest '64 spinning processes'
}

test_a_guest_that_forks_for_ever() {
	busy_sandbox
	attacker_start box forks
	read_a_busy_guest 'forking for ever'
}
