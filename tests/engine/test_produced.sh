# test_produced.sh: `sbxfs ls NAME`: what a sandbox has produced, declared or not.

start() { sandbox_start a out/ report.json later.txt link; }
produce() {
	in_guest a sh -c 'mkdir -p out/sub/deep && echo {} >report.json && printf 12345 >out/sub/five && : >out/sub/deep/none && mkfifo out/pipe &&
		ln -s /etc/passwd link && ln -s / out/root && echo b >/tmp/b && touch -d @1700000001 out/sub/five'
}
# rows .jq: of the document in $OUT, one line.
rows() { jq -r "$1" <<<"$OUT" | paste -sd' '; }

# Bug case 118: each declared output with what is below it, and what is not there (yet).
test_what_was_produced() {
	start
	produce
	expect_exit 0 sbxfs ls "$(full a)" --json
	same 'names and types' "$(rows '.[] | "\(.path)=\(.type)"')" \
		'later.txt=absent link=symlink out=directory out/pipe=fifo out/root=symlink out/sub=directory out/sub/deep=directory out/sub/deep/none=file out/sub/five=file report.json=file'
	same size "$(rows '.[] | select(.path == "out/sub/five") | "\(.size) \(.mtime)"')" '5 1700000001'
	same 'no size of a link' "$(rows '.[] | select(.type == "symlink") | has("size")')" 'false false'
	expect_exit 0 sbxfs ls "$(full a)"
	has table "$OUT" 'file                  5  2023-11-14T22:13:21Z  out/sub/five'
	has table "$OUT" 'directory             -'
	has table "$OUT" 'absent                -  -                     later.txt'
	same 'nothing followed' "$(grep -c passwd <<<"$OUT" || true)" 0
	same 'standard error' "$ERR" ''
	# Alone, as anything below a declared one; what is not declared is not looked at.
	expect_exit 0 sbxfs ls "$(full a)" out/sub/ --json
	same alone "$(rows '.[].path')" 'out/sub out/sub/deep out/sub/deep/none out/sub/five'
	expect_exit 0 sbxfs ls "$(full a)" link --json
	same 'a link alone' "$(rows '.[].type')" symlink
	expect_exit 3 sbxfs ls "$(full a)" later.txt
	expect_exit 4 sbxfs ls "$(full a)" /tmp/b
	expect_exit 4 sbxfs ls "$(full a)" out/../secret
	expect_exit 12 sbxfs ls "$(full a)" secret
	expect_exit 4 sbxfs ls "$(full a)" out/root/etc
	expect_exit 3 sbxfs ls "$(full nosuch)"
	expect_exit 2 sbxfs ls "$(full a)" out extra
	# After its end as well.
	d kill "$(full a)" >/dev/null
	expect_exit 0 sbxfs ls "$(full a)" --json
	same 'after its exit' "$(rows '.[] | select(.type == "file").path')" 'out/sub/deep/none out/sub/five report.json'
}

# Bug case 118: what a hard-coded place would have missed.
test_changes_anywhere() {
	IMAGE=sbxfs-test:seeded sandbox_start a out/
	in_guest a sh -c 'echo a >out/a; echo b >/tmp/b; rm out/seed.txt; echo more >>out/sub/deep.txt'
	expect_exit 0 sbxfs ls "$(full a)" --changes --json
	same changes "$(rows '.[] | select(.path | test("^/(work|tmp)")) | "\(.path)=\(.change)=\(.declared)"')" \
		'/tmp/b=added=false /work/out/a=added=true /work/out/seed.txt=deleted=true /work/out/sub/deep.txt=changed=true'
	expect_exit 0 sbxfs ls "$(full a)" --changes
	has table "$OUT" 'added    no        /tmp/b'
	has table "$OUT" 'added    yes       /work/out/a'
	expect_exit 0 sbxfs ls "$(full a)" --json
	same 'the declared ones alone' "$(rows '.[].path')" 'out out/a out/emptied out/emptied/old.txt out/sub out/sub/deep.txt'
	expect_exit 2 sbxfs ls --changes
	expect_exit 2 sbxfs ls "$(full a)" out --changes
}

# What cannot be served is said at its row, and the others are listed.
test_a_part_that_cannot_be_served() {
	RUN_OPTIONS=(--tmpfs /work/out:mode=1777)
	start
	RUN_OPTIONS=()
	in_guest a sh -c 'echo {} >report.json; echo x >out/x'
	expect_exit 13 sbxfs ls "$(full a)" --json
	same 'the rest' "$(rows '.[] | select(.type == "file").path')" report.json
	has reason "$(rows '.[] | select(.path == "out").refused')" 'lies on'
	expect_exit 13 sbxfs ls "$(full a)"
	has reason "$ERR" 'refused out: '
}
