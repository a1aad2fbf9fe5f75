# test_read.sh: bytes through the mount: exact, one version, lazily, bounded, and never at another sandbox's cost.

plant_random() { # NAME PATH BYTES
	python3 -c '
import os, sys
path, size = sys.argv[1], int(sys.argv[2])
os.makedirs(os.path.dirname(path), exist_ok=True)
block = os.urandom(1 << 20)
with open(path, "wb") as out:
    for at in range(0, size, 1 << 20):
        piece = at.to_bytes(8, "big") + block[8:]
        out.write(piece[:min(1 << 20, size - at)])
os.chown(path, 1000, 1000)
os.chmod(os.path.dirname(path), 0o777)' "$(guest_root "$1")/work/$2" "$3"
}
hash_there() { in_guest "$1" sha256sum "/work/$2" | cut -d' ' -f1; }
hash_here() { timeout -k 2 $((90 * SLOW)) sha256sum "$(box "$1")/$2" | cut -d' ' -f1; }
# Bytes of answers that the engine has sent to this mount.
body_bytes() { stats .engine.bytes_in; }

test_bytes_are_exact() {
	sandbox_start a out/
	local size
	for size in 0 1 511 512 513 65536 1048576 3500001; do plant_random a "out/f$size" $size; done
	mount_up
	for size in 0 1 511 512 513 65536 1048576 3500001; do
		same "$size" "$(hash_here a "out/f$size")" "$(hash_there a "out/f$size")"
	done
	local file there
	file=$(box a)/out/f3500001
	there=$(guest_root a)/work/out/f3500001
	cmp <(head -c 5000 "$file") <(head -c 5000 "$there")
	cmp <(tail -c 5000 "$file") <(tail -c 5000 "$there")
	cmp <(dd if="$file" bs=777 skip=1000 count=99 2>/dev/null) <(dd if="$there" bs=777 skip=1000 count=99 2>/dev/null)
}

test_mmap_readers() {
	sandbox_start a out/
	plant_random a out/f 5000000
	mount_up
	same mmap "$(timeout $((30 * SLOW)) python3 -c '
import hashlib, mmap, sys
with open(sys.argv[1], "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
    m[4999999]
    print(hashlib.sha256(m).hexdigest())' "$(box a)/out/f")" "$(hash_there a out/f)"
}

# MAF-86: a ceiling is refused from the stat; no body moves, and which one it was is said (bug case 120).
test_ten_gigabytes_sparse() {
	sandbox_start a out/
	in_guest a sh -c 'mkdir -p /work/out; truncate -s 10G /work/out/hole'
	mount_up
	same size "$(stat -c %s "$(box a)/out/hole")" 10737418240
	local before
	before=$(body_bytes)
	expect_errno EFBIG read "$(box a)/out/hole"
	[ $(($(body_bytes) - before)) -lt 65536 ] || fail "a refused read moved $(($(body_bytes) - before)) bytes"
	has 'the limit and its option' "$(info a '.unserved[] | select(.path == "out/hole").reason')" "10737418240 bytes, and the ceiling is 1073741824 (the mount option max_file_bytes)"
	mount_down
	mount_up -o max_file_bytes=20g
	before=$(body_bytes)
	same head "$(head -c 4096 "$(box a)/out/hole" | tr -d '\0' | wc -c)" 0
	sleep 1
	[ $(($(body_bytes) - before)) -lt 16777216 ] || fail "head -c 4096 moved $(($(body_bytes) - before)) bytes"
}

test_one_gigabyte_in_bounded_memory() {
	sandbox_start a out/
	plant_random a out/big 1073741824
	mount_up
	local theirs
	theirs=$(sha256sum <"$(guest_root a)/work/out/big" | cut -d' ' -f1)
	same sha256 "$(hash_here a out/big)" "$theirs"
	local peak
	peak=$(awk '/VmHWM/ { print $2 }' "/proc/$MOUNT_PID/status")
	echo "peak $peak kB"
	case $SBXFS in *asan* | *tsan*) return 0 ;; esac
	[ "$peak" -lt 65536 ] || fail "the daemon's memory peaked at $peak kB"
}

