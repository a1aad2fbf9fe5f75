# test_attacks.sh: a guest that swaps what is checked, against reads, stats, listings and writes (issue: freeze windows).
# Every attack is run twice: guarded, where nothing may leak, and with freeze=never, where it must leak at least once, or the
# test proves nothing. ATTACK_COUNT attempts each, all of them within ATTACK_SECONDS, or it fails; the premise has
# PREMISE_SECONDS. run.sh sets all three.
# shellcheck shell=bash disable=SC2034
. "$SBXFS_TOP/tests/conformance/attackers.sh"

COUNT=${ATTACK_COUNT:-67} LIMIT=$((${ATTACK_SECONDS:-150} * SLOW)) PREMISE=$((${PREMISE_SECONDS:-60} * SLOW))
export GUEST_SECONDS=$((LIMIT + PREMISE + 120))

# race OP NAME PATH COUNT FREEZE SECONDS: the counts of attack.c.
race() { timeout -k 5 $(($6 + 60)) "$ATTACK" "$1" "$(full "$2")" "$3" "$4" "$5" "$6" </dev/null 2>"$SBXFS_TEST_DIR/race.err"; }

# leaks_of OP TALLY: what attack.c counted, or for what writes what landed() finds in the guest.
leaks_of() { case $1 in put | replace) landed ;; *) count_of leaks "$2" ;; esac; }

# guarded WHAT OP NAME PATH: leaves the counts in $GUARDED.
guarded() {
	local last
	GUARDED=$(race "$2" "$3" "$4" "$COUNT" always "$LIMIT") || fail "$1: the race did not end: $(tail -n 1 "$SBXFS_TEST_DIR/race.err")"
	last=$(tail -n 1 "$SBXFS_TEST_DIR/race.err")
	GUARDED="$GUARDED leaked=$(leaks_of "$2" "$GUARDED")"
	echo "$1 guarded: $GUARDED"
	no_leak "$1: leaks with the guard on ($GUARDED)" "$(count_of leaked "$GUARDED")"
	same "$1: timeouts ($GUARDED)" "$(count_of timeouts "$GUARDED")" 0
	same "$1: attempts in $LIMIT s ($GUARDED)" "$(count_of attempts "$GUARDED")" "$COUNT"
	# One window each, but for a walk that is repeated; more would freeze the guest for nothing.
	[ "$(count_of windows "$GUARDED")" -le $((2 * COUNT)) ] || fail "$1: more windows than attempts: $GUARDED"
	[ "$(count_of good "$GUARDED")" -gt 0 ] || fail "$1: every attempt was refused, which proves nothing: $GUARDED; $last"
}

# unguarded WHAT OP NAME PATH: until it leaks, or the time is over; what it came to is left in $PREMISED. What writes is looked
# at every 40 attempts.
unguarded() {
	local tally attempts=0 leaked=0 round=20000 until=$((SECONDS + PREMISE))
	case $2 in put | replace) round=40 ;; esac
	while [ "$leaked" = 0 ] && [ $SECONDS -lt $until ]; do
		tally=$(race "$2" "$3" "$4" $round never $((until - SECONDS))) || fail "$1: the premise did not end: $(tail -n 1 "$SBXFS_TEST_DIR/race.err")"
		attempts=$((attempts + $(count_of attempts "$tally")))
		leaked=$(leaks_of "$2" "$tally")
	done
	PREMISED="attempts=$attempts leaked=$leaked"
	echo "$1 premise: $PREMISED"
}

