# test_python.sh: functions in sandboxes, docs/python.md: the five live claims, none of which may be skipped, and the
# failures told apart.

# claim NAME: holds, and leaves no sandbox behind.
claim() {
	timeout -k 5 180 "$SBXFS_TOP/tests/engine/python/image" || fail 'the Python image could not be made'
	export PREFIX
	PYTHONPATH=$SBXFS_TOP/tests/engine/python PYTHONDONTWRITEBYTECODE=1 timeout -k 2 100 \
		python3 "$SBXFS_TOP/tests/engine/python/claims.py" "$1" >"$SBXFS_TEST_DIR/claim" 2>&1 </dev/null ||
		fail "the claim $1 does not hold: $(tail -n 3 "$SBXFS_TEST_DIR/claim" | tr '\n' ' ')"
	same 'sandboxes left behind' "$(d ps -aq --filter "label=sbxfs.scope=$PREFIX")" ''
}

# AIR-12, AIR-21.
test_python_availability() { claim availability; }
# AIR-01, AIR-04, AIR-21.
test_python_success() { claim success; }
# AIR-11, AIR-21.
test_python_async_awaited() { claim awaited; }
# AIR-03, AIR-21.
test_python_timeout() { claim timeout; }
# AIR-09, AIR-21.
test_python_network_isolation() { claim network; }
# AIR-04, AIR-05.
test_python_failures_told_apart() { claim failures; }
