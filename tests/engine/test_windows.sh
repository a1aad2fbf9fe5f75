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
	local linger before joined count
	files_start 32
	in_guest a truncate -s 300M /work/out/big # so that no listing answers a few of them at once
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
		0) [ $count -gt 2 ] || fail "without linger $count windows, which proves nothing" ;;
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

# stalled_get NAME PATH: somebody's transfer whose reader takes nothing; its pid is in $STALLED.
stalled_get() {
	mkfifo stalled.fifo
	exec 5<>stalled.fifo
	curl -sS --unix-socket "${DOCKER_HOST#unix://}" "http://engine/v1.41/containers/$(full "$1")/archive?path=$2" >stalled.fifo 5<&- &
	STALLED=$!
	wait_for 10 python3 -c 'import select; exit(bool(select.select([], [5], [], 0)[1]))'
}

# A reader that takes one byte of a large file and then nothing for long holds up neither the guest, nor a command of ours, nor the
# docker client: the bytes wait on this host. Premise, on Docker: behind a transfer that waits for its reader inspect does not answer.
test_a_reader_that_dawdles_costs_nothing() {
	files_start 1
	attacker_start a counter /tmp/count
	in_guest a truncate -s 256M /work/out/large
	if engine_is docker; then
		stalled_get a /work/out/large
		! timeout 3 docker inspect "$(full a)" </dev/null >/dev/null 2>&1 || fail 'inspect answers behind a stalled transfer, which proves nothing'
		kill -KILL $STALLED
	fi
	mount_up
	timeout $((60 * SLOW)) python3 -c '
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
assert os.read(fd, 1) == b"\0"
open("begun", "w").close()
while not os.path.exists("go-on"):
    time.sleep(0.05)
size = 1
while piece := os.read(fd, 1 << 20):
    size += len(piece)
print(size)' "$(box a)/out/large" </dev/null >size &
	local reader=$! began
	wait_for 20 test -e begun
	began=$(now_ms)
	d inspect "$(full a)" >/dev/null
	within 8000 "$began" 'inspect beside a reader that dawdles'
	began=$(now_ms)
	expect_exit 0 sbxfs exec "$(full a)" -- true
	within 8000 "$began" 'a command beside it'
	wait_for 8 guest_runs_within 300 a
	touch go-on
	wait $reader
	same 'bytes of the slow reader' "$(cat size)" $((256 << 20))
}

# Over max_frozen_bytes a file is moved while the guest runs, and right. Premise: without it the guest stands still for as long as the
# engine takes to answer.
test_large_files_are_moved_unfrozen() {
	local limit id sum
	proxy_up
	files_start 1
	attacker_start a counter /tmp/count
	in_guest a sh -c 'head -c 20000000 /dev/urandom >/work/out/large'
	id=$(sandbox_id a) sum=$(in_guest a sha256sum /work/out/large | cut -d' ' -f1)
	for limit in 0 1m; do
		mount_up -o max_frozen_bytes=$limit
		stat "$(box a)/out/large" >/dev/null
		wait_for 5 windows_are_closed
		proxy_stall "GET /v1.41/containers/$id/archive"
		timeout $((60 * SLOW)) sha256sum "$(box a)/out/large" >read.$limit </dev/null &
		local reader=$!
		sleep 2
		case $limit in
		0) ! guest_runs_within 1000 a || fail 'the guest runs while its file is moved, which proves nothing' ;;
		*) guest_runs_within 1000 a || fail 'the guest is frozen while its large file is moved' ;;
		esac
		proxy_flow
		wait $reader
		same "max_frozen_bytes=$limit" "$(cut -d' ' -f1 read.$limit)" "$sum"
		mount_down
	done
}

# The guest rewrites such a file in place, one byte value a time: a read is one value, or ESTALE, and never a mixture. Premise: the
# archive itself holds two values now and then.
test_large_files_that_change_are_never_mixed() {
	files_start 1
	in_guest a sh -c 'cat >/work/rewrite.sh <<-"E"
		v=A
		while :; do
			head -c 33554432 /dev/zero | tr "\0" $v | dd of=/work/out/large conv=notrunc bs=65536 2>/dev/null
			case $v in A) v=B ;; *) v=A ;; esac
			[ ! -e /work/slowly ] || sleep 2
		done
	E
	head -c 33554432 /dev/zero | tr "\0" A >/work/out/large; setsid sh /work/rewrite.sh >/dev/null 2>&1 &'
	sleep 1
	timeout $((60 * SLOW)) python3 -c '
import subprocess, sys
for attempt in range(1, 31):
    tar = subprocess.run(["curl", "-sS", "--max-time", "20", "--unix-socket", sys.argv[1], sys.argv[2]], capture_output=True).stdout
    body = tar[512:512 + (1 << 25)]
    if body.count(b"A") and body.count(b"B"):
        sys.exit(print("premise: a mixture at attempt", attempt))
sys.exit("no mixture in 30 archives, which proves nothing")' "${DOCKER_HOST#unix://}" "http://engine/v1.41/containers/$(full a)/archive?path=/work/out/large" </dev/null
	mount_up -o max_frozen_bytes=1m,entry_timeout=0
	timeout $((90 * SLOW)) python3 -c '
import errno, os, sys, time
box, slowly = sys.argv[1:]
good = refused = 0
until = time.monotonic() + 10
while time.monotonic() < until or not (good and refused):
    if time.monotonic() > until + 40:
        break
    if refused and not os.path.exists(slowly):
        open(slowly, "w").close()
    try:
        with open(box, "rb") as file:
            data = file.read()
    except OSError as failure:
        if failure.errno not in (errno.ESTALE, errno.EIO):
            sys.exit("unexpected: %s" % failure)
        refused += 1
        continue
    if len(data) != 1 << 25 or data.count(data[:1]) != len(data):
        sys.exit("a mixture: %d bytes, %d of the first value" % (len(data), data.count(data[:1])))
    good += 1
print("measured: reads right=%d refused=%d" % (good, refused))
sys.exit(0 if good and refused else "nothing was read, or nothing refused")' "$(box a)/out/large" "$(guest_root a)/work/slowly" </dev/null
}

# Where the engine cannot pause a running sandbox nothing of it is read, info.json says why and names what does without, and with
# that it is read. An exited one needs no pause.
test_an_engine_that_cannot_pause_says_so() {
	proxy_up
	files_start 1
	proxy_refuse /pause
	mount_up
	expect_errno EOPNOTSUPP read "$(box a)/out/f1"
	has reason "$(info a .freeze.reason)" 'freezer not mounted'
	has remedy "$(info a .freeze.reason)" freeze=never
	mount_down
	mount_up -o freeze=never
	same bytes "$(cat "$(box a)/out/f1")" 1
	same reason "$(info a .freeze.reason)" null
	mount_down
	d kill "$(full a)" >/dev/null
	mount_up
	same 'of an exited one' "$(cat "$(box a)/out/f1")" 1
	mount_down
}
