# test_transfer.sh: `sbxfs put` and `sbxfs get`: bulk in and out, and what is planted on either side.

start() { sandbox_start a out/ report.json link; }
put() { expect_exit 0 sbxfs put "$(full a)" "$@"; }
# Names and bytes of a tree: one line for all, since busybox and GNU print a name with a newline differently.
TREE='find . | LC_ALL=C sort; find . -type f -print0 | LC_ALL=C sort -z | xargs -0 cat | sha256sum'
tree_of() { (cd "$1" && sh -c "$TREE"); }

# Progress is for people: on a terminal it is drawn and wiped away, elsewhere stderr has the sum alone, and with --quiet
# nothing (bug case 123).
test_progress_on_a_terminal_only() {
	start
	head -c 20000000 /dev/urandom >big
	local in_a_terminal
	in_a_terminal() { timeout 60 script -qec "$1" /dev/null </dev/null; }
	local lines
	lines=$(in_a_terminal "'$SBXFS' put $(full a) big" | tr '\r' '\n' | grep -oE '^[0-9]+ files, [0-9]+ MiB' | uniq)
	has put "$lines" '1 files, 19 MiB'
	[ "$(grep -c '^0 files, [1-9]' <<<"$lines")" -gt 4 ] || fail "put said nothing while it moved: $lines"
	in_guest a sh -c 'mkdir -p out; mv in/big out/big'
	has get "$(in_a_terminal "'$SBXFS' get $(full a) out/big --to got")" ' MiB '
	cmp big got/big
	put big
	lacks 'stderr of put' "$ERR" $'\r'
	has 'the sum of put' "$ERR" '1 file, 20000000 bytes in '
	expect_exit 0 sbxfs get "$(full a)" out/big --to again
	lacks 'stderr of get' "$ERR" $'\r'
	has 'the sum of get' "$ERR" '1 file, 20000000 bytes in '
	put big --quiet
	same 'quiet put' "$OUT$ERR" ''
	same 'quiet on a terminal' "$(in_a_terminal "'$SBXFS' get -q $(full a) out/big --to third")" ''
	# A failure is no noise.
	expect_exit 3 sbxfs get "$(full a)" out/none --to got -q
	has 'a failure' "$ERR" out/none
}

# Bug cases 122, 124: one file as bytes, all of them or none.
test_get_to_standard_output() {
	start
	in_guest a sh -c 'mkdir -p out/d; printf "a\\000\\377\\r\\n" >out/odd; : >out/none; head -c 3000000 /dev/urandom >out/big; ln -s big out/link; mkfifo out/pipe; echo s >secret'
	get() { timeout -k 2 60 "$SBXFS" get "$(full a)" "$@" </dev/null; }
	touch began
	same bytes "$(get out/odd --to - 2>said | od -An -tx1 | tr -d ' \n')" 6100ff0d0a
	has 'the sum' "$(cat said)" '1 file, 5 bytes in '
	same empty "$(get out/none --to - | wc -c)" 0
	same digest "$(get out/big --to - | sha256sum | cut -d' ' -f1)" "$(in_guest a sha256sum out/big | cut -d' ' -f1)"
	same 'a reader that goes away' "$(get out/big --to - | head -c 3 | wc -c)" 3
	no_byte() { # CODE WORD…
		expect_exit "$1" sbxfs get "$(full a)" "${@:2}" --to -
		same "bytes of ${*:2}" "$OUT" ''
	}
	no_byte 6 out/d
	no_byte 4 out/link
	no_byte 6 out/pipe
	no_byte 3 out/nothing
	no_byte 12 secret
	no_byte 7 out/big --max-file 2999999
	has 'which ceiling' "$ERR" '3000000 bytes, the ceiling of one file is 2999999 (--max-file)'
	no_byte 2 out/odd out/none
	no_byte 2 out/odd --force
	expect_exit 2 sbxfs get "$(full a)" out/odd --to - --json
	same 'nothing on this host' "$(find . -type f ! -path './config/*' ! -path './runtime/*' ! -path './cache/*' -newer began | grep -vE '^./(pid.a|said|stderr|out|why)$' || true)" ''
	expect_exit 0 sbxfs get "$(full a)" out/odd --to ./-
	cmp -n 2 ./-/odd <(printf 'a\0')
}

