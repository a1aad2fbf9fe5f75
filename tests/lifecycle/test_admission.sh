# test_admission.sh: what an engine, an image or a wish must be before anything is made; what sbxfs declares.
. "$SBXFS_TOP/tests/lifecycle/life.sh"

refuse() { # CODE PART OPTION…
	local code=$1 part=$2
	shift 2
	expect_exit "$code" sbxfs create --name "$(full x)" --scope "$PREFIX" --image "$IMAGE" "$@"
	one_sentence
	says "$part"
	none_left "$*"
}

# MAF-05: the ladder. A container is `container`, whatever is asked or set.
test_ladder() {
	local rung
	for rung in none runtime os_process container; do
		expect_exit 0 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE" --min-isolation "$rung"
	done
	same 'one sandbox' "$(ours | wc -l)" 1
	sbxfs rm "$(full a)" >/dev/null
	for rung in hardened_container microvm vm; do refuse 12 --min-isolation --min-isolation "$rung"; done
	refuse 2 invented --min-isolation invented
	refuse 12 --min-isolation --min-isolation vm --security-opt seccomp=unconfined
}

# MAF-16: the higher of the host's floor and of what is asked holds, whichever is which: a wish cannot lower it.
test_MAF_16_the_floor_of_the_host() {
	floor() { printf '[policy]\nmin_isolation = %s\n' "$1" >policy.ini; }
	floor microvm
	refuse 12 '[policy]' --config policy.ini
	refuse 12 '[policy]' --config policy.ini --min-isolation none
	expect_exit 12 sbxfs run --scope "$PREFIX" --image "$IMAGE" --config policy.ini --min-isolation none -- true
	says '[policy]'
	none_left run
	expect_exit 8 sbxfs doctor --json --config policy.ini
	same available "$(field '"\(.available) \(.declarations.isolation)"')" 'false container'
	floor container
	refuse 12 --min-isolation --config policy.ini --min-isolation microvm
	floor none
	refuse 12 --min-isolation --config policy.ini --min-isolation vm
	make a --config policy.ini
	floor container
	make a --config policy.ini --min-isolation none
	floor invented
	expect_exit 2 sbxfs create --name "$(full x)" --image "$IMAGE" --config policy.ini
	says invented
	printf '[policy]\nmax_isolation = vm\n' >policy.ini
	expect_exit 2 sbxfs ls --config policy.ini
	says max_isolation
}

# MAF-06, MAF-07, MAF-08, MAF-09, MAF-11, MAF-114, MAF-115, AIR-12, AIR-20, AIR-22: one document, always the same keys.
# What is not offered is named as withheld: reclaim too, so a sandbox goes by disposal.
test_declarations() {
	expect_exit 0 sbxfs doctor --json
	same available "$(field .available)" true
	same keys "$(field '.declarations | keys_unsorted | join(" ")')" 'isolation capabilities withheld limits egress_modes os_families'
	same isolation "$(field .declarations.isolation)" container
	same egress "$(field '.declarations.egress_modes | join(" ")')" closed
	same families "$(field '.declarations.os_families | join(" ")')" posix
	has withheld "$(field '.declarations.withheld | join(" ")')" 'reclaim run_code snapshot'
	same limits "$(field '.declarations.limits | del(.put, .get) | [.[] | .max_file_bytes, .max_total_bytes, .max_files] | join(" ")')" \
		'67108864 268435456 256 67108864 268435456 256'
	same 'limits of put and get' "$(field '.declarations.limits | [.put[], .get[]] | unique | tostring')" '[null]'
	printf '[limits]\nin_max_files = 7\nout_max_file = 9\n' >limits.ini
	expect_exit 0 sbxfs doctor --json --config limits.ini
	same 'limits as set' "$(field '.declarations.limits | [.in.max_files, .put.max_files, .out.max_file_bytes, .get.max_file_bytes, .out.max_files] | join(" ")')" '7 7 9 9 256'
	# No engine: an exit code and a sentence, in a document too.
	expect_exit 11 sbxfs doctor --json --engine "unix://$SBXFS_TEST_DIR/no.sock"
	same kind "$(field .error.kind)" engine
	# One explicit choice of how it is run; nothing is picked behind the caller's back. AIR-15, AIR-16.
	expect_exit 2 sbxfs run --backend local --image "$IMAGE" -- true
	says --backend
}

