#!/usr/bin/env bash
# valgrind.sh [--unit] [ENGINE-TEST-REGEX]: memcheck over the unit tests, the fault scenarios and a part of the engine suite on
# Docker 20.10; with --unit over the first alone.
# An invalid access, an uninitialised value or a lost block is a failure. A guardian ends by _exit with what it has.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
suites='fault engine'
[ "${1:-}" != --unit ] || { suites='' && shift; }
command -v valgrind >/dev/null || { echo 'valgrind is not installed; run tools/install-deps'; exit 77; }
ninja -C build -j 2 >/dev/null || exit 1
# Not below the build directory, whose name may have a space: the wrapped command is split at them.
scratch=$(mktemp -d "${TMPDIR:-/tmp}/sbxfs-valgrind.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
logs=$scratch/logs
mkdir "$logs"
# Suites call it by this name, since some of them give the program's path to others.
wrap=(valgrind --quiet --vgdb=no --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --error-exitcode=99
	"--log-file=$logs/%p")
printf '#!/bin/sh\nexec %s "%s" "$@"\n' "${wrap[*]}" "$PWD/build/tools/sbxfs" >"$logs.sbxfs"
chmod +x "$logs.sbxfs"

CK_TIMEOUT_MULTIPLIER=5 meson test -C build --suite unit --num-processes 2 --timeout-multiplier 30 --wrap "${wrap[*]}" >"$logs.unit" 2>&1
units=$?
grep -E '^(Ok|Fail|Timeout):|FAIL|TIMEOUT' "$logs.unit"
[ -z "$suites" ] || FAULT_WRAP="${wrap[*]}" SBXFS_TEST_SLOW=5 SBXFS_TEST_TRIES=2 tests/fault/run.sh ${VALGRIND_SCENARIOS:-} | grep -v ^ok | tee "$logs.fault"
[ -z "$suites" ] || SBXFS=$logs.sbxfs SBXFS_TEST_SLOW=6 SBXFS_TEST_SECONDS=400 SBXFS_SUITE_SECONDS=600 SBXFS_TEST_TRIES=2 \
	ONLY=${1:-exact|one_version|names_that|verbatim|reads_back|create_ls} tests/engine/suite.sh docker20 tests/engine/test_{view,read,in,life}.sh | tee "$logs.engine"

bad=0
for file in "$logs"/*; do
	# It also warns of system calls that it does not know: Landlock's.
	grep -q '^==' "$file" || continue
	bad=$((bad + 1))
	echo "FAIL valgrind: $(sed -n 's/^==[0-9]*== //p' "$file" | head -n 12 | tr '\n' '|' | cut -c1-900)"
done
[ $units = 0 ] || { bad=$((bad + 1)); echo 'FAIL valgrind unit tests'; }
for suite in $suites; do grep -q ', 0 failed' "$logs.$suite" || { bad=$((bad + 1)); echo "FAIL valgrind $suite"; }; done
echo "$((bad == 0)) passed, $bad failed, 0 skipped"
[ $bad = 0 ]
