#!/usr/bin/env bash
# run.sh [SECONDS [TARGET…]]: builds build-fuzz and runs every fuzz target for SECONDS (20), two at a time, from the seeds
# and what earlier runs found. `ok TARGET: N runs` or `FAIL TARGET`; the input that broke it stays in build-fuzz/found.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
seconds=${1:-20}
[ $# -eq 0 ] || shift
command -v clang >/dev/null || { echo 'no clang'; exit 77; }
[ -f build-fuzz/build.ninja ] || CC=clang meson setup build-fuzz -Dfuzz=true -Db_sanitize=address,undefined -Dbuildtype=debug -Doptimization=1 >/dev/null ||
	exit 1
mapfile -t programs < <(sed -n "s/^\t'\([a-z_]*\)',$/tests\/fuzz\/fuzz_\1/p" tests/fuzz/meson.build)
ninja -C build-fuzz -j 2 "${programs[@]}" >build-fuzz/ninja.log 2>&1 || { tail -n 20 build-fuzz/ninja.log; exit 1; }
targets=("${programs[@]##*/fuzz_}")
[ $# -eq 0 ] || targets=("$@")
seeds=$(mktemp -d "${TMPDIR:-/tmp}/sbxfs-seeds.XXXXXX")
results=$(mktemp)
trap 'rm -rf "$seeds" "$results"' EXIT
python3 tests/fuzz/seeds.py "$seeds" || exit 1
mkdir -p build-fuzz/found

one() { # SECONDS SEEDS TARGET
	local corpus=build-fuzz/corpus/$3 log=build-fuzz/$3.log runs
	mkdir -p "$corpus" "$2/$3"
	if timeout -k 10 $(($1 + 60)) nice -n 10 "build-fuzz/tests/fuzz/fuzz_$3" -max_total_time="$1" -max_len=16384 -timeout=10 -rss_limit_mb=1024 \
		-print_final_stats=1 -artifact_prefix="build-fuzz/found/$3-" "$corpus" "$2/$3" >"$log" 2>&1 </dev/null; then
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
		echo "ok $3: ${runs:-0} runs"
	else
		echo "FAIL $3: $(grep -m 1 -E 'ERROR: |runtime error:' "$log" | cut -c1-160); see $log"
	fi
}
export -f one
printf '%s\n' "${targets[@]}" | xargs -P 2 -I{} bash -c 'one "$@"' one "$seconds" "$seeds" {} | tee "$results"
rm -rf /tmp/sbxfs-fuzz.??????
failed=$(grep -c '^FAIL' "$results")
echo "$(grep -c '^ok' "$results") passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
