# test_create.sh: `sbxfs create`: the four outcomes, the name, the labels, what is never handed out.
. "$SBXFS_TOP/tests/lifecycle/life.sh"

# MAF-24, MAF-30: created, reused, restarted after its end, made anew when it cannot be started; said in --json and on
# stderr. The keep-alive is its first process from call to call.
test_four_outcomes() {
	local first pid
	make a --json
	same outcome "$(field .outcome)" created
	first=$(field .id)
	pid=$(d inspect -f '{{.State.Pid}}' "$first")
	guest a sh -c 'echo kept >/work/note'
	make a --json
	same outcome "$(field .outcome) $(field .id)" "reused $first"
	same 'the first process' "$(d inspect -f '{{.State.Pid}}' "$first")" "$pid"
	d kill "$first" >/dev/null
	make a
	same 'the name is the result' "$OUT" "$(full a)"
	has stderr "$ERR" restarted
	guest a cat /work/note
	same 'what the guest has written' "$OUT" kept
	# Without its `sleep` it cannot be started again.
	rm -f "$SBXFS_TEST_DIR/pid.a"
	in_guest_as_root a rm /bin/busybox
	d kill "$first" >/dev/null
	make a --json
	same outcome "$(field .outcome)" created
	[ "$(field .id)" != "$first" ] || fail 'it is the old one'
	gone "$first" || fail 'the old one is still there'
	same 'sandboxes' "$(ours | wc -l)" 1
}

# MAF-24: a start whose answer is lost says nothing about the container: it and what is in it stay.
test_a_lost_answer_makes_nothing_anew() {
	local first
	make a
	first=$(id_of a)
	guest a sh -c 'echo kept >/work/note'
	d kill "$first" >/dev/null
	proxy_up
	proxy_lose /start
	expect_exit 11 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE"
	one_sentence
	says "$(full a)" 'cannot be started'
	proxy_keep
	proxy_down
	export DOCKER_HOST=$ENGINE_HOST
	same 'the container' "$(id_of a)" "$first"
	make a
	guest a cat /work/note
	same 'what the guest has written' "$OUT" kept
}

# MAF-24: a start that an engine fails for a moment says nothing about the container either: one that it blames on the command is
# tried once more, any other is told, and the container and what is in it stay for the next create.
test_a_passing_500_at_start() {
	local first
	make a
	first=$(id_of a)
	guest a sh -c 'echo kept >/work/note'
	d kill "$first" >/dev/null
	proxy_up
	proxy_refuse_once /start 'OCI runtime create failed: exec: no such file or directory'
	make a --json
	[ ! -e stall.once ] || fail 'premise: no start was refused'
	same 'outcome, of a blamed command' "$(field .outcome) $(field .id)" "restarted $first"
	d kill "$first" >/dev/null
	proxy_refuse_once /start 'cgroup: device or resource busy'
	expect_exit 11 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE"
	one_sentence
	says "$(full a)" 'cannot be started' 'resource busy'
	same 'the container' "$(id_of a) $(state_of a)" "$first exited"
	make a --json
	same outcome "$(field .outcome) $(field .id)" "restarted $first"
	guest a cat /work/note
	same 'what the guest has written' "$OUT" kept
	# One that is made anew leaves nothing when its start fails, and can be made the next time.
	proxy_refuse_once /start 'cgroup: device or resource busy'
	expect_exit 11 sbxfs create --name "$(full b)" --scope "$PREFIX" --image "$IMAGE"
	same 'sandboxes' "$(ours)" "$first"
	proxy_down
	export DOCKER_HOST=$ENGINE_HOST
}

# AIR-01, MAF-24: a create that the engine carries out when its caller has given up is found and undone; what was never seen is
# said to be able to appear, and a run does not call it removed.
test_a_create_that_comes_late() {
	proxy_up
	proxy_stall /containers/create
	"$SBXFS" create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE" --timeout 2 </dev/null >/dev/null 2>said &
	local pid=$! status=0
	sleep 6
	proxy_flow
	wait $pid || status=$?
	ERR=$(cat said)
	same 'exit code' "$status" 9
	lacks 'the sentence' "$ERR" 'may still appear'
	none_left 'the late create'
	proxy_stall /containers/create
	run_json 125 --timeout 2 -- true
	same document "$(field '"\(.success) \(.removed) \(.error_kind)"')" 'false false deadline'
	has 'the sentence' "$(field .error)" 'may still appear'
	# The premise: it does.
	proxy_flow
	wait_for 10 d inspect "$(field .sandbox)"
	d rm -f "$(field .sandbox)" >/dev/null
}

