# test_doctor.sh: `sbxfs doctor`: what it says of an engine, against what the engine itself says. MAF-04.
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
		'egress engine fuse limits os pause rootless sandbox seccomp state storage support userns'
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
