#!/usr/bin/env bash
# coverage.sh [TEST-REGEX]: lines covered in each folder by the unit tests, the fault scenarios and the engine suite on Docker 20.10
# (its tests that match, default all of reading, writing and the view). Fails when one of the folders that guests and engines speak to
# is below 85 %. What ends by _exit, as the guardian does, writes no counts. The files: build-cov/coverage.txt.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
command -v gcovr >/dev/null || { echo 'gcovr is not installed; run tools/install-deps'; exit 77; }
build='build-cov'
[ -f $build/build.ninja ] || meson setup $build -Db_coverage=true -Dbuildtype=debug >/dev/null || exit 1
ninja -C $build -j 2 >$build/ninja.log 2>&1 || { tail -n 20 $build/ninja.log; exit 1; }
find $build -name '*.gcda' -delete

meson test -C $build --suite unit --num-processes 2 2>&1 | grep -E '^(Ok|Fail|Timeout):'
BUILD=$build tests/fault/run.sh | tail -n 1
export SBXFS=$PWD/$build/tools/sbxfs SBXFS_TEST_SLOW=2 SBXFS_TEST_GENTLE=1 SBXFS_SUITE_SECONDS=${COVERAGE_SECONDS:-1200}
ONLY=${1:-} tests/engine/suite.sh docker20 tests/engine/test_{view,read,in,life,transfer}.sh tests/hostile/test_*.sh | grep -vE '^ok'

gcovr --root . --object-directory $build --filter engine/ --filter fs/ --gcov-ignore-parse-errors -j 2 \
	--json-summary $build/coverage.json --txt $build/coverage.txt || exit 1
python3 - $build/coverage.json <<'END'
import collections, json, os, sys
lines, covered = collections.Counter(), collections.Counter()
for file in json.load(open(sys.argv[1]))["files"]:
    folder = os.path.dirname(file["filename"])
    lines[folder] += file["line_total"]
    covered[folder] += file["line_covered"]
low = 0
for folder in sorted(lines):
    percent = 100 * covered[folder] / max(1, lines[folder])
    wanted = folder in ("engine/files", "engine/transport", "fs")
    bad = wanted and percent < 85
    low += bad
    print(f"{'FAIL' if bad else 'ok'} coverage {folder}: {covered[folder]} of {lines[folder]} lines, {percent:.1f} %")
print(f"{len(lines) - low} passed, {low} failed, 0 skipped")
sys.exit(low > 0)
END