test_sixty_four_readers() {
	sandbox_start a out/
	sandbox_start b out/
	local i
	for i in 0 1 2 3 4 5 6 7; do plant_random a out/f$i 300000; plant_random b out/f$i 300000; done
	mount_up
	timeout $((60 * SLOW)) python3 -c '
import sys, threading
mount, other = sys.argv[1:3]
problems = []
def read(i):
    base = (mount, other)[i % 2]
    try:
        got = open("%s/out/f%d" % (base, i // 2 % 8), "rb").read()
        real = open("%s/work/out/f%d" % (sys.argv[3 + i % 2], i // 2 % 8), "rb").read()
        if got != real:
            problems.append("reader %d got other bytes" % i)
    except OSError as e:
        problems.append("reader %d: %s" % (i, e))
threads = [threading.Thread(target=read, args=(i,)) for i in range(64)]
[t.start() for t in threads]
[t.join() for t in threads]
print("\n".join(problems))
sys.exit(bool(problems))' "$(box a)" "$(box b)" "$(guest_root a)" "$(guest_root b)"
}

# Ctrl-C ends a blocked read at once; what other sandboxes, the spool and the root can serve goes on meanwhile. The
# guest may be frozen while its engine does not answer, so nothing is asked of it then.
test_a_stalled_sandbox_blocks_nobody_else() {
	proxy_up
	sandbox_start a out/
	sandbox_start b out/
	plant_random a out/spooled 200000
	plant_random a out/stuck 200000
	plant_random b out/f 200000
	local spooled stuck other id
	spooled=$(hash_there a out/spooled) stuck=$(hash_there a out/stuck) other=$(hash_there b out/f) id=$(sandbox_id a)
	mount_up
	same before "$(hash_here a out/spooled)" "$spooled"
	stat "$(box a)/out/stuck" >/dev/null
	exec 5<"$(box a)/out/spooled"
	proxy_stall "$id"
	# A shell lets what it starts in the background ignore SIGINT.
	env --default-signal=INT cat "$(box a)/out/stuck" >/dev/null &
	local reader=$! began
	sleep 1
	kill -0 $reader || fail 'the read did not block'
	began=$(now_ms)
	same 'another sandbox' "$(hash_here b out/f)" "$other"
	timeout $((3 * SLOW)) ls "$MNT" >/dev/null || fail 'ls of the root was blocked'
	same 'the spool' "$(timeout $((3 * SLOW)) sha256sum <&5 | cut -d' ' -f1)" "$spooled"
	within 4000 $began 'what others read'
	began=$(now_ms)
	kill -INT $reader
	wait $reader 2>/dev/null || true
	within 1500 $began 'SIGINT'
	proxy_flow
	wait_for 10 cat "$(box a)/out/stuck"
	same after "$(hash_here a out/stuck)" "$stuck"
	wait_for 5 thawed a
}
thawed() { [ "$(d inspect -f '{{.State.Status}}' "$(full "$1")")" = running ]; }

test_a_dead_engine_is_an_error_and_comes_back() {
	proxy_up
	sandbox_start a out/
	plant_random a out/f 100000
	plant_random a out/g 100000
	local f g got
	f=$(hash_there a out/f) g=$(hash_there a out/g)
	mount_up -o deadline=3
	same before "$(hash_here a out/f)" "$f"
	exec 5<"$(box a)/out/f"
	proxy_down
	timeout $((5 * SLOW)) ls "$MNT" >/dev/null || fail 'ls of the root was blocked'
	same 'the spool' "$(timeout $((5 * SLOW)) sha256sum <&5 | cut -d' ' -f1)" "$f"
	got=$(timeout $((20 * SLOW)) python3 "$SBXFS_TOP/tests/engine/fsop.py" read "$(box a)/out/g" || true)
	case $got in EHOSTDOWN* | ETIMEDOUT*) ;; *) fail "a read from a dead engine gave '$got'" ;; esac
	DOCKER_HOST=$ENGINE_HOST proxy_up
	wait_for 20 timeout 10 cat "$(box a)/out/g"
	same after "$(hash_here a out/g)" "$g"
	wait_for 5 thawed a
}

# A guest that is root can hang the engine on its own container: a fifo where the engine looks up names.
test_a_fifo_for_passwd_hurts_only_its_own_sandbox() {
	engine_is docker28 && skip 'this engine does not read the guest passwd'
	sandbox_start a out/
	RUN_OPTIONS=(--user 0)
	sandbox_start evil out/
	plant_random a out/f 100000
	plant_random evil out/f 100000
	mount_up
	in_guest_as_root evil sh -c 'rm /etc/passwd; mkfifo /etc/passwd'
	trap 'unplug evil' EXIT
	timeout -s INT -k 2 4 cat "$(box evil)/out/f" >/dev/null 2>&1 || true
	local began
	began=$(now_ms)
	same 'another sandbox' "$(hash_here a out/f)" "$(hash_there a out/f)"
	timeout $((3 * SLOW)) ls "$MNT" >/dev/null || fail 'ls of the root was blocked'
	within 5000 $began 'what others read'
}

# Closing early cancels the transfer.
test_closing_early_cancels() {
	sandbox_start a out/
	in_guest a sh -c 'mkdir -p /work/out; truncate -s 900M /work/out/hole'
	mount_up
	local before
	before=$(body_bytes)
	head -c 100 "$(box a)/out/hole" >/dev/null
	sleep 3
	[ $(($(body_bytes) - before)) -lt 300000000 ] || fail "$(($(body_bytes) - before)) bytes moved for a read of 100"
}

# One version: an open file keeps its snapshot, the next open sees the new one, and never a mixture.
test_one_version_at_a_time() {
	sandbox_start a out/
	plant_random a out/f 300000
	mount_up
	local old
	old=$(hash_there a out/f)
	exec 5<"$(box a)/out/f"
	same first "$(head -c 1000 <&5 | sha256sum)" "$(head -c 1000 "$(guest_root a)/work/out/f" | sha256sum)"
	sleep 0.1
	plant_random a out/f 200000
	wait_for 6 bash -c '[ "$(stat -c %s "$1")" = 200000 ]' sh "$(box a)/out/f"
	same new "$(hash_here a out/f)" "$(hash_there a out/f)"
	same 'the open one' "$(timeout $((10 * SLOW)) python3 -c '
import hashlib, os
print(hashlib.sha256(os.pread(5, 1 << 20, 0)).hexdigest())' 5<&5)" "$old"
}

# Bug cases 111, 112: an open file is a snapshot, so `tail -f` shows what was there and no junk; who opens it again
# (`tail -F`, watch cat) or asks for its size sees the growth; a command in the guest follows it.
test_a_file_that_grows() {
	sandbox_start a out/
	in_guest a sh -c 'mkdir -p out; echo line 0 >out/log'
	mount_up
	in_guest a sh -c 'i=1; while [ $i -le 400 ]; do echo line $i >>out/log; i=$((i + 1)); sleep 0.2; done' &
	timeout 4 tail -f "$(box a)/out/log" >f 2>/dev/null &
	timeout $((40 * SLOW)) tail -F --max-unchanged-stats=1 "$(box a)/out/log" >F 2>F.said &
	timeout $((40 * SLOW)) "$SBXFS" exec "$(full a)" --no-stdin -- tail -n 1 -f out/log >followed 2>/dev/null &
	local before after
	before=$(stat -c %s "$(box a)/out/log")
	sleep 3
	after=$(stat -c %s "$(box a)/out/log")
	[ "$after" -gt "$before" ] || fail "polling saw no growth: $before, then $after"
	wait_for 10 grep -q "$(in_guest a tail -n 1 out/log)" "$(box a)/out/log"
	sleep 4
	wait_for 25 grep -qE '^line [2-9][0-9]' F
	wait_for 25 grep -qE '^line [2-9][0-9]' followed
	local file
	for file in f F followed; do
		same "no junk in $file" "$(LC_ALL=C grep -cvE '^line [0-9]{1,3}$' $file || true)" 0
	done
	lacks 'what tail -F said' "$(cat F.said)" truncated
	# Through the mount every line is there once it is opened again.
	same 'no hole' "$(awk '{ if ($2 != NR - 1) print }' "$(box a)/out/log")" ''
}

test_a_removed_sandbox_is_stale_not_absent() {
	sandbox_start a out/
	plant_random a out/f 100000
	plant_random a out/g 100000
	mount_up
	local hash
	hash=$(hash_there a out/f)
	same before "$(hash_here a out/f)" "$hash"
	exec 5<"$(box a)/out/f" 6<"$(box a)/out"
	sandbox_remove a
	wait_for 2 bash -c '! ls "$1" | grep -qxF "$2"' sh "$MNT" "$(full a)"
	same 'what the spool holds' "$(timeout $((10 * SLOW)) python3 -c '
import hashlib, os
print(hashlib.sha256(os.pread(5, 1 << 20, 0)).hexdigest())')" "$hash"
	same 'a path below an open directory' "$(timeout $((10 * SLOW)) python3 -c '
import errno, os
try:
    os.open("g", os.O_RDONLY, dir_fd=6)
    print("opened")
except OSError as e:
    print(errno.errorcode[e.errno] in ("ESTALE", "ENOENT"))')" True
	expect_errno ENOENT stat "$(box a)"
}

# A reader of a file that never ends where it should: grown, cut or replaced while it moves, the reader gets one version
# or an error.
test_a_file_that_keeps_changing() {
	sandbox_start a out/
	in_guest a sh -c 'mkdir -p /work/out; cat >/work/loop.sh <<E
while :; do yes A | head -c 400000 >/work/out/f; yes B | head -c 300000 >/work/out/f; done
E
setsid sh /work/loop.sh >/dev/null 2>&1 &'
	mount_up
	timeout $((30 * SLOW)) python3 -c '
import sys, time
until, reads, errors = time.time() + 8, 0, {}
while time.time() < until:
    try:
        data = open(sys.argv[1], "rb").read()
        kinds = set(data) - {10}
        if len(kinds) > 1:
            sys.exit("a mixture of versions, %d bytes" % len(data))
        reads += 1
    except OSError as e:
        errors[e.errno] = errors.get(e.errno, 0) + 1
        if e.errno not in (116, 5, 2):
            sys.exit("unexpected: %s" % e)
print(reads, "reads", errors)
sys.exit(reads == 0)' "$(box a)/out/f"
}

# Two versions of one size within one second, listings that know times to the second before and after the newer one: what was
# read or listed of the first is never taken for the second. With their times set, so that the second is long enough for all of it.
test_two_versions_within_a_second() {
	local base second path paths=(out/listed/f out/read/f in/read/f)
	version() {
		for path in "${paths[@]}"; do
			mkdir -p "$(dirname "$base/$path")"
			printf %s "$1" >"$base/$path"
			touch -d "@$2" "$base/$path"
		done
		chown -R 1000:1000 "$base/out" "$base/in"
	}
	sandbox_start a out/
	base=$(guest_root a)/work
	mount_up -o entry_timeout=3
	second=$(($(date +%s) + 3))
	version one $second.2
	same 'the first' "$(cat "$(box a)"/{out,in}/read/f)" oneone
	find "$(box a)"/{out,in} -ls >/dev/null
	version two $second.7
	sleep 3.2
	wait_for 10 bash -c '[ "$(date +%s)" -ge "$1" ]' sh $((second + 2))
	find "$(box a)"/{out,in} -ls >/dev/null
	for path in "${paths[@]}"; do
		same "$path" "$(cat "$(box a)/$path")" two
		cmp "$(box a)/$path" "$base/$path"
	done
}
