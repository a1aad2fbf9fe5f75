# test_bounds.sh: what is past a bound of a command's, and an engine that fails right then.
. "$SBXFS_TOP/tests/lifecycle/life.sh"

# MAF-132, AIR-03: past the bound the engine does not answer the removal: the sentence says both, that the time is over
# and that the sandbox could not be removed, and the documents do not say that it was.
test_a_removal_that_fails_is_told() {
	make a
	make b
	proxy_up
	proxy_stall 'DELETE /'
	local status text json run pid
	"$SBXFS" exec "$(full a)" --no-stdin --timeout 1 -- sleep 60 >/dev/null 2>said &
	text=$!
	"$SBXFS" exec "$(full b)" --no-stdin --timeout 1 --json -- sleep 60 >exec.json 2>said.b &
	json=$!
	"$SBXFS" run --scope "$PREFIX" --image "$IMAGE" --timeout 5 --json -- sleep 60 </dev/null >run.json 2>said.run &
	run=$!
	for pid in $text $json; do
		status=0
		wait "$pid" || status=$?
		same 'exit code' "$status" 124
	done
	status=0
	wait "$run" || status=$?
	same 'exit code of run, which promises to leave nothing' "$status" 125
	ERR=$(cat said)
	one_sentence
	says 'timed out' "sandbox $(full a) could not be removed"
	same 'the document of exec' "$(jq -r '"\(.exit_code) \(.timed_out) \(.sandbox_removed) \(.error_kind)"' exec.json)" '124 true false deadline'
	has 'its sentence' "$(jq -r .error exec.json)" 'could not be removed'
	same 'the document of run' "$(jq -r '"\(.exit_code) \(.removed) \(.error_kind)"' run.json)" '125 false deadline'
	has 'its sentence' "$(jq -r .error run.json)" 'timed out'
	has 'its sentence' "$(jq -r .error run.json)" 'could not be removed'
	same 'they are there' "$(DOCKER_HOST=$ENGINE_HOST ours | wc -l)" 3
	proxy_flow
}

# AIR-03, MAF-132: a kill that fails is told, and the removal that comes after it is done all the same.
test_a_kill_that_fails_is_told() {
	make a
	proxy_up
	proxy_refuse '/kill'
	expect_exit 124 sbxfs exec "$(full a)" --no-stdin --timeout 1 --on-timeout kill -- sleep 60
	one_sentence
	says 'timed out' "the processes of sandbox $(full a) could not be killed"
	same 'it is there' "$(state_of a)" running
	expect_exit 0 sbxfs rm "$(full a)"
	run_json 124 --timeout 5 --output note --collect got -- sh -c 'echo x >note; sleep 60'
	same document "$(field '"\(.removed) \(.error_kind)"')" 'true deadline'
	has 'the sentence' "$(field .error)" 'could not be killed'
	none_left
}

# AIR-02, MAF-134: the bound is over every step, and the one that it passed in is named (test_deadline has the command, the
# pull's own bound is in test_pull.sh). Nothing is left of any; of a create that was not answered that is not certain, and said
# (125).
test_each_phase_is_named() {
	echo text >note
	run_phase() { # CODE PHASE STALLED SECONDS
		proxy_up
		proxy_stall "$3"
		run_json "$1" --timeout $(($4 * SLOW)) --in note --output made --collect got -- sh -c 'echo x >made'
		same 'the phase' "$(field '.error | split(": ")[0]')" "$2"
		same "document, $2" "$(field '"\(.success) \(.exit_code) \(.error_kind)"')" "false $1 deadline"
		[ ! -e got ] || fail 'something was delivered'
		proxy_down
		export DOCKER_HOST=$ENGINE_HOST
		none_left "$2"
	}
	run_phase 125 create 'POST /*/containers/create' 3
	run_phase 124 create 'POST /*/start' 3
	run_phase 124 inputs 'PUT /*/archive?*in' 8
	run_phase 124 collect 'GET /*/archive?*made' 8
}

# MAF-134: a copy during which no byte moves for so long has failed, by name and at once, in either direction; a command may be
# silent for longer.
test_the_idle_bound_of_copies() {
	local began
	make a --output f
	guest a sh -c 'head -c 1000 /dev/zero >f'
	head -c 1000 /dev/zero >g
	proxy_up
	proxy_stall 'GET /*/archive?*work%2Ff' 'GET /*/archive?*work/f'
	began=$(now_ms)
	expect_exit 9 sbxfs get "$(full a)" f --to got --idle-timeout 1
	within 15000 "$began" 'an idle bound of 1 s'
	one_sentence
	says 'no byte moved' '1 seconds'
	[ ! -e got ] || fail 'something landed'
	proxy_stall 'PUT /*/archive?*in'
	expect_exit 9 sbxfs put "$(full a)" g --idle-timeout 1
	says 'no byte moved'
	run_json 124 --in g --idle-timeout 1 -- true
	has error "$(field .error)" 'inputs: '
	has error "$(field .error)" 'no byte moved'
	proxy_flow
	proxy_down
	export DOCKER_HOST=$ENGINE_HOST
	expect_exit 0 sbxfs get "$(full a)" f --to got --idle-timeout 5
	# A command is not the engine's silence.
	run_json 0 --idle-timeout 1 --timeout 30 -- sleep 3
	expect_exit 2 sbxfs get "$(full a)" f --idle-timeout 0
}

# MAF-17, MAF-134: a command may be silent for longer than the transport waits for an engine, 60 s, with an input and
# without; and an engine that does not answer for so long has failed (125) and is not the caller's bound: nothing goes.
test_longer_than_the_idle_bound() {
	[ -n "${SBXFS_LONG:-}${SBXFS_CI:-}" ] || skip 'it takes 75 s: the long form has it, and CI'
	local slow=$((75 + 15 * SLOW)) silent piped status=0
	make a
	make b
	timeout -k 2 $slow "$SBXFS" exec "$(full a)" --no-stdin --timeout 85 -- sh -c 'sleep 70; echo done' >out 2>said &
	silent=$!
	{ sleep 72; } | timeout -k 2 $slow "$SBXFS" exec "$(full a)" -- sh -c 'sleep 70; echo done' >out.piped 2>said.piped &
	piped=$!
	sleep 2
	proxy_up
	proxy_stall "/exec "
	timeout -k 2 $slow "$SBXFS" exec "$(full b)" --no-stdin --timeout 85 -- true >out.b 2>said.b || status=$?
	same 'exit code of the stalled one' "$status" 125
	ERR=$(cat said.b)
	one_sentence
	says "$(full b)" '60 seconds'
	same 'the sandbox' "$(DOCKER_HOST=$ENGINE_HOST state_of b)" running
	wait $silent || fail "a silent one: $(cat said)"
	wait $piped || fail "one with an input: $(cat said.piped)"
	same output "$(cat out out.piped)" $'done\ndone'
}
