#!/usr/bin/env bash
# suite.sh ENGINE [FILE…]: runs the functions test_* of FILEs (default: every tests/engine/test_*.sh) against an engine
# that tools/engine starts. One line a test: `ok NAME`, `FAIL NAME: why`, `skip NAME: why`; then `N passed, …`.
#
# It always ends: a test has SBXFS_TEST_SECONDS (120), the suite SBXFS_SUITE_SECONDS (900), and what a test leaves is
# removed here, by bounded calls, whatever became of it. ONLY=REGEX selects tests, SBXFS_TEST_TRIES=2 tries a failed one
# again, unless it left a file `for-good`, SBXFS names the binary, SBXFS_KEEP=1 keeps the scratch directories,
# SBXFS_PRINT=REGEX shows lines of passed tests, SBXFS_TEST_GENTLE=1 lets a test's processes end by SIGTERM first.
set -uo pipefail

engine=${1:?usage: suite.sh ENGINE [FILE...]}
shift
top=$(cd "$(dirname "$0")/../.." && pwd)
export SBXFS_TEST_ENGINE=$engine SBXFS_TOP=$top
SBXFS=$(realpath "${SBXFS:-$top/build/tools/sbxfs}") && [ -x "$SBXFS" ] || { echo "FAIL suite: no sbxfs binary; build first or set SBXFS"; exit 1; }
export SBXFS
[ $# -gt 0 ] || set -- "$top"/tests/engine/test_*.sh

seconds=${SBXFS_TEST_SECONDS:-120}
deadline=$((SECONDS + ${SBXFS_SUITE_SECONDS:-900}))
passed=0 failed=0 skipped=0
scratch=$(mktemp -d "${SBXFS_TEST_SCRATCH:-/var/tmp}/sbxfs-test.XXXXXX") || exit 1
chmod 0755 "$scratch"
current='' running=''

"$top/tools/engine" up "$engine" </dev/null >"$scratch/engine.log" 2>&1
case $? in
0) ;;
77) tail -n 1 "$scratch/engine.log"; echo "skip $engine: $(tail -n 1 "$scratch/engine.log")"; echo '0 passed, 0 failed, 1 skipped'; rm -rf --one-file-system "$scratch"; exit 0 ;;
*) tail -n 3 "$scratch/engine.log"; echo "FAIL $engine: the engine did not start"; echo '0 passed, 1 failed, 0 skipped'; rm -rf --one-file-system "$scratch"; exit 1 ;;
esac
eval "export $("$top/tools/engine" env "$engine")"
unset DOCKER_CONTEXT DOCKER_TLS_VERIFY DOCKER_CERT_PATH

# shellcheck source=tests/engine/clean.sh
. "$top/tests/engine/clean.sh"

finish() {
	trap - EXIT TERM INT
	if [ -n "$running" ]; then
		kill -KILL -- "-$running" 2>/dev/null
		echo "FAIL $(basename "$current"): the suite was ended while it ran"
		failed=$((failed + 1))
	fi
	[ -z "$current" ] || clean_test "$current"
	[ -n "${SBXFS_KEEP:-}" ] || rm -rf --one-file-system "$scratch"
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ]
	exit $?
}
trap finish EXIT
trap 'exit 1' TERM INT

# end_gently GROUP: what is killed, a mount in front, writes no counts of coverage.
end_gently() {
	kill -TERM -- "-$1" 2>/dev/null
	for _ in $(seq 50); do
		kill -0 -- "-$1" 2>/dev/null || return 0
		sleep 0.1
	done
}

# run_once FILE TEST DIR: 0 passed, 77 skipped, else failed; why is in DIR/why.
run_once() {
	local file=$1 test=$2 status bound=$seconds left=$((deadline - SECONDS))
	current=$3
	mkdir -p "$current"
	[ "$left" -lt "$bound" ] && bound=$left
	SBXFS_TEST_DIR=$current timeout -k 15 "$bound" bash "$top/tests/engine/run-one" "$file" "$test" </dev/null >"$current/out" 2>&1 &
	running=$!
	wait "$running"
	status=$?
	[ -z "${SBXFS_TEST_GENTLE:-}" ] || end_gently "$running"
	kill -KILL -- "-$running" 2>/dev/null
	running=''
	case $status in
	0 | 77) ;;
	124 | 137) [ -s "$current/why" ] || echo "not done after $bound s; last: $(tail -n 1 "$current/out" | cut -c1-120)" >"$current/why" ;;
	*) [ -s "$current/why" ] || echo "exit $status; last: $(tail -n 1 "$current/out" | cut -c1-160)" >"$current/why" ;;
	esac
	clean_test "$current" || { [ "$status" != 0 ] || { echo 'it left something behind' >"$current/why"; status=1; }; }
	# Of any process of the test, also one that nobody waited for.
	if grep -shE '(Address|Leak|Thread)Sanitizer|runtime error:' "$current"/*.log "$current/out" >"$current/sanitizer"; then
		head -n 1 "$current/sanitizer" >"$current/why"
		status=1
	fi
	return $status
}

for file in "$@"; do
	file=$(realpath "$file")
	for test in $(grep -oE '^test_[A-Za-z0-9_]+ *\(\)' "$file" | tr -d ' ()'); do
		[[ -z ${ONLY:-} || $test =~ $ONLY ]] || continue
		if [ "$SECONDS" -ge "$deadline" ]; then
			echo "FAIL $test: not run, the suite's time is over"
			failed=$((failed + 1))
			continue
		fi
		began=$SECONDS note=''
		for try in $(seq 1 "${SBXFS_TEST_TRIES:-1}"); do
			[ "$try" = 1 ] || { echo "  $test failed ($(head -n 1 "$current/why" | cut -c1-200)), try $try"; note=", try $try"; }
			run_once "$file" "$test" "$scratch/$test.$try"
			status=$?
			case $status in 0 | 77) break ;; esac
			[ "$SECONDS" -lt "$deadline" ] && [ ! -e "$current/for-good" ] || break
		done
		why=$(head -n 1 "$current/why" 2>/dev/null | tr -d '\r' | cut -c1-300)
		case $status in
		0) passed=$((passed + 1)); echo "ok $test ($((SECONDS - began)) s$note)"
			[ -z "${SBXFS_PRINT:-}" ] || grep -E "$SBXFS_PRINT" "$current/out" | cut -c1-300 | sed 's/^/    /'
			;;
		77) skipped=$((skipped + 1)); echo "skip $test: $why" ;;
		*)
			failed=$((failed + 1))
			echo "FAIL $test: $why"
			tail -n "${SBXFS_TEST_LINES:-25}" "$current/out" | cut -c1-300 | sed 's/^/    | /'
			[ -s "$current/mount.log" ] && tail -n 8 "$current/mount.log" | cut -c1-300 | sed 's/^/    mount: /'
			;;
		esac
		current=''
	done
done
