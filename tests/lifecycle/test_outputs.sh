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

# OUT-02, OUT-03, OUT-08: declarations are checked as one, by the rule, before anything is made.
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

# OUT-07, OUT-09: no name is landed through a link, none is replaced unasked; what did not land is said.
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

# OUT-10: names that only another system minds are landed as they are.
test_names_of_other_systems() {
	run_json 0 --output out/ --collect got -- sh -c 'mkdir out; for n in COM1.txt "COM¹.txt" "end." "space " nul; do echo x >"out/$n"; done'
	same names "$(ls got/out | wc -l)" 5
}
