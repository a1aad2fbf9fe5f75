# test_stall.sh: for how long a guest is held up by 1,000 stats and by one read of 64 MiB. It prints, and asserts only that
# there was something to print: the figures are the machine's too, so each stands beside those of the same time without us.
# shellcheck shell=bash
. "$SBXFS_TOP/tests/conformance/attackers.sh"
export GUEST_SECONDS=300

# measure WHAT CMD…: prints time taken, the guest's stall in all and at most, and our windows.
measure() {
	local what=$1 began took total longest idle idle_longest windows frozen
	shift
	in_guest box sh -c 'rm -f /tmp/gaps.*'
	attacker_start box gaps /tmp/gaps.with
	windows=$(stats .freezes.windows) frozen=$(stats .freezes.frozen_ms)
	began=$(now_ms)
	"$@" || fail "$what failed"
	took=$(($(now_ms) - began))
	# The window lingers: it is counted, and the guest knows of its stall, when it is over.
	wait_for 10 runs_on box
	sleep 0.2
	read -r total longest <"$(guest_root box)/tmp/gaps.with"
	windows=$(($(stats .freezes.windows) - windows)) frozen=$(($(stats .freezes.frozen_ms) - frozen))
	attacker_start box gaps /tmp/gaps.without
	sleep "$((took / 1000)).$(printf %03d $((took % 1000)))"
	read -r idle idle_longest <"$(guest_root box)/tmp/gaps.without"
	echo "measured $what: took=$took ms stalled=$((10#$total / 1000)) ms longest=$((10#$longest / 1000)) ms windows=$windows frozen=$frozen ms; without us stalled=$((10#$idle / 1000)) ms longest=$((10#$idle_longest / 1000)) ms"
	[ "$windows" -gt 0 ] || fail "$what: no window was opened, so nothing was measured"
	[ "$total" -gt 0 ] || fail "$what: the guest saw no stall, so nothing was measured"
}
runs_on() { ! is_frozen "$(freezer_file "$1")"; }
stat_each() {
	timeout -k 2 $((100 * SLOW)) python3 -c '
import os, sys
for i in range(1000):
    os.stat("%s/out/many/f%04d" % (sys.argv[1], i))' "$1"
}
read_big() { same 'bytes read' "$(timeout -k 2 $((60 * SLOW)) cat "$1/out/big" | wc -c)" 67108864; }

test_the_guests_stall() {
	sandbox_start box out/
	in_guest box sh -c 'mkdir -p /work/out/many; cd /work/out/many; i=0
		while [ $i -lt 1000 ]; do : >f$(printf %04d $i); i=$((i + 1)); done; head -c 67108864 /dev/urandom >/work/out/big'
	mount_up
	measure '1,000 stats by name' stat_each "$(box box)"
	measure 'one read of 64 MiB' read_big "$(box box)"
}