# Bug case 122: of a directory only what matches; a path is never a pattern.
test_get_what_matches() {
	start
	in_guest a sh -c 'mkdir -p out/d/e out/f; cd out; echo 1 >1.csv; echo 2 >d/e/2.csv; echo 3 >d/3.txt; echo 4 >"d/*.csv"; ln -s 1.csv d/link.csv; ln -s 1.csv d/link.txt'
	expect_exit 13 sbxfs get "$(full a)" out --match '*.csv' --to got
	same landed "$(cd got && find . | LC_ALL=C sort | paste -sd' ')" '. ./out ./out/1.csv ./out/d ./out/d/*.csv ./out/d/e ./out/d/e/2.csv'
	has 'what matches and is no file' "$ERR" out/d/link.csv
	lacks 'what does not match' "$ERR" link.txt
	expect_exit 0 sbxfs get "$(full a)" out/d --match '[23].*' --match '1*' --to got2
	same 'either pattern' "$(cd got2 && find . -type f | LC_ALL=C sort | paste -sd' ')" './d/3.txt ./d/e/2.csv'
	expect_exit 0 sbxfs get "$(full a)" 'out/d/*.csv' --to got3
	same 'a path' "$(cd got3 && find . -type f)" './*.csv'
	# What does not match counts for no ceiling.
	expect_exit 0 sbxfs get "$(full a)" out --match 3.txt --max-files 1 --to got4
	expect_exit 3 sbxfs get "$(full a)" out --match '*.png' --to got5
	[ ! -e got5 ] || fail 'a directory for nothing'
}

# Bug case 124: a stream whose size is known at its end only; bug case 120: the ceiling is met before anything is sent.
test_put_standard_input() {
	start
	local size
	from_stdin() { timeout -k 2 60 "$SBXFS" put "$(full a)" - "$@"; }
	for size in 0 1 65536 65537 3000001; do
		head -c $size /dev/urandom >sent
		(sleep 0.1; cat sent) | from_stdin --as "f$size" --to in/deep -q
		same "$size" "$(in_guest a sha256sum "in/deep/f$size" | cut -d' ' -f1)" "$(sha256sum <sent | cut -d' ' -f1)"
	done
	same owner "$(in_guest a stat -c '%u:%g %a' in/deep/f1)" "1000:1000 $(printf %o $((0666 & ~0$(umask))))"
	same document "$(echo text | from_stdin --as f --json | jq -c .)" '{"files":1,"directories":0,"bytes":5}'
	refused() { # CODE OPTION…
		local status=0
		ERR=$(head -c 101 /dev/zero | from_stdin "${@:2}" 2>&1 >/dev/null) || status=$?
		same "code of ${*:2}" $status "$1"
	}
	refused 7 --as big --max-file 100
	has 'which ceiling' "$ERR" 'more than 100 bytes, the ceiling of one file (--max-file)'
	refused 0 --as fits --max-file 101
	refused 2
	has 'what is missing' "$ERR" --as
	refused 2 --as a/b
	refused 2 --as ..
	refused 2 other --as f
	refused 8 --as f --to out
	same 'what landed' "$(in_guest a sh -c 'ls in | paste -sd" "')" 'deep f fits'
	# It does not end: the bound holds, and so does Ctrl-C.
	local status=0
	from_stdin --as late --timeout 1 2>said < <(exec sleep 8) || status=$?
	same 'the bound' $status 9
	has 'what it waited for' "$(cat said)" 'standard input did not end'
	# One source under another name, a directory as well.
	mkdir tree && echo x >tree/x
	put tree --as other
	same renamed "$(in_guest a cat in/other/x)" x
}

# Bug case 124: from one sandbox to another.
test_from_sandbox_to_sandbox() {
	start
	sandbox_start b out/
	in_guest a sh -c 'mkdir -p out; head -c 20000000 /dev/urandom >out/f'
	local digest
	digest=$(in_guest a sha256sum out/f | cut -d' ' -f1)
	"$SBXFS" get "$(full a)" out/f --to - -q </dev/null | timeout -k 2 60 "$SBXFS" put "$(full b)" - --as f -q
	same 'by the commands' "$(in_guest b sha256sum in/f | cut -d' ' -f1)" "$digest"
	mount_up -o "staging_dir=$SBXFS_TEST_DIR/staging"
	timeout -k 2 60 cp "$(box a)/out/f" "$(box b)/in/g"
	same 'through a mount' "$(in_guest b sha256sum in/g | cut -d' ' -f1)" "$digest"
	same owners "$(in_guest b stat -c %u:%g in/f in/g | sort -u)" 1000:1000
}

# peak_of CMD…: the most memory it took, in KiB.
peak_of() {
	timeout -k 2 $((100 * SLOW)) python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}

