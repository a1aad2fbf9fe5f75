#!/usr/bin/env bash
# run.sh [SCENARIO…]: every scenario of tests/fault/scenarios against the scripted engine, through the library and, where it says
# so, through a mount. STEP=N divides the stride of `every` (1). BUILD names the build directory.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
exec python3 "$here/run.py" "${BUILD:-$here/../../build}" "${STEP:-1}" "$@" </dev/null
