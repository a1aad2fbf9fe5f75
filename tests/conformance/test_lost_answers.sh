# test_lost_answers.sh: an engine that pauses or resumes and whose answer is lost. A pause that was sent is owed its resume.
# shellcheck shell=bash
. "$SBXFS_TOP/tests/conformance/attackers.sh"
export GUEST_SECONDS=300

counting_sandbox() {
	proxy_up
	sandbox_start box out/
	guest_write box out/x text
	attacker_start box counter /tmp/count
	wait_for 5 guest_runs_within 1000 box
}
lost() { grep -c "$1" stall.lost 2>/dev/null || true; }
guest_is_well() {
	wait_for 30 guest_runs_within 500 box
	wait_for 10 is_not_paused box
	sleep 3 # nothing comes after
	guest_runs_within 500 box || fail 'the guest was frozen again'
	is_not_paused box
}

# MAF-97: by a command and by a mount, which lives on. Premise: the engine did pause, since the answer to that is what was lost.
test_a_lost_answer_to_a_pause() {
	counting_sandbox
	proxy_lose /pause
	! sbxfs get "$(full box)" out/x --to got 2>said || fail 'it was read without a window'
	[ "$(lost /pause)" -gt 0 ] || fail 'no answer was lost, which proves nothing'
	guest_is_well
	proxy_keep
	mount_up
	ls "$(box box)/out" >/dev/null
	guest_write box out/y text
	sleep 2 # what was listed is no longer believed
	proxy_lose /pause
	local got
	got=$(fsop read "$(box box)/out/y" 10) || true
	case $got in EIO | ETIMEDOUT | EHOSTDOWN) ;; *) fail "the read gave $got" ;; esac
	guest_is_well
	proxy_keep
	same 'the next read' "$(cat "$(box box)/out/y")" text
	mount_down
}

# MAF-97
test_a_lost_answer_to_an_unpause() {
	counting_sandbox
	mount_up
	proxy_lose /unpause
	same bytes "$(cat "$(box box)/out/x")" text
	wait_for 20 bash -c 'grep -q /unpause stall.lost'
	guest_is_well
	proxy_keep
	guest_write box out/y text
	same 'the next read' "$(cat "$(box box)/out/y")" text
	guest_is_well
	mount_down
}

# MAF-97: a pause that timed out and takes effect afterwards is still owed its resume. Of two sandboxes one has its pause held by
# the way to the engine until we have given up on it; the other's waits in Docker for as long, behind the lock of somebody's transfer
# that stalls, and is carried out when nobody waits for it any more. Premise: the reads were refused for want of a window,
# and the first guest was seen frozen later.
test_a_pause_that_comes_late_is_undone() {
	local seen late=0 end id held locked='' freezer
	proxy_up
	for each in box held; do
		sandbox_start $each out/
		guest_write $each out/x text
		attacker_start $each counter /tmp/count
		wait_for 5 guest_runs_within 1000 $each
	done
	id=$(sandbox_id box) held=$(sandbox_id held)
	in_guest held truncate -s 200M /work/out/large
	# Not stretched on a slow machine: the reads below must be over before the first pause is given up, after 30 s.
	mount_up -o deadline=3
	ls "$(box box)/out" "$(box held)/out" >/dev/null
	wait_for 10 is_not_paused box
	wait_for 10 is_not_paused held
	sleep 1
	: >stall.requests
	proxy_stall "/$id/pause" "/$held/pause"
	expect_errno ETIMEDOUT read "$(box box)/out/x"
	if engine_is docker; then
		expect_errno ETIMEDOUT read "$(box held)/out/x"
		# Its reader takes nothing: a pipe that nobody empties.
		mkfifo stalled
		exec 5<>stalled
		curl -sS --unix-socket "${ENGINE_HOST#unix://}" "http://engine/v1.41/containers/$held/archive?path=/work/out/large" >stalled 5<&- &
		locked=$!
		wait_for 10 python3 -c 'import select; exit(bool(select.select([], [5], [], 0)[1]))'
		proxy_stall "/$id/pause" # the other one goes on, as far as the lock
	fi
	wait_for 60 grep -q "POST .*/$id/unpause" stall.requests # we have given up
	guest_runs_within 500 box || fail 'the guest was frozen although its pause is held'
	freezer=$(freezer_file box) # asked of the engine now: the pause may last for less than that takes
	proxy_flow
	end=$(($(now_ms) + 2000 * SLOW))
	while [ "$(now_ms)" -lt $end ]; do
		if is_frozen "$freezer"; then late=1; break; fi
		sleep 0.01
	done
	[ $late = 1 ] || fail 'the late pause was not seen, which proves nothing'
	seen=$(now_ms)
	wait_for 10 guest_runs_within 300 box
	within 10000 "$seen" 'from the late pause until the guest ran'
	if [ -n "$locked" ]; then
		wait_for 60 grep -q "POST .*/$held/unpause" stall.requests
		kill -KILL $locked
		sleep 0.2
	fi
	wait_for 10 guest_runs_within 300 held
	guest_is_well
	wait_for 20 is_not_paused held
	guest_runs_within 500 held || fail 'the guest behind the lock was frozen again'
	wait_for 20 reads_text "$(box box)/out/x"
	wait_for 20 reads_text "$(box held)/out/x"
	mount_down
}
reads_text() { [ "$(cat "$1")" = text ]; }

# MAF-97: a command that cannot get its window resumed leaves it to the guardian, which goes on when the command has ended. Premise:
# the guest was frozen then.
test_a_resume_outlives_its_command() {
	counting_sandbox
	proxy_refuse /unpause
	local began
	began=$(now_ms)
	sbxfs get "$(full box)" out/x --to got 2>said || true
	within 25000 "$began" 'the command'
	same bytes "$(cat got/x)" text
	is_frozen "$(freezer_file box)" || fail 'the guest was not left frozen, which proves nothing'
	began=$(now_ms)
	rm stall.refuse
	wait_for 10 guest_runs_within 500 box
	within 10000 "$began" 'from then until the guest ran'
	guest_is_well
}
