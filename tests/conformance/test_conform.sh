# test_conform.sh: `sbxfs conform`, as a user runs it against their engine: every probe, through the library and a mount.
. "$SBXFS_TOP/tests/lifecycle/life.sh"

# conform ARG…: its pid is left in the file pid. It has time to take its sandboxes away.
conform() {
	timeout -k 60 $((200 * SLOW)) bash -c 'echo $$ >pid && exec "$0" conform --image sbxfs-test:latest "$@"' "$SBXFS" "$@" </dev/null
}
left() { d ps -aq --filter "name=sbxfs-conform-.*-$(cat pid)-"; }
# rows JQ: the probes for which it holds, "P-01 mount", one a line.
rows() { jq -r ".probes[] | select($1) | \"\(.probe) \(.through)\"" conform.json; }
# What has to pass: every ID through the library, and through the mount whatever a system call exists for; running a
# command (P-25..29) has none.
every_probe() {
	local id
	for id in $(seq -f P-%02.0f 39) REACH; do
		echo "$id library"
		case $id in P-2[5-9] | REACH) ;; *) echo "$id mount" ;; esac
	done | sort
}

# P-01, P-02, P-03, P-04, P-05, P-06, P-07, P-08, P-09, P-10, P-11, P-12: reads, stats and listings.
# P-13, P-14, P-15, P-16, P-17, P-18, P-19, P-20, P-21, P-22, P-23, P-24, MAF-101, MAF-105: writes, in a C locale.
# P-25, P-26, P-27, P-28, P-29: commands.
# P-30, P-31, P-32, P-33, P-34, P-35, P-36, P-37, P-38, P-39: removals.
test_every_probe_passes() {
	local status=0
	LC_ALL=C LANG=C conform --json >conform.json 2>said || status=$?
	jq -r '"\(.passed) passed, \(.failed) failed, \(.skipped) skipped"' conform.json
	same 'failed, skipped' "$(jq -r '.probes[] | select(.result != "pass") | "\(.probe) \(.through): \(.text)"' conform.json)" ''
	[ $status = 0 ] || fail "exit code $status: $(tail -n 1 said)"
	same 'what passed' "$(rows '.result == "pass"' | sort)" "$(every_probe)"
	same 'the counts' "$(jq -c '[.passed, .failed, .skipped]' conform.json)" "[$(every_probe | wc -l),0,0]"
	same 'rows that do not say why they exist or what was seen' "$(rows '.why == "" or .title == "" or .text == ""')" ''
	[ -z "$(left)" ] || fail "it leaves $(left | wc -l) sandboxes behind: $(grep behind said | head -n 1)"
}

# An engine that answers one file with other bytes: P-01 sees it both ways, and the exit code says so.
test_a_lie_is_found() {
	liar_up within WITHIN # the content of the file that P-01 reads
	expect_exit 1 conform --json
	printf '%s\n' "$OUT" >conform.json
	same 'what failed' "$(rows '.result == "fail"' | tr '\n' ' ')" 'P-01 library P-01 mount '
	same 'counted as failed' "$(jq .failed conform.json)" 2
}

# No image is a usage error: the exit code is what scripts look at.
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
	echo $pid >pid
	wait_for 60 grep -q '^pass .*mount' rows
	[ -n "$(left)" ] || fail 'no sandbox of the probes was seen'
	kill -TERM $pid
	wait_for 20 bash -c '! kill -0 $1 2>/dev/null' sh $pid
	same 'what it leaves behind' "$(left)" ''
}
