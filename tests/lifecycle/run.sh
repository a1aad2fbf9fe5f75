#!/usr/bin/env bash
# run.sh ENGINE [--quick]: the life of sandboxes by the command, on an engine that tools/engine starts: create, run, exec,
# put, get, rm, reap, doctor, and every refusal. Ends with `N passed, N failed, N skipped`. --quick: the first of each.
set -uo pipefail

engine=${1:?usage: run.sh ENGINE [--quick]}
here=$(cd "$(dirname "$0")" && pwd)
case ${2:-} in
'') ;;
--quick) export ONLY=${ONLY:-'four_outcomes|defaults|ladder|streams_and_codes|every_ending|phases|shapes|by_name|by_scope|by_age|a_bad_create'} ;;
*) echo 'usage: run.sh ENGINE [--quick]' >&2; exit 2 ;;
esac
export SBXFS_TEST_SECONDS=${SBXFS_TEST_SECONDS:-100} SBXFS_SUITE_SECONDS=${SBXFS_SUITE_SECONDS:-400}
exec "$here/../engine/suite.sh" "$engine" "$here"/test_*.sh
