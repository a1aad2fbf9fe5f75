# test_two_users.sh: two users of one engine, root and one of the socket's group, on one sandbox at once.
# PAUSER_SECONDS (20) each.
# shellcheck shell=bash
. "$SBXFS_TOP/tests/conformance/attackers.sh"

LIMIT=$((${PAUSER_SECONDS:-20} * SLOW)) GROUP=4343
export GUEST_SECONDS=$((LIMIT * 13 + 120))
user() { setpriv --reuid 65534 --regid 65534 --groups $GROUP env "HOME=$SBXFS_TEST_DIR/user" "XDG_RUNTIME_DIR=$SBXFS_TEST_DIR/user" "$@"; }
# In front of a command: the places where users meet are its own.
APART=(unshare -m --propagation private sh -c 'for place in /run/lock /dev/shm /tmp; do ! [ -d $place ] || mount -t tmpfs -o mode=1777 none $place; done; exec "$@"' sh)

# both [CMD…]: what root's reads and the user's come to, the user's by CMD.
both() {
	timeout -k 5 $((LIMIT + 60)) "$ATTACK" uniform "$(full box)" out/f 1000000 always "$LIMIT" </dev/null >root.tally 2>root.err &
	local root=$!
	timeout -k 5 $((LIMIT + 60)) "$@" setpriv --reuid 65534 --regid 65534 --groups $GROUP env "HOME=$SBXFS_TEST_DIR/user" "XDG_RUNTIME_DIR=$SBXFS_TEST_DIR/user" \
		./attack uniform "$(full box)" out/f 1000000 always "$LIMIT" </dev/null >user.tally 2>user.err || fail "the user's reads did not end: $(tail -n 1 user.err)"
	wait $root || fail "root's reads did not end: $(tail -n 1 root.err)"
	echo "root: $(cat root.tally) $(tail -n 1 root.err) user: $(cat user.tally) $(tail -n 1 user.err)"
}
sum_of() { local n total=0; for n in $(grep -o "$1=[0-9]*" root.tally user.tally | sed 's/.*=//'); do total=$((total + n)); done; echo $total; }

# One of them took a window of the other's for somebody's pause, or had its own resumed.
disturbed() { [ "$(sum_of windows)" -lt "$(sum_of good)" ] || grep -q 'resumed by somebody else' root.err user.err; }

# MAF-96: two processes of two users take turns, and each is right.
test_two_users_share_the_windows() {
	proxy_up $GROUP
	sandbox_start box out/
	in_guest box mkdir -p /work/out
	attacker_start box generations /work/out/f 4000000
	install -m 0755 "$ATTACK" attack
	install -d -m 0700 -o 65534 -g 65534 user
	sleep 1
	both
	echo "measured two users: $(cat root.tally) $(cat user.tally)"
	no_leak 'reads of two values' "$(sum_of leaks)"
	same 'timeouts' "$(sum_of timeouts)" 0
	[ "$(count_of good "$(cat root.tally)")" -gt 0 ] && [ "$(count_of good "$(cat user.tally)")" -gt 0 ] || fail 'one of them read nothing'
	# An engine on a crowded machine may fail to pause; but nobody reads in a window of the other's, taken for somebody's pause.
	[ "$(count_of windows "$(cat root.tally)")" -ge "$(count_of good "$(cat root.tally)")" ] && [ "$(count_of windows "$(cat user.tally)")" -ge "$(count_of good "$(cat user.tally)")" ] || fail 'one read in a window of the other'
	wait_for 5 is_not_paused box
	local try
	for try in 1 2 3 4 5 6 7 8 9 10; do # an engine that is slow lets them read so little that they need not meet
		both "${APART[@]}"
		echo "premise: $(cat root.tally) $(cat user.tally)"
		no_leak 'reads of two values, apart' "$(sum_of leaks)"
		! disturbed || break
	done
	disturbed || fail "in $try times apart they did not meet either, which proves nothing"
	wait_for 5 is_not_paused box
}

# The directory is closed to whoever may not use the engine; one who takes its name first is told of, and gains nothing.
test_an_outsider_cannot_hold_a_lock() {
	proxy_up $((GROUP + 1))
	sandbox_start box out/
	guest_write box out/f text
	same bytes "$(sbxfs get "$(full box)" out/f --to got >/dev/null && cat got/f)" text
	local dir file
	dir=$(sbxfs doctor --json | jq -r '.findings[] | select(.topic == "state").text' | grep -o '/[^ ]*sbxfs-group-[0-9]*') || fail 'doctor names no shared directory'
	file=$(find "$dir" -name '*-'"$(sandbox_id box)")
	[ -n "$file" ] || fail "no lock file in $dir"
	same 'modes' "$(stat -c %a:%g "$dir" "$file" | tr '\n' ' ')" "2770:$((GROUP + 1)) 660:$((GROUP + 1)) "
	! user cat "$file" 2>/dev/null || fail 'an outsider can open a lock'
	! user ls "$dir" 2>/dev/null || fail 'an outsider can list the locks'
	mv "$dir" "$dir.away"
	user mkdir -m 0777 "$dir"
	same 'bytes, the name taken' "$(sbxfs get "$(full box)" out/f --to got2 >/dev/null 2>said && cat got2/f)" text
	has 'what was said' "$(cat said)" "$dir is not a directory of the engine's group"
	rmdir "$dir"
	mv "$dir.away" "$dir"
}
