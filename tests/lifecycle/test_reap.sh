# test_reap.sh: `sbxfs reap`: removal by age alone. Always with a scope here: the engine may be in use.
. "$SBXFS_TOP/tests/lifecycle/life.sh"

created() { date -d "$(d inspect "$(full "$1")" | jq -r '.[0].Created')" +%s; }

# MAF-150, MAF-151, MAF-155, MAF-156: strictly older goes, running or not, by id; the younger stays; --dry-run prints the
# same table and removes nothing; counts are of what was removed. Nothing is scheduled: two sweeps are two commands.
test_by_age() {
	make old
	make stopped
	d kill "$(full stopped)" >/dev/null
	sleep $((4 * SLOW))
	make young
	expect_exit 0 sbxfs reap --older-than 3s --scope "$PREFIX" --dry-run --json
	same 'dry run' "$(field '"\(.removed) \(.failed)"')" '0 0'
	same 'its results' "$(field '[.sandboxes[].result] | unique | join(" ")')" kept
	table() { field '[.sandboxes[] | [.name, .id]] | sort | tojson'; }
	ages() { field '[.sandboxes[]] | sort_by(.name) | map(.age_s) | join(" ")'; }
	local dry dry_ages
	dry=$(table) dry_ages=$(ages)
	same 'whom it names' "$(field '[.sandboxes[].name] | sort | join(" ")')" "$(full old) $(full stopped)"
	same 'all are there' "$(ours | wc -l)" 3
	local middle=$((($(created young) - $(created stopped)) / 2))
	expect_exit 0 sbxfs reap --older-than "$(($(date +%s) - $(created young) + middle))s" --scope "$PREFIX" --json
	same counts "$(field '"\(.removed) \(.failed)"')" '2 0'
	same 'the same table' "$(table)" "$dry"
	# Of the same creation, some seconds later.
	local was now wanted=$dry_ages
	for now in $(ages); do
		was=${wanted%% *} wanted=${wanted#* }
		[ "$now" -ge "$was" ] && [ "$now" -le $((was + 20 * SLOW)) ] || fail "ages: dry $dry_ages, then $(ages)"
	done
	same left "$(ours)" "$(id_of young)"
	expect_exit 0 sbxfs reap --older-than 1h --scope "$PREFIX" --json
	same 'the second sweep' "$(field .removed)" 0
	local age
	for age in 0 5 -1 -5s soon 0s ''; do expect_exit 2 sbxfs reap --older-than "$age" --scope "$PREFIX"; done
	expect_exit 2 sbxfs reap --scope "$PREFIX"
}

# MAF-152: by all the labels; what only looks like one stays, by name above all (bug case 87).
test_decoys_stay() {
	local label=(--label "sbxfs.scope=$PREFIX" --label sbxfs.thread=t --label sbxfs.agent=a)
	container_start three --label sbxfs.version=1 "${label[@]}"
	container_start unversioned "${label[@]}" --label sbxfs.kind=k
	container_start proxy --label sbxfs.version=1 "${label[@]}" --label sbxfs.kind=k --label sbxfs.role=proxy
	container_start sbx-old
	container_start all-of-it --label "sbxfs.scope=$PREFIX-other" --label sbxfs.version=1 --label sbxfs.thread=t --label sbxfs.agent=a --label sbxfs.kind=k
	container_start all --label sbxfs.version=1 "${label[@]}" --label sbxfs.kind=k
	sleep 2
	expect_exit 0 sbxfs reap --older-than 1s --scope "$PREFIX" --json
	same 'only the one with all of them' "$(field '"\(.removed) \([.sandboxes[] | select(.result == "removed").name] | join(" "))"')" "1 $(full all)"
	same left "$(ours | wc -l)" 5
}

# MAF-153: an inventory that cannot be read deletes nothing.
test_a_failed_inventory_deletes_nothing() {
	make a
	sleep 2
	liar_up '"Created":1' '"Created":x'
	local status=0
	ERR=$(sbxfs reap --older-than 1s --scope "$PREFIX" 2>&1 >/dev/null) || status=$?
	same exit $status 11
	one_sentence
	says 'nothing was removed'
	liar_down
	same 'it stays' "$(state_of a)" running
}

# MAF-153: a container that keeps itself from being listed, as a guest can on Podman, is a gap in the inventory: nothing is
# deleted. By scope, where no age is judged, the others can be removed and the gap is told.
test_a_gap_in_the_inventory_deletes_nothing() {
	engine_is podman || skip 'Docker lists without the lock of any container'
	make a
	make b
	local gap status=0
	gap=$(id_of a)
	sleep 2
	proxy_up
	# The whole list, and each part of it that has this one.
	proxy_stall 'sbxfs.version%22%5D%7D' "sbxfs.scope%3D$PREFIX%22%5D%7D" "%5E${gap::1}%22" "%5E${gap::2}%22" "%5E${gap::3}%22"
	ERR=$(sbxfs reap --older-than 1s --scope "$PREFIX" 2>&1 >/dev/null) || status=$?
	same exit $status 11
	one_sentence
	says 'nothing was removed' "${gap::3}" 'rm --scope'
	same 'both stay' "$(DOCKER_HOST=$ENGINE_HOST ours | wc -l)" 2
	expect_exit 13 sbxfs rm --scope "$PREFIX" --json
	same 'around it' "$(field '"\(.removed) \(.failed) \([.sandboxes[].result] | sort | join(" "))"')" '1 1 removed unlisted'
	proxy_flow
	same left "$(ours)" "$gap"
}

# MAF-155: what is removed is removed by its id: of a container that was chosen and is gone when it is its turn, the name has
# a successor, which stays.
test_removed_by_id() {
	make a
	local old new
	old=$(id_of a)
	sleep 2
	proxy_up
	proxy_stall 'DELETE /'
	"$SBXFS" reap --older-than 1s --scope "$PREFIX" --json </dev/null >told 2>said &
	local pid=$!
	wait_for 10 proxy_held "^DELETE /[^ ]*/containers/$old\\?"
	DOCKER_HOST=$ENGINE_HOST d rm -f "$(full a)" >/dev/null
	DOCKER_HOST=$ENGINE_HOST make a
	new=$(DOCKER_HOST=$ENGINE_HOST id_of a)
	proxy_flow
	wait $pid || fail "reap: $(cat said)"
	same 'the row' "$(jq -r '"\(.removed) \(.failed) \(.sandboxes[0].id) \(.sandboxes[0].result)"' told)" "0 0 $old absent"
	same 'the new one' "$(id_of a) $(state_of a)" "$new running"
}

# MAF-154, MAF-34: one that cannot be looked at again right before it goes is kept and told, and keeps nobody else.
test_a_failed_last_look_keeps_that_one() {
	make a
	make b
	local kept
	kept=$(id_of a)
	sleep 2
	proxy_up
	proxy_refuse "/containers/$kept/json"
	expect_exit 13 sbxfs reap --older-than 1s --scope "$PREFIX" --json
	one_sentence
	says "$(full a)"
	same 'the rows' "$(field '[.sandboxes[] | "\(.name) \(.result)"] | sort | join(", ")')" "$(full a) unlisted, $(full b) removed"
	has 'why' "$(field '.sandboxes[] | select(.result == "unlisted").reason')" 'cannot be inspected'
	same left "$(ours)" "$kept"
}

# MAF-154, MAF-157: what was chosen is looked at once more by its id: a replacement by the same name survives.
test_a_replacement_survives() {
	make a
	local old
	old=$(id_of a)
	sleep 2
	proxy_up
	proxy_stall "/containers/$old/json" "/containers/$old?"
	"$SBXFS" reap --older-than 1s --scope "$PREFIX" --json </dev/null >told 2>said &
	local pid=$!
	sleep 2
	DOCKER_HOST=$ENGINE_HOST d rm -f "$(full a)" >/dev/null
	DOCKER_HOST=$ENGINE_HOST make a
	proxy_flow
	wait $pid || fail "reap: $(cat said)"
	same counts "$(jq -r '"\(.removed) \(.sandboxes[0].result)"' told)" '0 absent'
	same 'the new one' "$(DOCKER_HOST=$ENGINE_HOST state_of a)" running
}