test_put_takes_little_memory() {
	start
	head -c 200000000 /dev/zero >big
	mkdir many
	python3 -c '
for i in range(10000):
    open(f"many/{i}", "wb").write(b"x" * 1024)'
	local each peak
	for each in big many; do
		peak=$(peak_of "$SBXFS" put "$(full a)" $each)
		echo "put $each: $peak KiB"
		[ "$peak" -le 65536 ] || fail "put $each took $peak KiB"
	done
	same size "$(in_guest a stat -c %s /work/in/big)" 200000000
	same count "$(in_guest a sh -c 'ls /work/in/many | wc -l')" 10000
}

test_put_a_tree_owned_by_the_guest() {
	start
	mkdir -p tree/deep/er 'tree/with space'
	echo one >tree/one
	head -c 300000 /dev/urandom >tree/deep/er/random
	printf 'x' >$'tree/with space/new\nline'
	: >tree/empty
	chmod 0750 tree/deep
	chmod 06711 tree/one
	touch -d @1700000001 tree/one
	put tree
	same bytes "$(in_guest a sh -c "cd /work/in/tree && $TREE")" "$(tree_of tree)"
	same owners "$(in_guest a sh -c 'find /work/in -exec stat -c %u:%g {} + | sort -u')" 1000:1000
	same modes "$(in_guest a stat -c %a /work/in/tree/one /work/in/tree/deep | tr '\n' ' ')" '711 750 '
	same time "$(in_guest a stat -c %Y /work/in/tree/one)" 1700000001
}

test_put_merges_and_replaces() {
	start
	in_guest a sh -c 'mkdir -p /work/in/tree && chmod 0700 /work/in/tree && echo theirs >/work/in/tree/kept && echo old >/work/in/tree/one'
	mkdir tree && echo new >tree/one && chmod 0755 tree
	put tree
	same kept "$(in_guest a cat /work/in/tree/kept /work/in/tree/one | tr '\n' ' ')" 'theirs new '
	same mode "$(in_guest a stat -c %a /work/in/tree)" 700
	put tree/one --to in/elsewhere
	same elsewhere "$(in_guest a cat /work/in/elsewhere/one)" new
}

test_put_refuses_what_is_no_file_before_anything_is_sent() {
	start
	mkdir tree && echo x >tree/a && ln -s /etc/passwd tree/z
	expect_exit 12 sbxfs put "$(full a)" tree
	has sentence "$ERR" 'tree/z is a symbolic link'
	expect_exit 12 sbxfs put "$(full a)" tree/z
	rm tree/z && mkfifo tree/z
	expect_exit 12 sbxfs put "$(full a)" tree
	expect_exit 2 sbxfs put "$(full a)" nosuch
	expect_exit 2 sbxfs put "$(full a)" .
	same nothing "$(in_guest a sh -c 'ls /work/in 2>/dev/null || true')" ''
}

# MAF-100: parents that nobody announced are made, 0755; a file is 0644 as here; what comes second replaces all of what came first.
test_put_makes_parents() {
	start
	echo 'a long first content' >f
	chmod 0644 f
	put f --to in/new/deep
	same made "$(in_guest a stat -c '%a %u' /work/in/new /work/in/new/deep /work/in/new/deep/f | tr '\n' ' ')" '755 1000 755 1000 644 1000 '
	echo short >f
	put f --to in/new/deep
	same replaced "$(in_guest a cat /work/in/new/deep/f)" short
}

# MAF-102: outside, through a link, onto a link, below a plain file: refused, and nothing is made anywhere.
test_put_stays_in_the_in_dir() {
	local before
	start
	echo x >f
	in_guest a sh -c 'mkdir -p /work/in /work/victim && echo target >/work/victim/target && ln -s ../victim /work/in/link && mkdir /work/in/d &&
		ln -s ../../victim/target /work/in/d/f && echo plain >/work/in/plain'
	before=$(in_guest a sh -c "cd /work && $TREE")
	expect_exit 8 sbxfs put "$(full a)" f --to out
	expect_exit 4 sbxfs put "$(full a)" f --to in/../out
	expect_exit 4 sbxfs put "$(full a)" f --to /work/in
	expect_exit 4 sbxfs put "$(full a)" f --to in/link
	expect_exit 4 sbxfs put "$(full a)" f --to in/link/new
	expect_exit 4 sbxfs put "$(full a)" f --to in/d
	expect_exit 5 sbxfs put "$(full a)" f --to in/plain
	expect_exit 5 sbxfs put "$(full a)" f --to in/plain/new
	same 'names and bytes' "$(in_guest a sh -c "cd /work && $TREE")" "$before"
}

