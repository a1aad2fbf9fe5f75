# test_dispose.sh: `sbxfs rm --scope`: a conversation's sandboxes, by label, from any process.
. "$SBXFS_TOP/tests/lifecycle/life.sh"

create_as() { local scope=$1 thread=$2 kind=$3; expect_exit 0 sbxfs create --scope "$scope" --thread "$thread" --kind "$kind" --label test="$PREFIX" --image "$IMAGE"; }

# MAF-32, MAF-33, MAF-22: every kind and thread of the scope and nothing else; counts are true; scopes that share 63
# characters do not meet.
test_by_scope() {
	local long other=${PREFIX}other
	long=$PREFIX$(printf '%060d' 0)
	create_as "$PREFIX" one a
	create_as "$PREFIX" one b
	create_as "$PREFIX" two a
	create_as "${long}A" one a
	create_as "${long}B" one a
	local left=$OUT
	expect_exit 0 sbxfs rm --scope "$PREFIX" --thread two --json
	same 'of a thread' "$(field '"\(.removed) \(.failed)"')" '1 0'
	expect_exit 0 sbxfs rm --scope "$PREFIX" --json
	same 'of a scope' "$(field '"\(.removed) \(.failed)"')" '2 0'
	expect_exit 0 sbxfs rm --scope "${long}A" --json
	same 'of a long one' "$(field .removed)" 1
	d inspect "$left" >/dev/null || fail 'the one with the same beginning went too'
	expect_exit 0 sbxfs rm --scope "${long}B"
	expect_exit 0 sbxfs rm --scope "$other" --json
	same 'of none' "$(field .removed)" 0
	same left "$(d ps -aq --filter "label=sbxfs.label.test=$PREFIX")" ''
}

# MAF-32: one kind or agent of the scope where it is named, and every one where it is not; a value that nothing was made
# with removes nothing, and an empty one is refused.
test_by_kind_and_agent() {
	create_as "$PREFIX" one a
	create_as "$PREFIX" one b
	create_as "$PREFIX" two b
	expect_exit 0 sbxfs create --scope "$PREFIX" --thread one --kind b --agent x --label test="$PREFIX" --image "$IMAGE"
	local none
	for none in --kind=c --agent=y '--agent=x --kind=a'; do
		# shellcheck disable=SC2086 # words
		expect_exit 0 sbxfs rm --scope "$PREFIX" $none --json
		same "removed by $none" "$(field .removed)" 0
	done
	expect_exit 0 sbxfs rm --scope "$PREFIX" --agent x --json
	same 'of an agent' "$(field '"\(.removed) \(.failed)"')" '1 0'
	expect_exit 0 sbxfs rm --scope "$PREFIX" --thread one --kind b --json
	same 'of a thread and a kind' "$(field .removed)" 1
	expect_exit 0 sbxfs rm --scope "$PREFIX" --kind b --json
	same 'of a kind' "$(field .removed)" 1
	same left "$(d ps -a --filter "label=sbxfs.label.test=$PREFIX" --format '{{.Label "sbxfs.kind"}}')" a
	expect_exit 2 sbxfs rm --kind a
	expect_exit 2 sbxfs rm --scope "$PREFIX" --kind ''
	expect_exit 2 sbxfs rm --scope "$PREFIX" --agent ''
	expect_exit 2 sbxfs rm --agent a name
}

# MAF-33, MAF-34: a list that fails is a failure and not a clean zero.
test_a_failed_list_is_a_failure() {
	make a
	liar_up 'HTTP/1.1 200 OK' 'HTTP/1.1 500 NO'
	expect_exit 11 sbxfs rm --scope "$PREFIX"
	liar_down
	same 'it stays' "$(state_of a)" running
	proxy_up
	proxy_stall '/containers/json'
	local status=0
	ERR=$(sbxfs rm --scope "$PREFIX" --timeout 3 2>&1 >/dev/null) || status=$?
	[ $status != 0 ] || fail 'a clean zero'
	one_sentence
	proxy_flow
}

# MAF-32: usage.
test_what_rm_takes() {
	expect_exit 2 sbxfs rm
	expect_exit 2 sbxfs rm --thread one
	expect_exit 2 sbxfs rm name --scope one
	expect_exit 2 sbxfs rm --instance x one two
	# An unset variable of a script's is not the scope of everything that was made without one.
	expect_exit 2 sbxfs rm --scope ''
	one_sentence
	says --scope
	expect_exit 2 sbxfs rm --scope one --thread ''
	says --thread
	expect_exit 2 sbxfs reap --older-than 24h --scope ''
	says --scope
}
