# life.sh: what the lifecycle's tests share beside tests/engine/lib.sh: sandboxes by the command, and what is left of them.
# Sourced by every file here. Everything made carries the test's prefix, as a name or as its scope.

IMAGE=sbxfs-test:latest

# make NAME OPTION…: a sandbox by `sbxfs create`; its name is left in $OUT.
make() {
	local name=$1
	shift
	expect_exit 0 sbxfs create --name "$(full "$name")" --scope "$PREFIX" --image "$IMAGE" "$@"
}
# run_json CODE OPTION…: `sbxfs run --json`; the document is left in $OUT.
run_json() {
	local wanted=$1
	shift
	expect_exit "$wanted" sbxfs run --json --scope "$PREFIX" --image "$IMAGE" "$@"
	jq -e . >/dev/null <<<"$OUT" || fail "no JSON: $OUT"
}
# field .jq.path: of the document in $OUT.
field() { jq -r "$1" <<<"$OUT"; }
guest() { local name=$1; shift; expect_exit 0 sbxfs exec --no-stdin "$(full "$name")" -- "$@"; }

# Ids of this test's containers, in every state.
ours() { { d ps -aq --no-trunc --filter "label=sbxfs.scope=$PREFIX"; d ps -aq --no-trunc --filter "name=^/?$PREFIX"; } | sort -u; }
none_left() { same "sandboxes left after ${1:-it}" "$(ours)" ''; }
state_of() { d inspect -f '{{.State.Status}}' "$(full "$1")"; }
id_of() { d inspect -f '{{.Id}}' "$(full "$1")"; }
gone() { ! d inspect "$1" >/dev/null 2>&1; }

one_sentence() { [ -n "$ERR" ] && [ "$(printf '%s\n' "$ERR" | wc -l)" = 1 ] || fail "not one sentence: $ERR"; }
# says PART…: all of them are in the sentence.
says() { local part; for part in "$@"; do has 'the sentence' "$ERR" "$part"; done; }

# full_pipe: a fifo "full" whose reader takes nothing; pipe_is_full: a writer has to wait now.
full_pipe() { mkfifo full && exec 5<>full; }
pipe_is_full() { python3 -c 'import select; exit(bool(select.select([], [5], [], 0)[1]))'; }

# What an engine is, changed on the way: liar_up OLD NEW… replaces bytes of the engine's answers (equally long); the
# requests are in requests.log.
liar_up() {
	ENGINE_HOST=${ENGINE_HOST:-$DOCKER_HOST}
	rm -f "$SBXFS_TEST_DIR/liar.sock" "$SBXFS_TEST_DIR/requests.log"
	python3 "$SBXFS_TOP/tests/lifecycle/liar.py" "$SBXFS_TEST_DIR/liar.sock" "${ENGINE_HOST#unix://}" "$SBXFS_TEST_DIR/requests.log" "$@" </dev/null &
	LIAR_PID=$!
	export DOCKER_HOST=unix://$SBXFS_TEST_DIR/liar.sock
	wait_for 5 test -S "$SBXFS_TEST_DIR/liar.sock"
}
liar_down() {
	kill -KILL "$LIAR_PID"
	wait "$LIAR_PID" 2>/dev/null || true
	export DOCKER_HOST=$ENGINE_HOST
}
# requests REGEX: how many requests there were of it.
requests() { grep -cE "$1" "$SBXFS_TEST_DIR/requests.log" 2>/dev/null || true; }

# An engine of the test's own with the image in it, for the rest of the test.
# own_engine_up userns|rootless|podman [REGISTRY]
own_engine_up() {
	d save -o image.tar "$IMAGE"
	"$SBXFS_TOP/tests/lifecycle/own-engine" "$1" "$SBXFS_TEST_DIR/own" "${2:-}" </dev/null >own.log 2>&1 &
	OWN_PID=$!
	SHARED_HOST=$DOCKER_HOST
	export DOCKER_HOST=unix://$SBXFS_TEST_DIR/own/engine.sock
	local until=$((SECONDS + 30 * SLOW))
	until api /_ping >/dev/null 2>&1; do
		kill -0 $OWN_PID 2>/dev/null || skip "this machine has no such engine: $(tail -n 1 own.log)"
		[ $SECONDS -lt $until ] || fail "the engine does not answer: $(tail -n 1 own.log)"
		sleep 0.2
	done
	d load -i image.tar >/dev/null
}
own_engine_down() {
	kill -TERM $OWN_PID
	wait $OWN_PID || true
	export DOCKER_HOST=$SHARED_HOST
}
