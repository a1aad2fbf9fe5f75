# test_attacks.sh: a guest that swaps what is checked, against reads, stats, listings and writes (issue: freeze windows).
# Every attack is run twice: guarded, where nothing may leak, and with freeze=never, where it must leak at least once, or the
# test proves nothing. ATTACK_COUNT attempts (200; the full count is 2000) or ATTACK_SECONDS (40), whichever ends first; the
# premise has PREMISE_SECONDS (60).
# shellcheck shell=bash disable=SC2034
. "$SBXFS_TOP/tests/conformance/attackers.sh"

COUNT=${ATTACK_COUNT:-200} LIMIT=${ATTACK_SECONDS:-40} PREMISE=${PREMISE_SECONDS:-60}
export GUEST_SECONDS=$((LIMIT + PREMISE + 120))

# race OP NAME PATH COUNT FREEZE: the counts of attack.c.
race() {
	local seconds=$LIMIT
	[ "$5" = always ] || seconds=$PREMISE
	timeout -k 5 $((seconds + 60)) "$ATTACK" "$1" "$(full "$2")" "$3" "$4" "$5" "$seconds" </dev/null 2>"$SBXFS_TEST_DIR/race.err"
}

# guarded_and_premise WHAT OP NAME PATH
guarded_and_premise() {
	local guarded premise
	guarded=$(race "$2" "$3" "$4" "$COUNT" always) || fail "$1: the race did not end: $(tail -n 1 "$SBXFS_TEST_DIR/race.err")"
	premise=$(race "$2" "$3" "$4" 20000 never) || fail "$1: the premise did not end"
	echo "$1 guarded: $guarded"
	echo "$1 premise: $premise"
	same "$1: leaks with the guard on ($guarded)" "$(count_of leaks "$guarded")" 0
	same "$1: timeouts ($guarded)" "$(count_of timeouts "$guarded")" 0
	# One window each, but for a walk that is repeated; more would freeze the guest for nothing.
	[ "$(count_of windows "$guarded")" -le $((2 * $(count_of attempts "$guarded"))) ] || fail "$1: more windows than attempts: $guarded"
	[ "$(count_of good "$guarded")" -gt 0 ] || fail "$1: every attempt was refused, which proves nothing: $guarded; $(tail -n 1 "$SBXFS_TEST_DIR/race.err")"
	[ "$(count_of leaks "$premise")" -gt 0 ] || fail "$1: with the guard off nothing leaked, which proves nothing: $premise"
}

# A root-only tree that looks like the guest's own: same names, sizes and times, so that only the content tells.
plant_secret() {
	in_guest_as_root "$1" sh -c '
		mkdir -p /secret/work/out /secret/out
		head -c 4242 /dev/zero | tr "\0" S | sed "s/^SSSSSS/SECRET/" >/secret/file
		cp /secret/file /secret/work/out/file; : >/secret/secret-name
		touch -d @1700000000 /secret/file /secret/work/out/file
		chmod 0755 /secret'
}
own_file() { in_guest "$1" sh -c 'head -c '"${3:-4242}"' /dev/zero | tr "\0" p >"$1"; touch -d @1700000000 "$1"' sh "$2"; }

test_parent_swapped_read() {
	sandbox_start box out/
	plant_secret box
	in_guest box sh -c 'mkdir -p /work/out/d; ln -s /secret /work/out/l'
	own_file box /work/out/d/file
	attacker_start box swap /work/out/d /work/out/l
	guarded_and_premise 'read under a swapped parent' read box out/d/file
}

test_parent_swapped_stat() {
	sandbox_start box out/
	plant_secret box
	in_guest box sh -c 'mkdir -p /work/out/d; ln -s /secret /work/out/l'
	own_file box /work/out/d/file 7
	attacker_start box swap /work/out/d /work/out/l
	guarded_and_premise 'stat under a swapped parent' stat box out/d/file
}

test_parent_swapped_list() {
	sandbox_start box out/
	plant_secret box
	in_guest box sh -c 'mkdir -p /work/out/d/e; mkdir -p /work/out/m; ln -s /secret /work/out/m/e; : >/work/out/d/e/mine'
	in_guest_as_root box sh -c 'mkdir -p /secret2/e; : >/secret2/e/secret-name'
	in_guest box ln -s /secret2 /work/out/l
	attacker_start box swap /work/out/d /work/out/l
	guarded_and_premise 'list under a swapped parent' list box out/d/e
}

# The file itself becomes a link: Podman's GET follows it, Docker's answers with the link, which the archive shows.
test_last_component_swapped_read() {
	sandbox_start box out/
	plant_secret box
	in_guest box sh -c 'mkdir -p /work/out; ln -s /secret/file /work/out/l'
	own_file box /work/out/f
	attacker_start box swap /work/out/f /work/out/l
	local guarded premise
	guarded=$(race read box out/f "$COUNT" always) || fail 'the race did not end'
	echo "last component guarded: $guarded"
	same "leaks with the guard on ($guarded)" "$(count_of leaks "$guarded")" 0
	[ "$(count_of good "$guarded")" -gt 0 ] || fail "every attempt was refused: $guarded"
	engine_is podman || return 0 # Docker does not follow here: there is no attack to prove
	premise=$(race read box out/f 20000 never) || fail 'the premise did not end'
	echo "last component premise: $premise"
	[ "$(count_of leaks "$premise")" -gt 0 ] || fail "with the guard off nothing leaked: $premise"
}

test_ancestor_swapped_by_guest_root() {
	RUN_OPTIONS=(--user 0:0) LABELS=(--label sbxfs.workdir=/top/work)
	sandbox_start box out/
	plant_secret box
	in_guest_as_root box sh -c 'mkdir -p /top/work/out; ln -s /secret /toplink; head -c 4242 /dev/zero | tr "\0" p >/top/work/out/file; touch -d @1700000000 /top/work/out/file'
	attacker_as in_guest_as_root box swap /top /toplink
	guarded_and_premise 'read under a swapped ancestor' read box out/file
}

test_write_parent_swapped() {
	local guarded premise landed
	sandbox_start box out/
	in_guest_as_root box sh -c 'mkdir -p /victim; chmod 0755 /victim'
	in_guest box sh -c 'mkdir -p /work/in/d; ln -s /victim /work/in/l'
	attacker_start box swap /work/in/d /work/in/l
	guarded=$(race put box in/d/g "$COUNT" always) || fail 'the race did not end'
	landed=$(in_guest_as_root box sh -c 'ls /victim | wc -l')
	echo "write guarded: $guarded landed=$landed"
	same "files in a directory only root may write, guard on ($guarded)" "$landed" 0
	[ "$(count_of good "$guarded")" -gt 0 ] || fail "every write was refused: $guarded; $(tail -n 1 "$SBXFS_TEST_DIR/race.err")"
	premise=$(race put box in/d/p 400 never) || fail 'the premise did not end'
	landed=$(in_guest_as_root box sh -c 'ls /victim | wc -l')
	echo "write premise: $premise landed=$landed"
	[ "$landed" -gt 0 ] || fail "with the guard off nothing landed: $premise"
}

test_no_read_mixes_generations() {
	sandbox_start box out/
	in_guest box mkdir -p /work/out
	attacker_start box generations /work/out/f 33554432
	sleep 1
	COUNT=$((COUNT / 10))
	guarded_and_premise 'a file rewritten in place' uniform box out/f
}
