#!/usr/bin/env bash
# passthrough.sh [--bench]: a build with -Dpassthrough=enabled, which wants a newer libfuse than Debian 12 has, in the sid tree of
# tools/engine's docker28: compiled there and tested there, on that engine. With --bench the bench's row of a gigabyte, too.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
state=${SBXFS_ENGINE_STATE:-/var/tmp/sbxfs-engines}/docker28
tools/engine up docker28 </dev/null || exit $?
eval "export $(tools/engine env docker28)"
scratch=$(mktemp -d "$state/passthrough.XXXXXX") || exit 1
trap 'rm -rf --one-file-system "$scratch"' EXIT

inside() { # SECONDS CMD…: in the engine's own tree and mounts
	local bound=$1
	shift
	timeout -k 10 "$bound" nsenter --mount="/proc/$(cat "$state/docker.pid")/ns/mnt" --wdns="$scratch/source" -- "$@" </dev/null
}

git ls-files -z | tar -cf - --null -T - | (mkdir "$scratch/source" && tar -xf - -C "$scratch/source") || exit 1
inside 300 env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends gcc libc6-dev meson ninja-build pkg-config \
	libfuse3-dev libcurl4-openssl-dev libcjson-dev libinih-dev uthash-dev python3 curl docker-cli >"$scratch/apt.log" 2>&1 || {
	echo "NOT RUN: what it needs cannot be installed: $(tail -n 1 "$scratch/apt.log")"
	exit 77
}
inside 300 sh -c 'meson setup build -Dpassthrough=enabled -Dtests=disabled && ninja -C build -j 2 tools/sbxfs' >"$scratch/build.log" 2>&1 || {
	tail -n 30 "$scratch/build.log"
	exit 1
}
inside 300 python3 tests/passthrough.py build/tools/sbxfs
status=$?
[ "${1:-}" != --bench ] || inside 900 env REPEAT="${REPEAT:-5}" tests/bench/run.sh docker28 giga || status=1
exit $status