# MAF-25, MAF-24: many at once are one create and all succeed.
test_one_of_many() {
	local i pids=()
	for i in 1 2 3 4; do
		timeout -k 2 $((90 * SLOW)) "$SBXFS" create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE" --json </dev/null >"got.$i" 2>"said.$i" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i" || fail "one failed: $(cat said.*)"; done
	same 'containers' "$(jq -r .id got.* | sort -u | wc -l)" 1
	same 'outcomes' "$(jq -r .outcome got.* | sort | uniq -c | tr -s ' \n' ' ')" ' 1 created 3 reused '
	same 'sandboxes' "$(ours | wc -l)" 1
}

# MAF-24: another host, with locks of its own, was quicker: what it made is adopted.
test_adopts_what_another_made() {
	proxy_up
	proxy_stall '/containers/create'
	"$SBXFS" create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE" --json </dev/null >first 2>said &
	local pid=$!
	sleep $((2 * SLOW))
	DOCKER_HOST=$ENGINE_HOST timeout -k 2 $((60 * SLOW)) unshare -m sh -c 'mount -t tmpfs none /run && exec "$@"' sh \
		"$SBXFS" create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE" --json </dev/null >second 2>/dev/null
	proxy_flow
	wait $pid || fail "$(cat said)"
	same outcomes "$(jq -r .outcome first second | tr '\n' ' ')" 'adopted created '
	same 'one container' "$(jq -r .id first second | sort -u | wc -l)" 1
}

# MAF-24, MAF-25: several hosts at once, each with locks of its own: the engine decides, one of them creates, all have it.
test_a_race_of_hosts() {
	local round i pids outcomes
	for round in 1 2 3; do
		pids=()
		for i in 1 2 3; do
			timeout -k 2 $((90 * SLOW)) unshare -m sh -c 'mount -t tmpfs none /run && exec "$@"' sh \
				"$SBXFS" create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE" --json </dev/null >"got.$i" 2>"said.$i" &
			pids+=($!)
		done
		for i in "${pids[@]}"; do wait "$i" || fail "one failed: $(cat said.*)"; done
		outcomes=$(jq -r .outcome got.* | sort | tr '\n' ' ')
		echo "round $round: $outcomes"
		same 'created' "$(jq -r .outcome got.* | grep -c created)" 1
		same 'containers' "$(jq -r .id got.* | sort -u)" "$(ours)"
		same 'state' "$(state_of a)" running
		guest a test -d /work/in
		sbxfs rm "$(full a)" >/dev/null
	done
}

# MAF-20, MAF-21, MAF-22, MAF-23, MAF-39: the name is a digest of the identity's parts, the labels carry them, digested
# where long or unsafe; another kind or another call is another sandbox, and no call sees what another has written.
test_identity_and_labels() {
	local name labels other
	expect_exit 0 sbxfs create --scope "$PREFIX" --thread 'a/b=c' --agent '' --kind "$(printf '%064d' 1)" --label team=x --image "$IMAGE"
	name=$OUT
	same 'by the digest of its parts' "$name" "sbxfs-$(printf '%s:%s%s:%s%s:%s%s:%s' "${#PREFIX}" "$PREFIX" 5 'a/b=c' 0 '' 64 "$(printf '%064d' 1)" | sha256sum | cut -c1-12)"
	labels=$(d inspect -f '{{json .Config.Labels}}' "$name")
	same scope "$(jq -r '."sbxfs.scope"' <<<"$labels")" "$PREFIX"
	local key
	for key in thread agent kind; do
		[[ $(jq -r ".\"sbxfs.$key\"" <<<"$labels") =~ ^sha256-[0-9a-f]{48}$ ]] || fail "label $key: $labels"
	done
	same 'the caller'"'"'s own' "$(jq -r '."sbxfs.label.team"' <<<"$labels")" x
	same role "$(jq -r '."sbxfs.role"' <<<"$labels")" null
	expect_exit 0 sbxfs exec "$name" -- sh -c 'echo one >/work/note'
	expect_exit 0 sbxfs create --scope "$PREFIX" --thread 'a/b=c' --kind "$(printf '%064d' 1)" --call two --label team=x --image "$IMAGE"
	other=$OUT
	[ "$other" != "$name" ] || fail 'the call is not part of the name'
	expect_exit 1 sbxfs exec "$other" -- test -e /work/note
}

# MAF-17, MAF-23: a value of the environment reaches the guest and no label; another one is another sandbox.
test_environment_values_are_in_no_label() {
	make a --env TOKEN=s3cret-value --env OTHER=two
	guest a sh -c 'echo $TOKEN $OTHER'
	same 'the guest has them' "$OUT" 's3cret-value two'
	d inspect -f '{{json .Config.Labels}}' "$(full a)" >labels
	lacks labels "$(cat labels)" s3cret
	lacks labels "$(cat labels)" "$(printf s3cret-value | base64)"
	make a --env OTHER=two --env TOKEN=s3cret-value
	has 'in any order' "$ERR" reused
	expect_exit 12 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE" --env TOKEN=s3cret-valuf --env OTHER=two
	one_sentence
	says --env
	lacks 'the sentence' "$ERR" s3cret
}

# MAF-27: an image that is there is used without a word to a registry, by reference and by id; one that is not is pulled
# under its own bound, and that failure is named and leaves nothing.
test_images() {
	local id status=0 began
	id=$(d image inspect -f '{{.Id}}' "$IMAGE")
	liar_up
	IMAGE=$id make a
	same pulls "$(requests 'POST .*/images/create')" 0
	liar_down
	began=$(now_ms)
	ERR=$(sbxfs create --name "$(full b)" --scope "$PREFIX" --image sbxfs-test:absent --pull-timeout 5 2>&1 >/dev/null) || status=$?
	within 25000 "$began" 'the failed pull'
	case $status in 2 | 9 | 11) ;; *) fail "exit $status: $ERR" ;; esac
	says sbxfs-test:absent
	same 'sandboxes' "$(ours)" "$(id_of a)"
}

