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
