# test_run.sh: `sbxfs run`: one fresh sandbox a call and none after it.

run() { sbxfs run --json --image sbxfs-test:latest --scope "$PREFIX" "$@"; }
field() { jq -r "$1" <<<"$OUT"; }
nothing_left() { same 'sandboxes left behind' "$(d ps -aq --filter "label=sbxfs.scope=$PREFIX")" ''; }

test_AIR_01_success_with_inputs_and_outputs() {
	mkdir data && echo 20 >data/a && echo 22 >b
	expect_exit 0 run --in data --in b:deep --output sum.txt --output out/ --collect got -- \
		sh -c 'mkdir out; echo $(($(cat in/data/a) + $(cat in/deep/b))) >sum.txt; echo log; echo warn >&2; : >out/x'
	same success "$(field .success)" true
	same streams "$(field '.stdout + .stderr')" $'log\nwarn'
	same sum "$(cat got/sum.txt)" 42
	[ -f got/out/x ] || fail 'out/x is missing'
	same digest "$(field '.outputs[] | select(.path == "sum.txt") | .sha256')" "$(sha256sum <got/sum.txt | cut -d' ' -f1)"
	[ "$(field .duration_ms)" -gt 0 ] || fail 'no duration'
	nothing_left
}

# AIR-04: a failure is a result with the same fields.
test_AIR_01_a_failing_command() {
	expect_exit 7 run --output none.txt --collect got -- sh -c 'echo {\"success\":true}; exit 7'
	same success "$(field .success)" false
	same code "$(field .exit_code)" 7
	has sentence "$(field .error)" 'status 7'
	same missing "$(field '.missing[]')" none.txt
	[ ! -e got ] || fail 'a directory was made for nothing'
	expect_exit 127 run -- nosuch
	expect_exit 126 run -- /etc/passwd
	nothing_left
}

# AIR-02: the bound is that of the call.
test_AIR_03_a_timeout_keeps_what_was_written() {
	local began
	began=$(now_ms)
	expect_exit 124 run --timeout 3 --output part --collect got -- sh -c 'echo part >part; echo said; sleep 500 & sleep 500'
	[ $(($(now_ms) - began)) -lt 15000 ] || fail "it took $(($(now_ms) - began)) ms"
	same kind "$(field .error_kind)" deadline
	has sentence "$(field .error)" 'command: the command timed out when the run'
	same stdout "$(field .stdout)" said
	same output "$(cat got/part)" part
	nothing_left
}

# OUT-01, OUT-05: one that is refused, and none is delivered; the kind says why.
test_AIR_01_a_refused_collection() {
	mkdir got && echo mine >got/kept
	expect_exit 125 run --output link --output fine --collect got -- sh -c 'ln -s /etc/passwd link; echo x >fine'
	has sentence "$(field .error)" 'collect: '
	same kind "$(field .error_kind)" confined
	same 'nothing was delivered' "$(ls -A got)" kept
	expect_exit 125 run --output fine --collect new -- mkfifo fine
	[ ! -e new ] || fail 'a directory was made for nothing'
	nothing_left
}

test_AIR_05_a_bad_image_is_the_pull() {
	expect_exit 125 sbxfs run --json --image sbxfs-test-absent:none --pull-timeout 5 --scope "$PREFIX" -- true
	same success "$(field .success)" false
	has sentence "$(field .error)" 'pull: '
	nothing_left
}

test_AIR_17_an_image_without_sleep_is_refused() {
	expect_exit 125 sbxfs run --json --image sbxfs-test:noshell --scope "$PREFIX" -- /bin/hold
	has sentence "$(field .error)" sleep
	same kind "$(field .error_kind)" unsupported
	nothing_left
}

test_AIR_01_inputs_that_are_links_are_refused() {
	ln -s /etc/passwd f
	expect_exit 12 run --in f -- true
	has sentence "$ERR$OUT" 'inputs: f is a symbolic link'
	nothing_left
}

# What a command has made must not be lost to a name that was taken before it ran.
test_a_place_to_collect_into_is_checked_first() {
	mkdir got && echo mine >got/report
	expect_exit 2 run --output report --collect got -- sh -c 'echo theirs >report'
	expect_exit 0 run --output report --collect got --force -- sh -c 'echo theirs >report'
	same forced "$(cat got/report)" theirs
	nothing_left
}

test_MAF_136_a_flood_is_cut_and_removed() {
	expect_exit 125 run --max-output 64k -- yes
	same kind "$(field .error_kind)" over-budget
	same 'what fits is kept' "$(field '.stdout | length')" 65536
	nothing_left
}

interrupted_by() {
	local status=0 pid
	signalled "$SBXFS" run --image sbxfs-test:latest --scope "$PREFIX" -- sh -c 'echo up; sleep 500' </dev/null >out 2>err &
	pid=$!
	wait_for 20 grep -q up out
	kill "-$1" $pid
	wait $pid || status=$?
	same 'exit code' $status 130
	nothing_left
}
test_AIR_01_ctrl_c() { interrupted_by INT; }
test_AIR_01_sigterm() { interrupted_by TERM; }

test_a_killed_run_is_found_by_reap() {
	"$SBXFS" run --image sbxfs-test:latest --scope "$PREFIX" -- sh -c 'echo up; sleep 500' </dev/null >out 2>err &
	local pid=$! name
	wait_for 20 grep -q up out
	kill -KILL $pid
	wait $pid || true
	name=$(d ps -a --filter "label=sbxfs.scope=$PREFIX" --format '{{.Names}}')
	[ -n "$name" ] || fail 'premise: a killed run leaves its sandbox'
	sleep 1.1
	expect_exit 0 sbxfs reap --older-than 1s --scope "$PREFIX"
	nothing_left
}

test_usage_makes_nothing() {
	expect_exit 2 sbxfs run --scope "$PREFIX" -- true
	expect_exit 2 run --memory 0 -- true
	expect_exit 2 run --output ../x --collect got -- true
	[ ! -e got ] || fail 'a directory was made for nothing'
	nothing_left
}