# AIR-13, AIR-20: only the engine's exact word counts, and where it is not there nothing is made.
test_require_rootless_and_userns() {
	refuse 12 --require-rootless --require-rootless
	refuse 12 --require-userns --require-userns
	local said word wrong='name=rootlessX xname=rootless name=seccomp,rootless' right='name=rootless rootless name=userns'
	# Podman needs more than a second to describe itself.
	engine_is podman && wrong=name=rootlessX right=name=rootless
	said=$(api /info | jq -c '.SecurityOptions[0]')
	for word in $wrong; do
		liar_up "$said" "$(as_long_as "$said" "$word")"
		refuse 12 --require-rootless --require-rootless
		refuse 12 --require-userns --require-userns
		liar_down
	done
	for word in $right; do
		liar_up "$said" "$(as_long_as "$said" "$word")"
		make a --require-userns
		case $word in
		*rootless) make a --require-rootless ;;
		*) expect_exit 12 sbxfs create --name "$(full b)" --scope "$PREFIX" --image "$IMAGE" --require-rootless ;;
		esac
		sbxfs rm "$(full a)" >/dev/null
		liar_down
	done
}
# AIR-13, MAF-09, MAF-10: an engine that does not describe itself is not taken for what was required: it says 500, or
# nothing until the time is over, and nothing is made, pulled or started.
test_what_cannot_be_read_is_no_yes() {
	local option status
	make a
	d kill "$(full a)" >/dev/null
	proxy_up
	for option in --require-rootless --require-userns '--require-os posix'; do
		proxy_refuse '/info'
		for name in x a; do
			# shellcheck disable=SC2086 # words
			expect_exit 11 sbxfs create --name "$(full $name)" --scope "$PREFIX" --image "$IMAGE" $option
			one_sentence
			says 'cannot be read'
		done
		proxy_serve
		proxy_stall '/info'
		status=0
		# shellcheck disable=SC2086 # words
		ERR=$(sbxfs create --name "$(full x)" --scope "$PREFIX" --image "$IMAGE" --timeout 2 $option 2>&1 >/dev/null) || status=$?
		same "exit code, $option stalled" "$status" 9
		one_sentence
		says 'cannot be read'
		proxy_flow
		same "left by $option" "$(ours | wc -l) $(state_of a)" '1 exited'
	done
}