test_put_ten_thousand_files_exactly_once() {
	start
	mkdir many
	python3 -c '
for i in range(10000):
    open(f"many/{i}", "wb").write(b"%07d" % i * 146 + b"xx")'
	local began
	began=$(now_ms)
	put many
	echo "10000 files of 1 KiB in $(($(now_ms) - began)) ms"
	same count "$(in_guest a sh -c 'ls /work/in/many | wc -l')" 10000
	same bytes "$(in_guest a sh -c 'cd /work/in/many && ls | sort | xargs cat | sha256sum')" \
		"$(cd many && ls | LC_ALL=C sort | xargs cat | sha256sum)"
}

test_get_files_and_trees() {
	start
	in_guest a sh -c 'mkdir -p /work/out/sub/er && cd /work/out && echo {} >/work/report.json && head -c 500000 /dev/urandom >sub/er/random &&
		: >empty && mkdir none && chmod 4755 empty && chmod 0 sub/er/random && touch -d @1700000001 /work/report.json'
	expect_exit 0 sbxfs get "$(full a)" report.json out --to got --json
	same digest "$(jq -r '.[] | select(.path == "out/sub/er/random") | .sha256' <<<"$OUT")" \
		"$(in_guest_as_root a sha256sum /work/out/sub/er/random | cut -d' ' -f1)"
	same bytes "$(sha256sum <got/out/sub/er/random | cut -d' ' -f1)" \
		"$(in_guest_as_root a sha256sum /work/out/sub/er/random | cut -d' ' -f1)"
	same modes "$(stat -c %a got/out/empty got/out/sub/er/random | tr '\n' ' ')" '755 600 '
	same time "$(stat -c %Y got/report.json)" 1700000001
	[ -d got/out/none ] || fail 'an empty directory is missing'
	expect_exit 0 sbxfs get "$(full a)" out/sub/er/ --to got2
	[ -f got2/er/random ] || fail 'a part of a directory did not land under its own name'
	same 'nothing beside' "$(ls -A got2)" er
}

# OUT-04, OUT-08: a missing one, a link, an undeclared one, each by its own code.
test_OUT_01_a_refusal_delivers_nothing() {
	start
	in_guest a sh -c 'mkdir -p /work/out && echo 1 >/work/out/1 && echo 2 >/work/report.json && ln -s /etc/passwd /work/link && echo s >/work/secret'
	expect_exit 3 sbxfs get "$(full a)" report.json out/none out/1 --to got
	expect_exit 4 sbxfs get "$(full a)" report.json link --to got
	expect_exit 12 sbxfs get "$(full a)" report.json secret --to got
	expect_exit 4 sbxfs get "$(full a)" out/../secret --to got
	expect_exit 7 sbxfs get "$(full a)" report.json out --max-file 1 --to got
	[ ! -e got ] || fail "something was delivered: $(find got)"
}

test_get_leaves_links_in_a_tree_out_and_says_so() {
	start
	in_guest a sh -c 'mkdir -p /work/out/d && cd /work/out && echo fine >d/plain && ln -s /etc/passwd d/abs && ln -s / d/root && mkfifo d/pipe'
	expect_exit 13 sbxfs get "$(full a)" out --to got
	has refused "$ERR" 'out/d/abs'
	same landed "$(cd got && find . ! -type d)" ./out/d/plain
	# As a document it is one, whatever was refused.
	expect_exit 13 sbxfs get "$(full a)" out --to other --json
	same documents "$(jq -s length <<<"$OUT")" 1
	same refused "$(jq -r '[.[] | select(.refused)] | length' <<<"$OUT")" 3
	has 'the sentence' "$ERR" 'sbxfs get:'
}

# OUT-09: a link at the destination is replaced or refused, never followed.
test_get_replaces_only_by_force_and_follows_nothing_planted() {
	start
	in_guest a sh -c 'mkdir -p /work/out && echo theirs >/work/out/f && echo {} >/work/report.json'
	mkdir -p got victim && echo mine >victim/f
	ln -s ../victim got/out
	expect_exit 2 sbxfs get "$(full a)" out --to got
	expect_exit 2 sbxfs get "$(full a)" out --to got --force
	same victim "$(cat victim/f)" mine
	rm got/out && ln -s ../victim/f got/report.json
	expect_exit 2 sbxfs get "$(full a)" report.json --to got
	expect_exit 0 sbxfs get "$(full a)" report.json --to got --force
	[ ! -L got/report.json ] || fail 'the planted link is still there'
	same victim "$(cat victim/f)" mine
	# Premise: a tool that opens the name is led astray by the same link.
	rm got/report.json && ln -s ../victim/f got/report.json
	in_guest a cat /work/report.json >got/report.json
	same premise "$(cat victim/f)" '{}'
}

