#!/usr/bin/env bash
# run.sh ENGINE [ROW…]: times sbxfs and its rivals in turn on the same sandboxes of one engine and prints one table of medians and
# ratios. BUILD names the build directory, REPEAT the repetitions (5). Every command is bounded; what is made is removed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
engine=${1:?usage: run.sh ENGINE [ROW...]}
shift
"$here/../../tools/engine" up "$engine" </dev/null >/dev/null || exit 1
eval "export $("$here/../../tools/engine" env "$engine")"
unset DOCKER_CONTEXT DOCKER_TLS_VERIFY DOCKER_CERT_PATH
exec timeout -k 20 "${BENCH_SECONDS:-3000}" python3 "$here/run.py" "$engine" "${BUILD:-$here/../../build}" "${REPEAT:-5}" "$@" </dev/null
