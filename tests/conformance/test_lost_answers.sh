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

# By a command and by a mount, which lives on. Premise: the engine did pause, since the answer to that is what was lost.
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
