# test_run.sh: `sbxfs run`: one fresh sandbox a call, none after it, and a result that no payload can forge.
. "$SBXFS_TOP/tests/lifecycle/life.sh"

# AIR-01, AIR-04, AIR-05: whatever becomes of it, the document has its shape, the failures are told apart, nothing stays.
test_every_ending() {
	local keys='success exit_code error_kind error stdout stderr duration_ms sandbox backend removed outputs missing'
	run_json 0 -- sh -c 'echo out; echo err >&2'
	same keys "$(field 'keys_unsorted | join(" ")')" "$keys"
	same success "$(field '"\(.success) \(.error) \(.stdout) \(.stderr) \(.removed)"')" $'true null out\n err\n true'
	[ "$(field .duration_ms)" -gt 0 ] || fail 'no duration'
	gone "$(field .sandbox)" || fail 'it is still there'
	run_json 7 -- sh -c 'echo "{\"success\":true}"; exit 7'
	same 'its own code' "$(field '"\(.success) \(.exit_code) \(.removed)"')" 'false 7 true'
	has error "$(field .error)" 'status 7'
	IMAGE=sbxfs-test:absent run_json 125 --pull-timeout 5 -- true
	same keys "$(field 'keys_unsorted | join(" ")')" "$keys"
	has error "$(field .error)" pull:
	run_json 2 --output ../x -- true
	same keys "$(field 'keys_unsorted | join(" ")')" "$keys"
	same usage "$(field '"\(.success) \(.exit_code) \(.error_kind)"')" 'false 2 usage'
	run_json 125 --engine "unix://$SBXFS_TEST_DIR/no.sock" -- true
	same keys "$(field 'keys_unsorted | join(" ")')" "$keys"
	has 'no engine' "$(field .error)" no.sock
	none_left
}

# AIR-02, AIR-03: the bound is the call's; past it the sandbox is gone soon, the text says so, and what was
# written before is collected. The same payload within a larger bound succeeds.
test_deadline() {
	local began
	began=$(now_ms)
	run_json 124 --timeout 4 --output note --collect got -- sh -c 'echo early >note; echo said; while :; do :; done'
	within 15000 "$began" 'a bound of 4 s'
	has error "$(field .error)" 'timed out'
	has 'the bound' "$(field .error)" '4.000 s'
	same 'kind, removed' "$(field '"\(.error_kind) \(.removed)"')" 'deadline true'
	same 'what it had printed' "$(field .stdout)" said
	same 'what it had written' "$(cat got/note)" early
	none_left
	run_json 0 --timeout 40 -- sleep 5
	none_left
}

# An in dir typed with a slash at its end is the same in dir.
test_an_in_dir_with_a_slash() {
	echo given >f
	run_json 0 --in-dir inbox/ --in f -- cat inbox/f
	same 'what was given' "$(field .stdout)" given
	run_json 0 --in-dir inbox/ --in f:sub -- cat inbox/sub/f
}

there_is_one() { [ -n "$(ours)" ]; }

# AIR-02: a reader that takes nothing (`| less`) holds up neither the bound nor Ctrl-C, and nothing stays.
test_a_run_whose_reader_takes_nothing() {
	local status=0
	full_pipe
	timeout -k 2 $((60 * SLOW)) "$SBXFS" run --scope "$PREFIX" --image "$IMAGE" --timeout 5 --output note --collect got -- \
		sh -c 'echo early >note; exec yes' </dev/null >full 2>said || status=$?
	same 'exit code' "$status" 124
	same 'what it had written' "$(cat got/note)" early
	none_left
	signalled "$SBXFS" run --scope "$PREFIX" --image "$IMAGE" -- yes </dev/null >full 2>said &
	local pid=$!
	status=0
	wait_for 30 there_is_one
	kill -INT "$pid"
	wait "$pid" || status=$?
	same 'exit code' "$status" 130
	none_left
}

# AIR-01: a removal that is not answered for is no success of the guest's.
test_an_unanswered_removal() {
	proxy_up
	proxy_lose 'DELETE /'
	run_json 125 -- true
	same document "$(field '"\(.success) \(.exit_code) \(.removed) \(.error_kind)"')" 'false 125 false engine'
	has 'the sentence' "$(field .error)" "sandbox $(field .sandbox) could not be removed"
	run_json 125 -- sh -c 'exit 7'
	proxy_keep
	proxy_down
	export DOCKER_HOST=$ENGINE_HOST
	none_left
}

# AIR-01: signals come in pairs (a terminal's group, timeout(1), wrappers) and as SIGQUIT: one wish to end, and nothing stays.
test_a_run_signalled_twice() {
	local pair pid status
	for pair in 'INT TERM' 'QUIT INT' 'HUP HUP'; do
		signalled "$SBXFS" run --scope "$PREFIX" --image "$IMAGE" -- sleep 50 </dev/null >out 2>said &
		pid=$! status=0
		wait_for 30 there_is_one
		kill -"${pair% *}" "$pid"
		kill -"${pair#* }" "$pid"
		wait "$pid" || status=$?
		same "exit code, $pair" "$status" 130
		none_left "$pair"
	done
}

# AIR-02: a reader that goes away (`| head`) ends the command; what was written is collected, nothing is said, nothing stays.
test_a_run_whose_reader_goes_away() {
	{ "$SBXFS" run --scope "$PREFIX" --image "$IMAGE" --timeout 60 --output note --collect got -- \
		sh -c 'echo early >note; exec yes' </dev/null 2>said || echo $? >code; } | head -n 1 >first
	same 'the first line' "$(cat first)" y
	same 'exit code' "$(cat code)" 141
	same 'what it had written' "$(cat got/note)" early
	lacks 'what was said' "$(grep -v '^collected' said || true)" sbxfs
	none_left
}

# AIR-11, AIR-18: work that goes on in the background is not waited for by its streams alone, and a program of another
# machine is a failure and not a hang.
test_payloads() {
	printf '\177ELF\2\1\1%064d' 0 >foreign
	chmod 755 foreign
	# Whether that is the engine's word (126) or the last of its start helper's (1, 255) depends on the engine.
	OUT=$(sbxfs run --json --scope "$PREFIX" --image "$IMAGE" --in foreign -- /work/in/foreign 2>/dev/null) || true
	same success "$(field '"\(.success) \(.removed)"')" 'false true'
	case $(field .exit_code) in 1 | 126 | 255) ;; *) fail "exit $(field .exit_code)" ;; esac
	has 'what was wrong' "$(field '.error + .stderr + .stdout')" 'exec format error'
	run_json 0 --output sum --collect got -- sh -c '(sleep 1; echo 42 >sum.new; mv sum.new sum) & wait'
	same 'awaited' "$(cat got/sum)" 42
	none_left
}