# MAF-38: the base is made for the guest or taken as the image has it, contents, owner and mode; a link in its place or
# above it, or another base on reuse, is refused and nothing is left.
test_work_dir() {
	make a --workdir /srv/deep/work
	guest a stat -c '%u:%g %a' /srv/deep/work /srv/deep
	same 'made' "$OUT" $'1000:1000 755\n0:0 755'
	expect_exit 12 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE" --workdir /srv/deep
	one_sentence
	says "$(full a)" --workdir
	IMAGE=sbxfs-test:seeded make b --output out/
	guest b cat /work/out/seed.txt
	same 'kept' "$OUT" 'from the image'
	sbxfs rm "$(full a)" "$(full b)" >/dev/null
	expect_exit 4 sbxfs create --name "$(full c)" --scope "$PREFIX" --image sbxfs-test:linkwork
	says /work symlink
	expect_exit 4 sbxfs create --name "$(full c)" --scope "$PREFIX" --image sbxfs-test:linkdir
	says /link symlink
	none_left
}

# MAF-14, MAF-17, MAF-37: what is there and differs is refused by name, each difference told, never handed out; the
# sandbox itself stays as it is.
test_reuse_refuses_what_differs() {
	local id
	make a --output out/
	id=$(id_of a)
	differs() {
		local part=$1
		shift
		expect_exit 12 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE" "$@"
		one_sentence
		says "$(full a)" "$part"
	}
	differs --output --output other/
	differs --memory --output out/ --memory 64m
	differs --cpus --output out/ --cpus 0.5
	differs --pids-limit --output out/ --pids-limit 5
	differs --cap-add --output out/ --cap-add CHOWN
	differs --user --output out/ --user 1:1
	differs --in-dir --output out/ --in input
	differs --env --output out/ --env TOKEN=s3cret-value
	IMAGE=sbxfs-test:seeded differs --image --output out/
	same 'the sandbox' "$(id_of a) $(state_of a)" "$id running"
	# A container by that name that is nobody's sandbox is never taken.
	container_start stranger
	expect_exit 11 sbxfs create --name "$(full stranger)" --scope "$PREFIX" --image "$IMAGE"
	one_sentence
	says "$(full stranger)"
	same 'the stranger' "$(state_of stranger)" running
}

# MAF-17, MAF-24: labels can be copied by whoever makes a container: what they do not say is compared as well.
test_copied_labels() {
	local labels=() line
	make a
	while read -r line; do labels+=(--label "$line"); done < <(d inspect -f '{{range $k, $v := .Config.Labels}}{{$k}}={{$v}}{{"\n"}}{{end}}' "$(full a)" | grep .)
	copy() {
		sandbox_remove a
		container_start a "${labels[@]}" --memory 512m --memory-swap 512m --cpus 1 --pids-limit 512 "$@"
		rm -f "$SBXFS_TEST_DIR/pid.a"
	}
	looser() {
		local part=$1
		shift
		copy "$@"
		expect_exit 12 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE"
		one_sentence
		says "$(full a)" "$part"
	}
	looser --user --user 0
	looser --security-opt --security-opt seccomp=unconfined
	# Podman does not say these.
	engine_is podman || looser devices --device-cgroup-rule 'c 1:11 r'
	engine_is podman || looser 'masked paths' --security-opt systempaths=unconfined
	# The premise: a copy that is the same in all that counts is taken.
	copy --user guest
	make a
}