# AIR-13, MAF-24: asked of a sandbox that runs already as of one to be made, and it is left as it was.
test_required_of_a_running_one_too() {
	make a
	local before option
	before=$(d inspect -f '{{.Id}} {{.State.Status}} {{.State.StartedAt}}' "$(full a)")
	for option in --require-rootless --require-userns; do
		expect_exit 12 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE" "$option"
		one_sentence
		says "$option"
		same 'the sandbox' "$(d inspect -f '{{.Id}} {{.State.Status}} {{.State.StartedAt}}' "$(full a)")" "$before"
	done
	make a
	has 'without it' "$ERR" reused
}
# as_long_as TEXT WORD: "WORD" and a second option that fills up to TEXT's length.
as_long_as() {
	local word=\"$2\",\"\"
	printf '"%s","%*s"' "$2" $((${#1} - ${#word})) '' | tr ' ' x
}

# AIR-13, AIR-20: a real engine that remaps users is one, for --require-userns and for doctor; files and owners are the
# guest's there, too.
test_an_engine_that_remaps_users() {
	engine_is docker20 || skip 'needs a Docker of its own'
	own_engine_up userns
	make a --require-userns --output out/
	guest a cat /proc/self/uid_map
	same 'the map' "$(awk '{ print $1, $2 }' <<<"$OUT")" '0 400000'
	echo text >note
	expect_exit 0 sbxfs put "$(full a)" note
	guest a stat -c '%u:%g' /work/in/note /work/in /work
	same owners "$OUT" $'1000:1000\n1000:1000\n1000:1000'
	guest a sh -c 'mkdir out; echo result >out/r'
	expect_exit 0 sbxfs get "$(full a)" out/r --to got
	same result "$(cat got/r)" result
	expect_exit 12 sbxfs create --name "$(full b)" --scope "$PREFIX" --image "$IMAGE" --require-rootless
	says --require-rootless
	expect_exit 0 sbxfs doctor --json --image "$IMAGE"
	same doctor "$(field '"\(.available) \(.userns) \(.rootless)"')" 'true true false'
	expect_exit 0 sbxfs rm "$(full a)"
	none_left
	own_engine_down
}

# AIR-13: a real rootless engine passes --require-rootless. What it cannot keep, on cgroup version 1 every limit, is
# refused all the same.
test_an_engine_without_root() {
	engine_is podman || skip 'needs a Podman of its own'
	own_engine_up rootless
	local status=0
	sbxfs doctor --json --image "$IMAGE" >told 2>said || status=$?
	same doctor "$(jq -r .rootless told)" true
	if [ "$(api /info | jq -r .CgroupVersion)" = 1 ]; then
		same 'what doctor says of it' "$status $(jq -r .available told)" '8 false'
		expect_exit 12 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE" --require-rootless --require-userns
		one_sentence
		says 'not confined by the engine as asked' --memory --cpus --pids-limit
	else
		make a --require-rootless --require-userns
		expect_exit 0 sbxfs rm "$(full a)"
	fi
	none_left
	own_engine_down
}

# AIR-14: a pin is name@sha256: and 64 lower-case hex digits, and the image must be of that digest.
test_require_digest_pin() {
	local hex image
	hex=$(printf '%064d' 0)
	for image in "$IMAGE" busybox localhost:5000/x:1 "x@sha256:${hex:1}" "x@sha256:${hex:1}A" "x@sha256:$hex"$'\n' "x y@sha256:$hex" "x@md5:$hex"; do
		expect_exit 12 sbxfs create --name "$(full x)" --scope "$PREFIX" --image "$image" --require-digest-pin
		one_sentence
		says --require-digest-pin
	done
	none_left
}

# MAF-09, MAF-10: the family is the daemon's word of now: asked before a create and a restart, not on reuse.
test_require_os() {
	refuse 2 --require-os --require-os windows
	liar_up '"OSType":"linux"' '"OSType":"wince"'
	refuse 12 wince --require-os posix
	same 'creates' "$(requests 'POST .*/containers/create')" 0
	make a
	liar_down
	d kill "$(full a)" >/dev/null
	liar_up '"OSType":"linux"' '"OSType":"wince"'
	expect_exit 12 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE" --require-os posix
	same 'not started' "$(state_of a)" exited
	liar_down
	make a
	liar_up
	make a --require-os posix
	same 'a warm one is not asked about' "$(requests '/info ')" 0
	liar_down
}

# MAF-12, MAF-13, MAF-14, MAF-15, MAF-81: what needs no engine is refused before one is asked, first things first.
test_refused_before_the_engine() {
	liar_up
	expect_exit 12 sbxfs create --image "$IMAGE" --min-isolation vm --security-opt nonsense --memory 1
	says --min-isolation
	expect_exit 8 sbxfs create --image "$IMAGE" --allow-host example.org
	expect_exit 2 sbxfs create --image "$IMAGE" --memory 1
	expect_exit 2 sbxfs get "$(full x)"
	same 'requests' "$(requests '/(containers|images|networks|exec)')" 0
	make a --output out/
	: >requests.log
	expect_exit 4 sbxfs info "$(full a)" ../etc/passwd
	expect_exit 4 sbxfs get "$(full a)" /etc/passwd
	expect_exit 12 sbxfs get "$(full a)" undeclared
	expect_exit 4 sbxfs put "$(full a)" /etc/hostname --to in/../x
	same 'archive requests' "$(requests '/archive')" 0
	liar_down
}

# MAF-01, MAF-02: every call goes to the engine that was chosen; a dead or missing one is a named error, never absence.
test_engine_that_is_not_there() {
	make a
	local command
	for command in ls "info $(full a)" "rm $(full a)" "create --image $IMAGE" "reap --older-than 1h --scope $PREFIX"; do
		# shellcheck disable=SC2086 # words
		expect_exit 11 sbxfs $command --engine "unix://$SBXFS_TEST_DIR/no.sock"
		one_sentence
		says no.sock
	done
	expect_exit 125 sbxfs exec "$(full a)" --engine "unix://$SBXFS_TEST_DIR/no.sock" -- true
	expect_exit 125 sbxfs run --image "$IMAGE" --engine "unix://$SBXFS_TEST_DIR/no.sock" -- true
	touch file.sock
	expect_exit 11 sbxfs ls --engine "unix://$SBXFS_TEST_DIR/file.sock"
	same 'the sandbox' "$(state_of a)" running
}

# MAF-03: where no process can be started it is said, and nothing is made.
test_a_host_that_cannot_spawn() {
	proxy_up 4343
	install -m 0755 "$SBXFS" sbxfs-copy
	mkdir -m 0700 home
	chown 4242:4242 home "$XDG_RUNTIME_DIR"
	as_user() { timeout -k 2 $((30 * SLOW)) setpriv --reuid 4242 --regid 4242 --groups 4343 env -u XDG_CONFIG_HOME -u XDG_CACHE_HOME HOME="$SBXFS_TEST_DIR/home" prlimit --nproc=1:1 "$@" </dev/null; }
	expect_exit 11 as_user "$SBXFS_TEST_DIR/sbxfs-copy" create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE"
	one_sentence
	says process
	DOCKER_HOST=$ENGINE_HOST none_left
}

# MAF-18, AIR-17: a command the image lacks is said when the sandbox is asked for, not at first use, and leaves nothing.
test_image_without_what_is_needed() {
	IMAGE=sbxfs-test:noshell refuse 8 sleep
	IMAGE=sbxfs-test:volume refuse 12 volume
	# Its own first process does: then files are served without a shell.
	IMAGE=sbxfs-test:noshell make a --output out/ -- /bin/hold
	echo text >note
	expect_exit 0 sbxfs put "$(full a)" note
	expect_exit 0 sbxfs info "$(full a)" in/note
	expect_exit 127 sbxfs exec "$(full a)" -- sh -c true
}

# MAF-18: a shell that is no program, or ends for want of a `sleep`, is done without; where there is no usable `sleep`
# either, it is said and not reported as created.
test_a_keep_alive_that_does_not_stay() {
	local made=() how
	busybox=$(command -v busybox)
	mkdir -p base/{bin,etc,work,proc,sys,dev}
	image() {
		made+=("$(full "$1"):1")
		tar --owner=1000 --group=1000 -C base -cf image.tar .
		d import --change 'USER 1000:1000' --change 'WORKDIR /work' image.tar "$(full "$1"):1" >/dev/null
	}
	ends() { echo 'int main(void) { return 127; }' | "${CC:-cc}" -static -x c -o base/bin/sh - || skip 'there is no compiler for a static program'; }
	directory() { mkdir base/bin/sh; }
	mode() { echo x >base/bin/sh; }
	format() { echo x >base/bin/sh && chmod +x base/bin/sh; }
	ends
	image nosleep
	IMAGE=$(full nosleep):1 refuse 8 sleep
	install -m 0755 "$busybox" base/bin/sleep
	for how in ends directory mode format; do
		rm -rf base/bin/sh
		$how
		image "$how"
		IMAGE=$(full "$how"):1 make "$how"
		same "state with $how" "$(state_of "$how")" running
		expect_exit 0 sbxfs rm "$(full "$how")"
	done
	d rmi "${made[@]}" >/dev/null
	none_left
}

# MAF-19: that it is young is said once a run, to a person, and can be silenced; what is not a terminal is told nothing.
test_the_notice() {
	on_terminal() { timeout -k 2 $((30 * SLOW)) script -qec "$*" /dev/null </dev/null >seen 2>&1; }
	on_terminal "'$SBXFS' ls >out"
	same 'how often' "$(grep -c 'may still change' seen)" 1
	! grep -q 'may still change' out || fail 'it is on standard output'
	on_terminal "'$SBXFS' ls --no-notice >out"
	same 'silenced by the option' "$(cat seen)" ''
	on_terminal "SBXFS_NO_NOTICE=1 '$SBXFS' ls >out"
	same 'silenced by the environment' "$(cat seen)" ''
	expect_exit 0 sbxfs ls
	same 'no terminal' "$ERR" ''
}
