# test_windows.sh: freeze windows as options and counters show them: which requests pause, how much of the guest's time they take,
# who shares one, and who is let in no more.
# shellcheck shell=bash
. "$SBXFS_TOP/tests/conformance/attackers.sh"
. "$SBXFS_TOP/tests/engine/in_lib.sh"

files_start() { # COUNT: out/f1 … out/fCOUNT, each its own content
	sandbox_start a out/
	in_guest a sh -c 'mkdir -p /work/out /work/in; i=0; while [ $i -lt "$1" ]; do i=$((i + 1)); echo $i >/work/out/f$i; done' sh "$1"
}
pauses() { stats .engine.pauses; }
windows() { stats .freezes.windows; }
# Every window that was opened is counted when it is closed.
windows_are_closed() { ! is_frozen "$(freezer_file a)"; }

# MAF-95: with never nothing is paused, with reads nothing is for an upload, and info.json says which and what that leaves open. Premise:
# with always both pause.
test_what_is_paused_for_is_the_mode() {
	local mode read written before
	files_start 3
	for mode in always reads never; do
		mount_up -o freeze=$mode,linger_ms=0
		same mode "$(info a .freeze.mode)" $mode
		same reason "$(info a .freeze.reason)" null
		before=$(pauses)
		same bytes "$(cat "$(box a)/out/f1")" 1
		same listed "$(ls "$(box a)/out" | wc -l)" 3
		read=$(($(pauses) - before))
		echo first >"$(box a)/in/first"
		# What is looked up when it is opened is read; the upload is the close.
		writer_open "$(box a)/in/$mode" $mode
		wait_for 5 windows_are_closed
		before=$(pauses)
		same close "$(writer_close)" ok
		written=$(($(pauses) - before))
		same 'in the guest' "$(in_guest a cat /work/in/$mode)" $mode
		echo "$mode: pauses of a read $read, of a write $written"
		case $mode in
		always) [ $read -gt 0 ] && [ $written -gt 0 ] || fail "always: $read and $written pauses, which proves nothing" ;;
		reads) [ $read -gt 0 ] && [ $written = 0 ] || fail "reads: $read and $written pauses" ;;
		never) [ "$(pauses)" = 0 ] && [ "$(windows)" = 0 ] || fail "never: $(pauses) pauses, $(windows) windows" ;;
		esac
		has residual "$(info a .freeze.residual)" "$(case $mode in always) echo 'nothing that is known' ;; reads) echo 'uploads are not paused' ;; never) echo 'nothing is paused' ;; esac)"
		mount_down
	done
}

# A busy reader gets its share of the guest's time: two of the mount's counters are compared, no speed. Premise: without a
# limit the same reader takes more than half.
test_a_busy_reader_leaves_the_guest_its_time() {
	local duty took frozen longest most burst read=0
	burst=$(sed -n 's/^#define SBX_PACE_BURST_MS *//p' "$SBXFS_TOP/engine/files/pace.h")
	files_start 40
	for duty in 100 50 20; do
		mount_up -o entry_timeout=0,duty=$duty,max_hold_ms=100,linger_ms=5
		read -r took read < <(read_changing_files 5)
		wait_for 5 windows_are_closed
		sleep 0.2
		frozen=$(stats .freezes.frozen_ms) longest=$(stats .freezes.longest_ms)
		echo "duty=$duty: frozen $frozen of $took ms in $(windows) windows, the longest $longest ms, $read files read"
		[ "$read" -gt 0 ] || fail "duty=$duty: nothing was read"
		# What is over the share is the burst that may be taken at once and the window that went past it.
		most=$((took * duty / 100 + burst + longest))
		[ "$frozen" -le $most ] || fail "duty=$duty: the guest was frozen for $frozen of $took ms"
		[ $duty != 100 ] || [ "$frozen" -gt $((took / 2 + burst + longest)) ] || fail "without a limit: frozen for $frozen of $took ms only, which proves nothing"
		mount_down
	done
}
# read_changing_files SECONDS: one after the other, as fast as it goes, each changed since it was last read. Prints the milliseconds
# it took, and how many were read.
read_changing_files() {
	timeout $((60 * SLOW)) python3 -c '
import os, sys, time
box, guest, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
began, count = time.monotonic(), 0
while time.monotonic() < began + seconds:
    name = "f%d" % (count % 40 + 1)
    os.utime(os.path.join(guest, name), (count + 1, count + 1))
    with open(os.path.join(box, name)) as file:
        assert file.read() == name[1:] + "\n"
    count += 1
print(int((time.monotonic() - began) * 1000), count)' "$(box a)/out" "$(guest_root a)/work/out" "$1" </dev/null
}

# stat_at_once COUNT: so many files by as many threads.
stat_at_once() {
	timeout $((60 * SLOW)) python3 -c '
import os, sys, threading
start, missing = threading.Barrier(int(sys.argv[2])), []
def look(i):
    start.wait()
    if os.stat("%s/f%d" % (sys.argv[1], i)).st_size < 2:
        missing.append(i)
threads = [threading.Thread(target=look, args=(i + 1,)) for i in range(int(sys.argv[2]))]
[t.start() for t in threads]
[t.join() for t in threads]
sys.exit(bool(missing))' "$(box a)/out" "$1" </dev/null
}

# Requests that come while a window is open join it, and it waits for the next: 32 stats at once are a window or two. Premise:
# without waiting they are more.
test_requests_share_a_window() {
	local linger before joined count least=4
	! engine_is podman || least=2 # there a few of them make one listing of the directory
	files_start 32
	for linger in 0 2000; do
		mount_up -o linger_ms=$linger,max_hold_ms=20000,duty=100
		stat "$(box a)" >/dev/null
		wait_for 5 windows_are_closed
		before=$(windows) joined=$(stats .freezes.joined)
		stat_at_once 32
		wait_for 10 windows_are_closed
		sleep 0.2
		count=$(($(windows) - before)) joined=$(($(stats .freezes.joined) - joined))
		echo "linger_ms=$linger: $count windows, $joined joined"
		case $linger in
		0) [ $count -gt $least ] || fail "without linger $count windows, which proves nothing" ;;
		*) [ $count -ge 1 ] && [ $count -le 2 ] && [ $joined -gt 0 ] || fail "$count windows, $joined joined" ;;
		esac
		mount_down
	done
}

# For as long as requests keep coming one window would last: max_hold_ms ends it, whoever comes later waits for the next. Premise:
# with a longer one it is the same window from the first request to the last.
test_a_window_lets_nobody_in_for_ever() {
	local hold before count refused
	files_start 60
	for hold in 60000 200; do
		mount_up -o linger_ms=60000,max_hold_ms=$hold,duty=100
		ls "$(box a)" >/dev/null
		before=$(windows)
		timeout $((60 * SLOW)) python3 -c '
import os, sys, threading, time
def look(offset):
    for i in range(offset, 61, 2):
        os.stat("%s/f%d" % (sys.argv[1], i))
        time.sleep(0.05)
threads = [threading.Thread(target=look, args=(i,)) for i in (1, 2)]
[t.start() for t in threads]
[t.join() for t in threads]' "$(box a)/out" </dev/null
		count=$(($(windows) - before))
		refused=$(stats .freezes.refused)
		echo "max_hold_ms=$hold: $count windows ended meanwhile, the longest $(stats .freezes.longest_ms) ms, $refused held off"
		case $hold in
		60000) [ $count = 0 ] || fail "$count windows ended before their time, which proves nothing" ;;
		*) [ $count -ge 3 ] || fail "$count windows ended in more than a second" ;;
		esac
		mount_down # closes what is open
	done
}
