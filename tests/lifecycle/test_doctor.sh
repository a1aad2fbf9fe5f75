# test_doctor.sh: `sbxfs doctor`: what it says of an engine, against what the engine itself says.
. "$SBXFS_TOP/tests/lifecycle/life.sh"

level() { jq -r --arg topic "$1" '[.findings[] | select(.topic == $topic).level] | join(" ")' <<<"$OUT"; }

# AIR-12, AIR-20, MAF-04: one document with every item of it; each is the engine's own word, and pause is tried on a
# sandbox that is gone afterwards.
test_what_it_says_is_so() {
	local before info version
	before=$(d ps -aq --no-trunc --filter label=sbxfs.kind=doctor)
	info=$(api /info)
	version=$(api /version)
	expect_exit 0 sbxfs doctor --json --image "$IMAGE"
	same 'one document' "$(jq -s length <<<"$OUT")" 1
	same keys "$(field 'keys_unsorted | join(" ")')" 'available findings rootless userns pause engine declarations'
	same version "$(field .engine.version)" "$(jq -r .Version <<<"$version")"
	same API "$(field '.engine.api_version + " " + .engine.api_in_use')" "$(jq -r .ApiVersion <<<"$version") 1.41"
	same storage "$(field .engine.storage)" "$(jq -r .Driver <<<"$info")"
	same cgroup "$(field .engine.cgroup_version)" "$(jq -r .CgroupVersion <<<"$info")"
	same runtime "$(field .engine.runtime)" "$(jq -r .DefaultRuntime <<<"$info")"
	same url "$(field .engine.url)" "$DOCKER_HOST"
	same 'yes and no' "$(field '[.available, .rootless, .userns, .engine.limits, .engine.seccomp_default] | join(" ")')" 'true false false true true'
	same pause "$(field .pause)" works
	same 'every topic' "$(field '.findings | map(.topic) | unique | join(" ")' | sed 's/copy //')" \
		'archive ceilings egress engine freeze fuse limits os pause rootless sandbox seccomp state storage support userns'
	same 'the throwaway sandbox' "$(d ps -aq --no-trunc --filter label=sbxfs.kind=doctor)" "$before"
	# Which engines are supported is said by name, and the page has the list.
	case $SBXFS_TEST_ENGINE in
	docker*) same support "$(field .engine.name) $(level support)" 'Docker Engine ok' ;;
	*) same support "$(field .engine.name) $(level support)" 'Podman Engine note' ;;
	esac
	local word
	for word in 'Docker Engine' 'Docker Desktop' Podman Colima OrbStack 'Rancher Desktop' Windows; do
		grep -qF "$word" "$SBXFS_TOP/docs/engines.md" || fail "docs/engines.md does not say what becomes of $word"
	done
	# In words: a line an item, on stdout alone.
	expect_exit 0 sbxfs doctor --image "$IMAGE"
	same 'standard error' "$ERR" ''
	has lines "$OUT" 'pause and unpause work'
	has lines "$OUT" "$(jq -r .Version <<<"$version")"
}

# MAF-04: the rule for Docker's releases is one sentence: which it is, which are supported, and what to do about it.
test_releases_outside_of_the_tested_ones() {
	engine_is docker || skip 'Podman is best effort in every release'
	local version
	version=$(api /version | jq -r .Version | cut -c1-2)
	support() {
		liar_up "\"Version\":\"$version" "\"Version\":\"$1"
		expect_exit 0 sbxfs doctor --json
		liar_down
		field '.findings[] | select(.topic == "support") | .level + " " + .text'
	}
	local old new
	old=$(support 19)
	new=$(support 30)
	has old "$old" "warning Docker 19."
	has old "$old" 'older than 20.10'
	has new "$new" "warning Docker 30."
	has new "$new" 'newer than 28.5'
	has 'the page' "$(cat "$SBXFS_TOP/docs/engines.md")" "The rule for Docker's releases"
}

