# attackers.sh: hostile guests for the tests of this folder; sourced by them.
# shellcheck shell=bash disable=SC2034

ATTACK=$SBXFS_TOP/build/tests/conformance/attack
GUEST_ATTACK=$SBXFS_TOP/build/tests/conformance/guest_attack

# attacker_start NAME ARG…: guest_attack as the guest user, until the sandbox goes. Nice, so that the host's side gets to run
# where there are few cores: it is the order of things that is attacked, not the processor.
attacker_start() { attacker_as in_guest "$@"; }
attacker_as() {
	local how=$1 name=$2
	shift 2
	install -m 0755 "$GUEST_ATTACK" "$(guest_root "$name")/tmp/guest_attack.new"
	mv -f "$(guest_root "$name")/tmp/guest_attack.new" "$(guest_root "$name")/tmp/guest_attack"
	(renice -n "${ATTACKER_NICE:-5}" "$BASHPID" && "$how" "$name" /tmp/guest_attack "$@") >/dev/null 2>&1 &
	sleep 0.3
	kill -0 $! 2>/dev/null || fail "the attacker does not run"
}
# no_leak WHAT COUNT: what has leaked once has leaked; no second try makes it good.
no_leak() {
	[ "$2" = 0 ] || { : >"$SBXFS_TEST_DIR/for-good" && fail "$1: $2"; }
}
count_of() { sed -n "s/.*$1=\([0-9]*\).*/\1/p" <<<"$2"; }

# How often the guest's counter moved (guest_attack counter /tmp/count), as the host sees it: nothing of ours is in between.
guest_count() { head -c 20 "$(guest_root "$1")/tmp/count"; }
# guest_runs_within MS NAME: the counter moves.
guest_runs_within() {
	local began first until
	began=$(now_ms) first=$(guest_count "$2")
	until=$((began + $1 * SLOW))
	while [ "$(guest_count "$2")" = "$first" ]; do
		[ "$(now_ms)" -lt $until ] || return 1
		sleep 0.01
	done
}
# freezer_file NAME: what the kernel says of the sandbox's processes, without asking the engine.
freezer_file() {
	local line
	line=$(grep -E '^[0-9]+:freezer:' "/proc/$(guest_pid "$1")/cgroup" || grep -E '^0::' "/proc/$(guest_pid "$1")/cgroup")
	case $line in *:freezer:*) echo "/sys/fs/cgroup/freezer${line#*:freezer:}/freezer.state" ;; *) echo "/sys/fs/cgroup${line#0::}/cgroup.freeze" ;; esac
}
is_frozen() {
	local state
	read -r state <"$1"
	case $state in THAWED | 0) return 1 ;; esac
}
paused() { api "/containers/$(full "$1")/json" | jq .State.Paused; }
is_not_paused() { [ "$(paused "$1")" = false ]; }
