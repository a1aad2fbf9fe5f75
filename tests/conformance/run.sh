#!/usr/bin/env bash
# run.sh ENGINE [--long] [FILE…]: the attacks, against a real engine: every test of this folder, or of FILEs, with a tenth of the
# full counts, or with all of them (--long, or SBXFS_LONG=1). Prints what was measured and `N passed, N failed, N skipped`; always ends.
set -uo pipefail

engine=${1:?usage: run.sh ENGINE [--long] [FILE...]}
shift
top=$(cd "$(dirname "$0")/../.." && pwd)
here=$top/tests/conformance
slow=${SBXFS_TEST_SLOW:-1}
[ "${1:-}" != --long ] || { SBXFS_LONG=1 && shift; }
if [ -n "${SBXFS_LONG:-}" ]; then
	# 2,000 attempts to read, stat and list for each place that is swapped: 667 of each.
	export ATTACK_COUNT=${ATTACK_COUNT:-667} ATTACK_SECONDS=${ATTACK_SECONDS:-1500} PREMISE_SECONDS=${PREMISE_SECONDS:-300}
	export GENERATION_COUNT=${GENERATION_COUNT:-200} KILL_COUNT=${KILL_COUNT:-200} PAUSER_SECONDS=${PAUSER_SECONDS:-100} BUSY_READS=${BUSY_READS:-200}
	export SBXFS_TEST_SECONDS=${SBXFS_TEST_SECONDS:-$((slow * 1800 + 120))} SBXFS_SUITE_SECONDS=${SBXFS_SUITE_SECONDS:-14000}
else
	export ATTACK_COUNT=${ATTACK_COUNT:-67} ATTACK_SECONDS=${ATTACK_SECONDS:-150} PREMISE_SECONDS=${PREMISE_SECONDS:-60}
	export GENERATION_COUNT=${GENERATION_COUNT:-20} KILL_COUNT=${KILL_COUNT:-20} PAUSER_SECONDS=${PAUSER_SECONDS:-10} BUSY_READS=${BUSY_READS:-20}
	export SBXFS_TEST_SECONDS=${SBXFS_TEST_SECONDS:-$((slow * 210 + 120))} SBXFS_SUITE_SECONDS=${SBXFS_SUITE_SECONDS:-1400}
fi
# The guest gets a twentieth of the time only: nobody waits for it here.
export ATTACK_DUTY=${ATTACK_DUTY:-95}
export SBXFS=${SBXFS:-$top/build/tools/sbxfs} SBXFS_PRINT='measured|guarded:|premise:'
[ $# -gt 0 ] || set -- "$here"/test_names.sh "$here"/test_attacks.sh "$here"/test_kill.sh \
	"$here"/test_pausers.sh "$here"/test_two_users.sh "$here"/test_lost_answers.sh "$here"/test_busy_guest.sh "$here"/test_stall.sh "$here"/test_conform.sh
exec "$top/tests/engine/suite.sh" "$engine" "$@"
