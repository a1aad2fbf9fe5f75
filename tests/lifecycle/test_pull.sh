# test_pull.sh: an image that is pulled, from a registry of the test's own.
. "$SBXFS_TOP/tests/lifecycle/life.sh"

# registry_up: serves $REMOTE, an image with a layer that the engine itself does not have; its digest is in $DIGEST. The engine is Podman's own instance there, for only that one can be told to do without TLS.
registry_up() {
	"$SBXFS_TOP/tests/lifecycle/registry" "$SBXFS_TEST_DIR/registry" </dev/null 2>registry.log &
	REGISTRY_PID=$!
	local until=$((SECONDS + 120 * SLOW)) name
	until [ -s registry/name ] && curl -fsS --max-time 5 "http://$(cat registry/name)/v2/" >/dev/null 2>&1; do
		kill -0 $REGISTRY_PID 2>/dev/null || { cat registry.log; skip "$(tail -n 1 registry.log)"; }
		[ $SECONDS -lt $until ] || fail 'the registry does not answer'
		sleep 0.1
	done
	name=$(cat registry/name)
	REMOTE=$name/${PREFIX}tool:1
	if engine_is podman; then own_engine_up podman "$name"; fi
	d run --name "$(full seed)" --network none --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 "$IMAGE" \
		sh -c 'head -c 3000000 /dev/urandom >random' >/dev/null
	# Not by the client: it sends no body, which Podman wants.
	api "/commit?container=$(full seed)&repo=${REMOTE%:1}&tag=1" -f -X POST -H 'Content-Type: application/json' -d '{}' >/dev/null
	d rm "$(full seed)" >/dev/null
	d push "$REMOTE" >push.log 2>&1 || fail "the push: $(tail -n 1 push.log)"
	d rmi "$REMOTE" >/dev/null
	DIGEST=$(curl -fsS --max-time 5 -I -H 'Accept: application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json' \
		"http://$name/v2/${PREFIX}tool/manifests/1" | tr -d '\r' | sed -n 's/^[Dd]ocker-[Cc]ontent-[Dd]igest: //p')
	[ ${#DIGEST} = 71 ] || fail "no digest: '$DIGEST'"
}
registry_down() {
	if [ -n "$(d image ls -q "$REMOTE")" ]; then d rmi "$REMOTE" >/dev/null; fi
	kill -KILL $REGISTRY_PID 2>/dev/null || true
	wait $REGISTRY_PID 2>/dev/null || true
	! engine_is podman || own_engine_down
}
forget() { sbxfs rm "$(full a)" >/dev/null; d rmi "$1" >/dev/null; }
asked() { grep -c "${PREFIX}tool" registry/log || true; }

# MAF-27: absent, it is pulled, with progress on stderr and the name alone on stdout; present, the registry is not asked.
test_pulled_once() {
	registry_up
	local IMAGE=$REMOTE before
	make a
	same 'standard output' "$OUT" "$(full a)"
	has 'the progress' "$ERR" "pulling image $REMOTE"
	[ "$(printf '%s\n' "$ERR" | wc -l)" -gt 2 ] || fail "no progress of the engine's: $ERR"
	sbxfs rm "$(full a)" >/dev/null
	before=$(asked)
	[ "$before" -gt 0 ] || fail 'premise: the registry writes down what it is asked'
	make a
	lacks 'what is said' "$ERR" pulling
	run_json 0 -- true
	same 'questions to the registry' "$(asked)" "$before"
	forget "$REMOTE"
	# What the registry and the engine say on the way is text of others; this much they always say, where of a layer only
	# the newest is told.
	if engine_is docker; then
		liar_up 'Pulling from' '\u001b[31mom'
		make a
		liar_down
		lacks 'the progress' "$ERR" $'\033'
		has 'the progress' "$ERR" '\x1b[31mom'
		lacks 'the progress, escaped twice' "$ERR" '\\x1b'
		forget "$REMOTE"
	fi
	# The same by `run`, whose bound is not the pull's.
	run_json 0 --timeout 30 -- true
	[ "$(asked)" -gt "$before" ] || fail 'it was not pulled'
	none_left
	registry_down
}

# AIR-14: by digest; what arrives must have it. The engine's word for an image that has another is not enough either.
test_pulled_by_digest() {
	registry_up
	local pinned=${REMOTE%:1}@$DIGEST other
	IMAGE=$pinned make a --require-digest-pin --json
	same image "$(field .image_id)" "$(d image inspect -f '{{.Id}}' "$pinned")"
	IMAGE=$pinned make a --require-digest-pin
	has stderr "$ERR" reused
	forget "$pinned"
	other=sha256:$(printf '%s' other | sha256sum | cut -c1-64)
	expect_exit 2 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "${REMOTE%:1}@$other" --require-digest-pin
	says "$other"
	liar_up "@$DIGEST" "@$other"
	expect_exit 12 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "$pinned" --require-digest-pin
	says --require-digest-pin "$DIGEST"
	liar_down
	none_left
	d rmi "$pinned" >/dev/null
	registry_down
}

# AIR-14, MAF-24: the pin is asked of a sandbox that is there too, by the image it was made from: once no digest of that can
# be read any more, the reference alone, with which it was made, is no proof.
test_a_pin_of_one_that_is_there() {
	engine_is docker || skip 'Podman finds an image by its digest for as long as it has the image'
	registry_up
	local pinned=${REMOTE%:1}@$DIGEST before image
	IMAGE=$pinned make a
	IMAGE=$pinned make a --require-digest-pin
	has 'while it can be read' "$ERR" reused
	image=$(d image inspect -f '{{.Id}}' "$pinned")
	d rmi -f "$pinned" >/dev/null
	! d image inspect "$pinned" >/dev/null 2>&1 || fail 'premise: the reference is still there'
	before=$(id_of a)
	IMAGE=$pinned make a
	has 'the premise: the reference is the same' "$ERR" reused
	expect_exit 12 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "$pinned" --require-digest-pin
	one_sentence
	says --require-digest-pin
	same 'it is left as it was' "$(id_of a) $(state_of a)" "$before running"
	expect_exit 0 sbxfs rm "$(full a)"
	d rmi "$image" >/dev/null
	registry_down
}

# MAF-27: a pull has a bound of its own, which is named and which the rest of the call does not shorten; a registry that
# says no, gives other bytes, or is gone, is named, and nothing is left.
test_pulls_that_fail() {
	registry_up
	local IMAGE=$REMOTE began layer
	kill -STOP $REGISTRY_PID
	began=$(now_ms)
	expect_exit 9 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE" --pull-timeout 2
	within 9000 "$began" 'a bound of 2 s'
	says "$IMAGE" 'within 2 s'
	run_json 124 --pull-timeout 2 -- true
	has error "$(field .error)" 'pull: '
	{ sleep 4; kill -CONT $REGISTRY_PID; } &
	make a --timeout 3
	forget "$REMOTE"
	expect_exit 2 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE.not"
	says "$IMAGE.not"
	# Nothing but zeros in the place of the largest layer.
	layer=$(find registry/store -path '*/blobs/*' -name data -printf '%s %p\n' | sort -n | tail -n 1 | cut -d' ' -f2)
	head -c "$(stat -c %s "$layer")" /dev/zero >"$layer"
	expect_exit 2 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE"
	says "$IMAGE"
	kill -KILL $REGISTRY_PID
	expect_exit 2 sbxfs create --name "$(full a)" --scope "$PREFIX" --image "$IMAGE"
	says "$IMAGE"
	none_left
	same 'images left' "$(d image ls -q "$IMAGE")" ''
	registry_down
}
