# test_outputs.sh: what comes out: `get` and `run --collect`, in phases, whole or not at all.
. "$SBXFS_TOP/tests/lifecycle/life.sh"

# empty DIR: nothing is in it, or it is not there.
empty() { [ ! -e "$1" ] || [ -z "$(find "$1" -mindepth 1)" ] || fail "something landed: $(find "$1" -mindepth 1 | head -n 3)"; }

# OUT-01, OUT-04, OUT-05, MAF-86: checks, then stats, then reads, then delivery: one refused of five and none lands.
test_phases() {
	make a --output out/ --output one --output two --output link --output fifo --output dir --output missing --output '*.txt'
	has 'a hint on patterns' "$ERR" literal
	guest a sh -c 'mkdir out dir; echo 1 >one; echo 2 >two; ln -s /etc/passwd link; mkfifo fifo; echo x >out/x; echo star >"*.txt"; echo b >b.txt'
	local code path
	for path in 'missing 3' 'link 4' 'fifo 6' 'dir 6' 'undeclared 12' '../one 4' '/work/one 4' 'out/x/y 5'; do
		code=${path##* } path=${path% *}
		expect_exit "$code" sbxfs get "$(full a)" one two "$path" --to got
		one_sentence
		empty got
	done
	expect_exit 0 sbxfs get "$(full a)" one two '*.txt' out --to got --json
	same rows "$(field '[.[].path] | join(" ")')" 'one two *.txt out/x'
	same 'sizes and digests' "$(field '.[0] | "\(.size) \(.sha256)"')" "2 $(echo 1 | sha256sum | cut -d' ' -f1)"
	# MAF-92: a pattern is a name.
	same literal "$(cat 'got/*.txt') $(ls got | wc -l)" 'star 4'
}

# OUT-06, MAF-07, MAF-106: ceilings refuse from the stat, before a byte moves, equality allowed, per file, count and total,
# in both directions.
test_ceilings() {
	run_json 0 --output f --collect got --max-total 1000 --max-files 1 -- sh -c 'head -c 1000 /dev/zero >f'
	same size "$(stat -c %s got/f)" 1000
	run_json 125 --output f --collect big --max-total 1000 -- sh -c 'head -c 1001 /dev/zero >f'
	has error "$(field .error)" collect:
	empty big
	run_json 125 --output d/ --collect many --max-files 2 -- sh -c 'mkdir d; touch d/1 d/2 d/3'
	empty many
	head -c 1001 /dev/zero >in
	run_json 7 --in in --max-total 1000 -- true
	has error "$(field .error)" 'ceiling of 1000'
	make a --output f
	guest a sh -c 'head -c 1000 /dev/zero >f'
	expect_exit 0 sbxfs get "$(full a)" f --to exact --max-file 1000
	expect_exit 7 sbxfs get "$(full a)" f --to over --max-file 999
	one_sentence
	says f
	empty over
}

# MAF-07, MAF-106: the ceilings of the config file hold for put and for get, each direction by its own keys: at the ceiling it
# goes, over it by one nothing does, no archive is sent or asked for, and the sentence says which.
test_MAF_106_ceilings_of_put_and_get() {
	printf '[limits]\nin_max_file = 1000\nin_max_total = 1500\nin_max_files = 2\nout_max_file = 100\nout_max_total = 150\nout_max_files = 2\n' >limits.ini
	make a --output out/
	guest a sh -c 'mkdir -p out/at out/file out/total out/files; cd out; z() { head -c "$1" /dev/zero >"$2"; }
		z 100 at/1; z 50 at/2; z 101 file/1; z 100 total/1; z 51 total/2; touch files/1 files/2 files/3'
	z() { head -c "$1" /dev/zero >"$2"; }
	mkdir at file total files
	z 1000 at/1; z 500 at/2; z 1001 file/1; z 1000 total/1; z 501 total/2; touch files/1 files/2 files/3
	put() { sbxfs put "$(full a)" --config limits.ini "$@"; }
	get() { sbxfs get "$(full a)" --config limits.ini "$@"; }
	liar_up
	local over
	for over in 'file 1001' 'total 1501' 'files 3'; do
		expect_exit 7 put "${over% *}"
		one_sentence
		says ceiling "${over#* }"
	done
	for over in 'file 101' 'total 151' 'files 3'; do
		expect_exit 7 get "out/${over% *}" --to got
		one_sentence
		says ceiling "${over#* }"
	done
	same 'archives sent' "$(requests 'PUT .*/archive')" 0
	empty got
	# An option may ask for less, not for more.
	expect_exit 7 put at --max-files 1
	expect_exit 7 get out/at --to got --max-total 149
	for over in --max-file=1001 --max-total=1501 --max-files=3; do
		expect_exit 12 put at "$over"
		says "${over%=*}" 'goes in'
	done
	expect_exit 12 get out/at --to got --max-file 101
	says --max-file 'goes out'
	same 'archives sent' "$(requests 'PUT .*/archive')" 0
	empty got
	expect_exit 0 put at
	expect_exit 0 get out/at --to got
	liar_down
	same landed "$(ls got/at | wc -l)" 2
	guest a ls in in/at
	same 'in the sandbox' "$(tr '\n' ' ' <<<"$OUT")" 'in: at  in/at: 1 2 '
}

# OUT-02: declarations are checked as one, by the rule, before anything is made.
test_declarations_checked_first() {
	local path
	for path in '' . .. ../x a/../b a//b /abs ./x in/x in "$(printf 'bad\xff')" "$(printf '%0256d' 0)"; do
		run_json 2 --output "$path" --collect got -- true
		has "the sentence on '$path'" "$(field .error)" output
	done
	run_json 2 --output a --output a/ -- true
	run_json 2 --output a --output a/b -- true
	empty got
	[ ! -e got ] || fail 'an empty directory was left'
	none_left
}

# OUT-03, MAF-81, MAF-102: each rule for a declared name refuses for its own reason, before anything is made. What the guest
# itself writes below a declared directory may have any name.
test_OUT_03_the_rule_of_names() {
	local name reason ka
	liar_up
	while IFS='|' read -r name reason; do
		name=$(printf '%b' "$name")
		run_json 2 --output "$name" --collect got -- true
		has "the sentence on '$name'" "$(field .error)" "$reason"
		expect_exit 2 sbxfs create --image "$IMAGE" --scope "$PREFIX" --output "$name"
		says --output "$reason"
	done <<-'END'
		|is empty
		/abs|absolute
		a/../b|".." part
		../a|".." part
		a/./b|"." part
		a//b|empty part
		a\\b|backslash
		..\\a|backslash
		a\tb|control character
		a\0033[1m|control character
		a\0001|control character
		bad\0377|not UTF-8
	END
	# Counted in the bytes that are declared: 255 of them pass, also where composing them would make more (U+0958).
	run_json 2 --output "$(printf 'x%.0s' $(seq 256))" -- true
	has length "$(field .error)" 'has at most 255'
	same 'creates' "$(requests 'POST .*/containers/create')" 0
	ka=$(printf '\340\245\230%.0s' $(seq 85))
	run_json 0 --output "$ka" --collect got -- sh -c 'echo x >"$1"' sh "$ka"
	same landed "$(cat "got/$ka")" x
	# Lower case is not folded further: these are two.
	run_json 0 --output ß --output ss --collect two -- touch ß ss
	same landed "$(ls two | wc -l)" 2
	run_json 0 --output out/ --collect any -- sh -c 'mkdir out; echo x >"out/a\\b"; echo x >"$(printf "out/a\\tb")"'
	same landed "$(ls any/out | wc -l)" 2
	liar_down
	none_left
}

# OUT-04: a required output that is missing is a failure of its own kind and code, and nothing else lands; another may be
# missing. The command's own failure stays the first.
test_OUT_04_required_and_optional() {
	run_json 123 --output fine --require-output 'must/' --collect got -- sh -c 'echo x >fine'
	same kind "$(field '"\(.success) \(.error_kind) \(.exit_code)"')" 'false output-missing 123'
	has error "$(field .error)" 'the required output "must"'
	[ ! -e got ] || fail "something landed: $(find got)"
	run_json 7 --require-output must --collect got -- sh -c 'exit 7'
	has error "$(field .error)" 'status 7; then collect: the required output'
	run_json 124 --timeout 3 --require-output must --collect got -- sleep 50
	run_json 0 --output none --require-output 'must/' --collect got -- sh -c 'mkdir must; echo x >must/x'
	same 'landed, missing' "$(cat got/must/x) $(field '.missing | join(" ")')" 'x none'
	run_json 125 --require-output link --collect other -- ln -s /etc/passwd link
	same kind "$(field .error_kind)" confined
	run_json 2 --require-output must -- true
	run_json 2 --output must --require-output must --collect got -- true
	none_left
}

# OUT-02: two that would land at one name where case is folded are refused before anything is made, not when both are lost.
test_OUT_02_names_that_land_on_one_another() {
	local pair
	liar_up
	for pair in 'A a' 'out/x OUT/x' 'd/ D'; do
		run_json 2 --output "${pair% *}" --output "${pair#* }" --collect got -- touch A a
		has "the sentence on $pair" "$(field .error)" 'both land at'
	done
	same 'creates' "$(requests 'POST .*/containers/create')" 0
	[ ! -e got ] || fail 'a directory was made for nothing'
	# Where nothing lands they are two files.
	run_json 0 --output A --output a -- touch A a
	liar_down
	none_left
}

# OUT-09: no name is landed through a link, none is replaced unasked; what was not written is said.
test_landing() {
	mkdir got victim
	ln -s "$SBXFS_TEST_DIR/victim" got/out
	run_json 2 --output out/ --collect got -- sh -c 'mkdir out; echo x >out/x'
	empty victim
	echo mine >victim/f
	run_json 2 --output f --collect victim -- sh -c 'echo theirs >f'
	same 'not replaced' "$(cat victim/f)" mine
	run_json 0 --output f --collect victim --force -- sh -c 'echo theirs >f'
	same replaced "$(cat victim/f)" theirs
	# Refused before it began: neither a sandbox nor an empty directory.
	run_json 2 --output f --collect "$SBXFS_TEST_DIR/fresh" --in nowhere -- true
	[ ! -e fresh ] || fail 'an empty directory was left'
	run_json 0 --output f --output g --collect part -- sh -c 'echo x >f; ln -s f l'
	same missing "$(field '.missing | join(" ")') $(ls part)" 'g f'
	none_left
}

# OUT-07, OUT-09: this host's own side fails: no room, not to be written, not a directory. Its code is not one that speaks of the
# sandbox, the command's own stays, and nothing is left.
test_a_host_that_cannot_take_them() {
	mkdir small
	make a --output f --output out/
	guest a sh -c 'mkdir out; head -c 300000 /dev/zero >f; cp f out/1; cp f out/2'
	in_small() { unshare -m sh -c 'mount -t tmpfs -o size=128k none small && "$@"; status=$?; ls -A small >left; exit $status' sh "$@"; }
	local path
	for path in f out; do
		expect_exit 14 in_small "$SBXFS" get "$(full a)" $path --to small
		one_sentence
		says small 'No space left'
		same left "$(cat left)" ''
	done
	expect_exit 14 sbxfs get "$(full a)" f --to /sys/got --json
	same kind "$(field '"\(.error.kind) \(.error.exit_code)"')" 'host 14'
	expect_exit 2 sbxfs get "$(full a)" f --to no/parent
	one_sentence
	expect_exit 2 sbxfs put "$(full a)" no/such
	one_sentence
	local code
	for code in 0 7; do
		expect_exit $((code ? code : 125)) in_small "$SBXFS" run --json --scope "$PREFIX" --image "$IMAGE" --output f --collect small -- \
			sh -c "head -c 300000 /dev/zero >f; exit $code"
		has error "$(field .error)" 'collect: '
		has error "$(field .error)" 'No space left'
		same left "$(cat left)" ''
	done
	# Known before it begins: nothing is made.
	expect_exit 14 unshare -m sh -c 'mount -t tmpfs -o ro none small && exec "$@"' sh \
		"$SBXFS" run --json --scope "$PREFIX" --image "$IMAGE" --output f --collect small -- true
	same kind "$(field .error_kind)" host
	expect_exit 0 sbxfs rm "$(full a)"
	none_left
}

# OUT-03: a name that is not UTF-8 comes whole in the documents of both commands, beside one that can be shown.
test_a_name_of_any_bytes_in_a_document() {
	run_json 0 --output out/ --collect got -- sh -c 'mkdir out; echo x >"$(printf "out/a\377b")"; echo x >out/plain'
	same 'in base64' "$(field '.outputs[] | select(.path_base64).path_base64' | base64 -d | od -An -tx1)" "$(printf 'out/a\377b' | od -An -tx1)"
	same shown "$(field '.outputs | map(.path) | sort | join(" ")')" $'out/a\xef\xbf\xbdb out/plain'
	same 'the one that needs none' "$(field '.outputs | map(select(.path_base64)) | length')" 1
	make a --output out/
	guest a sh -c 'mkdir out; echo x >"$(printf "out/\033\377")"'
	expect_exit 0 sbxfs get "$(full a)" out --to here --json
	same 'in base64' "$(field '.[0].path_base64' | base64 -d | od -An -tx1)" "$(printf 'out/\033\377' | od -An -tx1)"
	lacks 'the document' "$OUT" $'\033'
	has 'the document' "$OUT" 'out/\u001b\ufffd'
}

# OUT-10: names that only another system minds are landed as they are.
test_names_of_other_systems() {
	run_json 0 --output out/ --collect got -- sh -c 'mkdir out; for n in COM1.txt "COM¹.txt" "end." "space " nul; do echo x >"out/$n"; done'
	same names "$(ls got/out | wc -l)" 5
}