# OUT-09: the destination becomes a link and a directory again, all the time: whatever of it lands, nothing does outside.
test_OUT_09_links_swapped_at_the_destination() {
	start
	in_guest a sh -c 'mkdir -p /work/out && cd /work/out && for i in $(seq 40); do echo theirs >f$i; done'
	mkdir -p got/out victim
	ln -s ../victim got/link
	python3 -c '
import ctypes
swap = ctypes.CDLL(None).renameat2
while swap(-100, b"got/out", -100, b"got/link", 2) == 0:  # RENAME_EXCHANGE
    pass' </dev/null &
	local swapper=$! status whole=0 refused=0
	for _ in $(seq 12); do
		status=0
		sbxfs get "$(full a)" out --to got --force 2>said || status=$?
		case $status in 0) whole=$((whole + 1)) ;; 2 | 13 | 14) refused=$((refused + 1)) ;; *) fail "exit $status: $(cat said)" ;; esac
	done
	echo "12 times: $whole landed whole, $refused did not"
	[ $refused -gt 0 ] || fail 'no swap was met'
	same 'outside' "$(find victim -mindepth 1)" ''
	same 'staged files left' "$(find got -name '.sbxfs-*')" ''
	# Premise: who opens the name is led astray by the same swaps.
	echo x >f
	for _ in $(seq 500); do cp f got/out/led 2>/dev/null || true; [ ! -e victim/led ] || break; done
	kill -KILL $swapper
	wait $swapper 2>/dev/null || true
	[ -e victim/led ] || fail 'premise: a copy by name landed in the victim'
}

test_get_five_hundred_files_quickly() {
	start
	in_guest a sh -c 'mkdir -p /work/out/many && cd /work/out/many && i=0; while [ $i -lt 500 ]; do head -c 1024 /dev/zero >$i; i=$((i+1)); done'
	local began
	began=$(now_ms)
	expect_exit 0 sbxfs get "$(full a)" out --to got
	echo "500 files in $(($(now_ms) - began)) ms"
	same count "$(ls got/out/many | wc -l)" 500
	[ $(($(now_ms) - began)) -lt 10000 ] || fail "it took $(($(now_ms) - began)) ms"
}

# Too large to come with the listings: read by one archive, but for what that cannot bring (a second name).
test_get_a_tree_of_larger_files() {
	start
	in_guest a sh -c 'mkdir -p /work/out/d/e && cd /work/out && for i in $(seq 12); do head -c $((i * 30000)) /dev/urandom >d/$i; done &&
		cp d/3 d/e/last && ln d/12 d/e/second && printf odd >"d/$(printf "\377")" && touch -d @1700000001 d/7 && chmod 0640 d/8'
	expect_exit 0 sbxfs get "$(full a)" out --to got --json
	same rows "$(jq length <<<"$OUT")" 15
	same digest "$(jq -r '.[] | select(.path == "out/d/11") | .sha256' <<<"$OUT")" "$(sha256sum <got/out/d/11 | cut -d' ' -f1)"
	same bytes "$(cd got/out && find d -type f -print0 | LC_ALL=C sort -z | xargs -0 cat | sha256sum)" \
		"$(in_guest a sh -c 'cd /work/out && find d -type f -print0 | LC_ALL=C sort -z | xargs -0 cat | sha256sum')"
	same time "$(stat -c %Y got/out/d/7)" 1700000001
	same mode "$(stat -c %a got/out/d/8)" 640
	in_guest a sh -c 'ln -s /etc/passwd /work/out/d/link'
	expect_exit 13 sbxfs get "$(full a)" out --to got2
	has refused "$ERR" 'out/d/link'
	same landed "$(find got2 -type f | wc -l)" 15
	expect_exit 7 sbxfs get "$(full a)" out --max-file 300000 --to got3
	[ ! -e got3 ] || fail 'something landed over the ceiling'
}

test_get_from_an_exited_sandbox() {
	start
	in_guest a sh -c 'echo last >/work/report.json'
	d kill "$(full a)" >/dev/null
	expect_exit 0 sbxfs get "$(full a)" report.json --to got
	same bytes "$(cat got/report.json)" last
}