# guarded_and_premise WHAT OP NAME PATH
guarded_and_premise() {
	guarded "$@"
	unguarded "$@"
	[ "$(count_of leaked "$PREMISED")" -gt 0 ] || fail "$1: with the guard off nothing leaked, which proves nothing: $PREMISED"
}
# The same where the engine itself does not follow, so that nothing leaks without the guard either: the premise is then that the
# race is on, which is that attempts met both what is the guest's own and the link.
guarded_and_raced() {
	guarded "$@"
	PREMISE=$((PREMISE / 6))
	unguarded "$@"
	[ "$(count_of links "$GUARDED")" -gt 0 ] || fail "$1: no attempt met the link, which proves nothing: $GUARDED"
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

# MAF-89, MAF-95: the walk and the transfer are two calls, and one window.
test_parent_swapped_read() {
	sandbox_start box out/
	plant_secret box
	in_guest box sh -c 'mkdir -p /work/out/d; ln -s /secret /work/out/l'
	own_file box /work/out/d/file
	attacker_start box swap /work/out/d /work/out/l
	guarded_and_premise 'read under a swapped parent' read box out/d/file
}

# MAF-95
test_parent_swapped_stat() {
	sandbox_start box out/
	plant_secret box
	in_guest box sh -c 'mkdir -p /work/out/d; ln -s /secret /work/out/l'
	own_file box /work/out/d/file 7
	attacker_start box swap /work/out/d /work/out/l
	guarded_and_premise 'stat under a swapped parent' stat box out/d/file
}

# MAF-95
test_parent_swapped_list() {
	sandbox_start box out/
	plant_secret box
	in_guest box sh -c 'mkdir -p /work/out/d/e; mkdir -p /work/out/m; ln -s /secret /work/out/m/e; : >/work/out/d/e/mine'
	in_guest_as_root box sh -c 'mkdir -p /secret2/e; : >/secret2/e/secret-name'
	in_guest box ln -s /secret2 /work/out/l
	attacker_start box swap /work/out/d /work/out/l
	guarded_and_premise 'list under a swapped parent' list box out/d/e
}

# The path itself becomes a link. Podman's GET follows it; Docker's looks, then opens, and follows only a link that came in between,
# which is seldom met. No engine's stat follows it. An upload removes it, then makes the file, and Docker 20.10 follows what came in between.
last_component() { if engine_is podman; then guarded_and_premise "$@"; else guarded_and_raced "$@"; fi; }

# MAF-89
test_last_component_swapped_read() {
	sandbox_start box out/
	plant_secret box
	in_guest box sh -c 'mkdir -p /work/out; ln -s /secret/file /work/out/l'
	own_file box /work/out/f
	attacker_start box swap /work/out/f /work/out/l
	last_component 'read, the last component swapped' read box out/f
}

test_last_component_swapped_stat() {
	sandbox_start box out/
	plant_secret box
	in_guest box sh -c 'mkdir -p /work/out; ln -s /secret/file /work/out/l'
	own_file box /work/out/f 7
	attacker_start box swap /work/out/f /work/out/l
	guarded_and_raced 'stat, the last component swapped' stat box out/f
}

test_last_component_swapped_list() {
	sandbox_start box out/
	plant_secret box
	in_guest box sh -c 'mkdir -p /work/out/d; ln -s /secret /work/out/l; : >/work/out/d/mine'
	attacker_start box swap /work/out/d /work/out/l
	last_component 'list, the last component swapped' list box out/d
}

# MAF-104: the target must keep its bytes, whichever of the two names the engine meets.
test_last_component_swapped_write() {
	landed() { in_guest_as_root box sh -c 'cmp -s /victim /victim.was; echo $?'; }
	sandbox_start box out/
	in_guest_as_root box sh -c 'echo target >/victim; cp /victim /victim.was; chmod 0644 /victim'
	in_guest box mkdir -p /work/in
	attacker_start box relink /work/in/f /victim
	guarded_and_raced 'write, the last component swapped' replace box in/f
}

# guest_root_with_an_ancestor: a root in the guest whose work dir is /top/work, and /toplink to a tree of the same names.
guest_root_with_an_ancestor() {
	RUN_OPTIONS=(--user 0:0) LABELS=(--label sbxfs.workdir=/top/work)
	sandbox_start box out/
	plant_secret box
	in_guest_as_root box sh -c "mkdir -p /top/work/out/e /top/work/in /secret/work/out/e /secret/work/in; ln -s /secret /toplink
		: >/top/work/out/e/mine; : >/secret/work/out/e/secret-name
		head -c $1 /dev/zero | tr '\0' p >/top/work/out/file; touch -d @1700000000 /top/work/out/file"
	attacker_as in_guest_as_root box swap /top /toplink
}

test_ancestor_swapped_read() {
	guest_root_with_an_ancestor 4242
	guarded_and_premise 'read under a swapped ancestor' read box out/file
}

test_ancestor_swapped_stat() {
	guest_root_with_an_ancestor 7
	guarded_and_premise 'stat under a swapped ancestor' stat box out/file
}

test_ancestor_swapped_list() {
	guest_root_with_an_ancestor 7
	guarded_and_premise 'list under a swapped ancestor' list box out/e
}

test_ancestor_swapped_write() {
	landed() { in_guest_as_root box sh -c 'ls /secret/work/in | wc -l'; }
	guest_root_with_an_ancestor 7
	guarded_and_premise 'write under a swapped ancestor' put box in/g
}

# MAF-95, MAF-104: with the engine's root authority it would land where the guest may not write.
test_parent_swapped_write() {
	landed() { in_guest_as_root box sh -c 'ls /victim | wc -l'; }
	sandbox_start box out/
	in_guest_as_root box sh -c 'mkdir -p /victim; chmod 0755 /victim'
	in_guest box sh -c 'mkdir -p /work/in/d; ln -s /victim /work/in/l'
	attacker_start box swap /work/in/d /work/in/l
	guarded_and_premise 'write under a swapped parent' put box in/d/g
}

# MAF-95: the window is held over the walk and the transfer.
test_no_read_mixes_generations() {
	sandbox_start box out/
	in_guest box mkdir -p /work/out
	attacker_start box generations /work/out/f 33554432
	sleep 1
	COUNT=${GENERATION_COUNT:-20}
	guarded_and_premise 'a file rewritten in place' uniform box out/f
}