# What the configured mount options leave open is said, as info.json of such a mount says it. The environment's come after the
# file's.
test_what_the_mount_options_leave_open() {
	freeze_of() {
		mkdir -p "$XDG_CONFIG_HOME/sbxfs"
		printf '[mount]\n%s\n' "$1" >"$XDG_CONFIG_HOME/sbxfs/config.ini"
		expect_exit 0 sbxfs doctor --json
		field '[.available, (.findings[] | select(.topic == "freeze") | .level, .text)] | join(" ")'
	}
	local said
	has always "$(freeze_of 'freeze = always')" 'true ok mounts use freeze=always'
	has reads "$(freeze_of 'freeze = reads')" 'true warning mounts use freeze=reads; what that leaves open: uploads are not paused'
	has unpaused "$(freeze_of 'max_frozen_bytes = 64m')" 'true warning mounts use freeze=always; what that leaves open: files over'
	said=$(freeze_of 'freeze = never')
	has never "$said" 'true warning mounts use freeze=never; what that leaves open: nothing is paused'
	make box --output out/
	mount_up
	has 'the same' "$said" "freeze=$(info box .freeze.mode); what that leaves open: $(info box .freeze.residual)"
	mount_down
	rm "$XDG_CONFIG_HOME/sbxfs/config.ini"
	expect_exit 0 env SBXFS_OPTIONS=freeze=never "$SBXFS" doctor
	has environment "$OUT" 'freeze=never; what that leaves open: nothing is paused'
	echo '[mount]
freeze = sometimes' >"$XDG_CONFIG_HOME/sbxfs/config.ini"
	expect_exit 8 sbxfs doctor
	has 'a wrong option' "$OUT" 'freeze=sometimes'
}

# An engine that cannot pause: a problem, with the option that does without, and what that means.
test_an_engine_that_cannot_pause() {
	proxy_up
	proxy_refuse /pause
	expect_exit 8 sbxfs doctor --json --image "$IMAGE"
	same levels "$(field .available) $(field .pause) $(level pause)" 'false fails problem'
	has remedy "$(field '.findings[] | select(.topic == "pause").text')" 'freeze=never'
	has reason "$(field '.findings[] | select(.topic == "pause").text')" 'freezer not mounted'
}

# Bug case 70: a runtime whose guests' writes the engine does not see (here: sees late) is found out by trying.
test_a_runtime_that_keeps_writes_to_itself() {
	expect_exit 0 sbxfs doctor --json --image "$IMAGE"
	same 'the premise' "$(level archive)" ok
	liar_up written-by-the-guest written-by-the-ghost
	expect_exit 8 sbxfs doctor --json --image "$IMAGE"
	same level "$(level archive)" problem
	has 'what is wrong' "$(field '.findings[] | select(.topic == "archive").text')" 'an older content came'
	liar_down
}

# What is missing is a problem, and a problem is an exit code: 8, of an engine that does not answer 11.
test_what_is_missing_is_said() {
	local seccomp
	seccomp=$(api /info | jq -c '.SecurityOptions[0]')
	liar_up '"OSType":"linux"' '"OSType":"wince"' "$seccomp" "\"$(printf '%*s' $((${#seccomp} - 2)) '' | tr ' ' x)\""
	expect_exit 8 sbxfs doctor --json
	same levels "$(field .available) $(level os) $(level seccomp)" 'false problem warning'
	same families "$(field '.declarations.os_families | length')" 0
	liar_down
	expect_exit 8 sbxfs doctor --json --image sbxfs-test:volume
	same levels "$(field .pause) $(level sandbox)" 'not-tried problem'
	expect_exit 8 sbxfs doctor --json --image sbxfs-test:noshell
	has 'what is wrong' "$(field '.findings[] | select(.topic == "sandbox").text')" sleep
	expect_exit 11 sbxfs doctor --engine "unix://$SBXFS_TEST_DIR/no.sock"
	one_sentence
	expect_exit 2 sbxfs doctor word
}
