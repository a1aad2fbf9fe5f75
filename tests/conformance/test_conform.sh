# test_conform.sh: `sbxfs conform`, as a user runs it against their engine: P-01..P-39, through the library and a mount.
# shellcheck shell=bash

conform() { timeout -k 10 $((100 * SLOW)) "$SBXFS" conform --image sbxfs-test:latest "$@" </dev/null; }

test_conform_says_what_it_saw() {
	local rows
	expect_exit 0 conform --json
	printf '%s\n' "$OUT" >conform.json
	jq -r '"\(.passed) passed, \(.failed) failed, \(.skipped) skipped"' conform.json
	same failed "$(jq .failed conform.json)" 0
	[ "$(jq .passed conform.json)" -ge 40 ] || fail "only $(jq .passed conform.json) probes passed"
	same 'the counts are those of the rows' "$(jq -c '[(.probes | map(select(.result == ("pass", "fail", "skip"))) | length), .passed + .failed + .skipped] | unique | length' conform.json)" 1
	rows=$(jq -r '.probes | map(select(.why == "" or .title == "" or .text == "")) | length' conform.json)
	same 'rows that do not say why they exist or what was seen' "$rows" 0
	same 'what it leaves behind' "$(d ps -aq --filter name=sbxfs-conform-)" ''
}

# A probe that fails is an exit of 1, no image a usage error: the exit code is what scripts look at.
test_conform_is_refused_without_an_image() {
	expect_exit 2 "$SBXFS" conform
	has 'the sentence' "$ERR" --image
	expect_exit 2 "$SBXFS" conform --image no-such-image:nowhere
}

# Whoever ends it by a signal gets its sandboxes and its mount taken away, also while a probe waits in the mount.
test_conform_cleans_up_when_signalled() {
	local pid
	"$SBXFS" conform --image sbxfs-test:latest </dev/null >rows 2>&1 &
	pid=$!
	here() { d ps -aq --filter "name=sbxfs-conform-.*-$pid-"; }
	wait_for 60 grep -q '^pass .*mount' rows
	[ -n "$(here)" ] || fail 'no sandbox of the probes was seen'
	kill -TERM $pid
	wait_for 20 bash -c '! kill -0 $1 2>/dev/null' sh $pid
	same 'what it leaves behind' "$(here)" ''
}
