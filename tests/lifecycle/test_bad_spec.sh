# test_bad_spec.sh: every refusal of a wrong wish: its exit code, one sentence naming the option and the rule, and the
# engine's lists of objects the same before and after.
. "$SBXFS_TOP/tests/lifecycle/life.sh"

# Ids and names of the containers of this test (others may come and go on the engine), of all images, networks, volumes.
objects() {
	local engine=http://engine/v1.41
	curl -fsS --max-time $((20 * SLOW)) --unix-socket "${DOCKER_HOST#unix://}" \
		"$engine/containers/json?all=1&filters=%7B%22label%22%3A%5B%22sbxfs.scope%3D$PREFIX%22%5D%7D" \
		"$engine/images/json?all=1" "$engine/networks" "$engine/volumes" </dev/null |
		jq -r 'if type == "array" then .[].Id else (.Volumes // [])[].Name end' | sort
}
# wrong CODE PART OPTION…: of `sbxfs $VERB`, and nothing of it is on the engine: the list after one is the list before the
# next. What somebody else's test does there meanwhile it does not do three times in a row. KNOWN is emptied by whoever
# makes something in between.
KNOWN=
wrong() {
	local code=$1 part=$2 before
	shift 2
	KNOWN=${KNOWN:-$(objects)}
	for _ in 1 2 3; do
		before=$KNOWN
		expect_exit "$code" sbxfs $VERB --scope "$PREFIX" "$@"
		same "standard output of $*" "$OUT" ''
		one_sentence
		says "$part"
		KNOWN=$(objects)
		[ "$before" != "$KNOWN" ] || return 0
	done
	same "the engine's objects after $*" "$KNOWN" "$before"
}
table() {
	wrong 2 --image
	local image
	for image in '' 'two words' -x "$(printf 'x\x01')" x@sha256:12 "$IMAGE@md5:1"; do wrong 2 --image --image "$image"; done
	local good=(--image "$IMAGE")
	local path
	for path in '' . /abs ../x a/../b a//b ./a in in/x "$(printf '\xff')" "$(printf '%0256d' 0)"; do wrong 2 --output "${good[@]}" --output "$path"; done
	wrong 2 --output "${good[@]}" --output a --output a/b
	for path in relative / /a/../b /proc/x /sys /dev/shm ''; do wrong 2 --workdir "${good[@]}" --workdir "$path"; done
	for path in .. /in '' a//b; do wrong 2 --in "${good[@]}" --in-dir "$path"; done
	local word
	for word in '' 'a b' a:b:c -x 'x;y'; do wrong 2 --user "${good[@]}" --user "$word"; done
	for word in '' NAME =value; do wrong 2 --env "${good[@]}" --env "$word"; done
	for word in '' x =x 'sp ace=x'; do wrong 2 --label "${good[@]}" --label "$word"; done
	for word in 1 5m -1 plenty '' 99999999999g; do wrong 2 --memory "${good[@]}" --memory "$word"; done
	for word in 0 0.001 -1 many ''; do wrong 2 --cpus "${good[@]}" --cpus "$word"; done
	for word in 0 -1 many ''; do wrong 2 --pids-limit "${good[@]}" --pids-limit "$word"; done
	for word in '' 'SYS ADMIN' 'x;y'; do wrong 2 --cap-add "${good[@]}" --cap-add "$word"; done
	wrong 12 --cap-add "${good[@]}" --cap-add ALL
	for word in '' privileged systempaths=unconfined seccomp= seccomp=/nonexistent seccomp=/dev apparmor=; do wrong 2 --security-opt "${good[@]}" --security-opt "$word"; done
	echo '{"defaultAction":' >bad.json
	echo '[]' >array.json
	mkfifo fifo.json
	for word in bad array fifo; do wrong 2 "$word.json" "${good[@]}" --security-opt "seccomp=$word.json"; done
	for word in no-new-privileges=false no-new-privileges:false; do wrong 12 no-new-privileges "${good[@]}" --security-opt "$word"; done
	wrong 8 --read-only "${good[@]}" --read-only
	wrong 8 --allow-host "${good[@]}" --allow-host example.org
	for word in microvm vm hardened_container; do wrong 12 --min-isolation "${good[@]}" --min-isolation "$word"; done
	for word in '' invented CONTAINER; do wrong 2 isolation "${good[@]}" --min-isolation "$word"; done
	wrong 2 --require-os "${good[@]}" --require-os windows
	wrong 12 --require-digest-pin "${good[@]}" --require-digest-pin
	wrong 12 --require-rootless "${good[@]}" --require-rootless
	wrong 12 --require-userns "${good[@]}" --require-userns
	wrong 2 --pull-timeout "${good[@]}" --pull-timeout soon
	wrong 2 --timeout "${good[@]}" --timeout soon
	wrong 2 --no-such-option "${good[@]}" --no-such-option
	wrong 2 --image "${good[@]}" --image
	wrong 2 word "${good[@]}" word
	# There is no option for any of these, MAF-29.
	for word in --volume=/:/host --mount=type=bind --tmpfs=/x --device=/dev/kmsg --privileged --network=host --net=host --pid=host --userns=host; do
		wrong 2 'unknown option' "${good[@]}" "$word"
	done
}

test_a_bad_create() {
	make premise
	has 'the premise' "$(objects)" "$(id_of premise)"
	expect_exit 0 sbxfs rm "$(full premise)"
	VERB=create table
	for word in -x 'a b' a/b x .. "$(printf '%0256d' 0)" ''; do VERB=create wrong 2 --name --image "$IMAGE" --name "$word"; done
	VERB=create wrong 12 volume --image sbxfs-test:volume
}

test_a_bad_run() {
	VERB=run table
	ln -s x link
	mkfifo fifo
	VERB=run wrong 12 link --image "$IMAGE" --in link
	VERB=run wrong 12 fifo --image "$IMAGE" --in fifo
	for option in --max-file=65m --max-total=1g --max-files=257; do VERB=run wrong 12 ceiling --image "$IMAGE" $option; done
	VERB=run wrong 2 --max-output --image "$IMAGE" --max-output lots
	for option in --timeout=0 --timeout=0.0 --max-output=0 --max-file=0 --max-files=0; do VERB=run wrong 2 "${option%=*}" --image "$IMAGE" $option; done
	VERB=create wrong 2 --pull-timeout --image "$IMAGE" --pull-timeout 0
	VERB=run wrong 2 unknown --image "$IMAGE" --name "$(full x)"
	# Reported by the engine only when it is asked for the sandbox.
	VERB=run wrong 12 volume --image sbxfs-test:volume
	tar -cf bare.tar bad.json
	d import bare.tar "$(full bare):1" >/dev/null
	KNOWN=
	VERB=run wrong 2 'no command' --image "$(full bare):1"
	d rmi "$(full bare):1" >/dev/null
	[ -z "$(find . -name got)" ] || fail 'a directory was made'
}

# MAF-15: of all rules broken at once the first is named; with that one kept the next is, and so on, and with all kept it runs.
# What only the engine can say comes after what needs none.
test_MAF_15_the_first_rule_that_fails_wins() {
	local rest=(--min-isolation=vm --read-only --require-os=windows --max-file=65m --allow-host=example.org --require-rootless) code
	local codes=(12 8 2 12 8 12)
	liar_up
	while [ ${#rest[@]} -gt 0 ]; do
		code=${codes[0]} codes=("${codes[@]:1}")
		VERB=run wrong "$code" "${rest[0]%=*}" --image "$IMAGE" "${rest[@]}"
		rest=("${rest[@]:1}")
	done
	same 'creates' "$(requests 'POST .*/containers/create')" 0
	liar_down
	expect_exit 12 sbxfs create --image "$IMAGE" --scope "$PREFIX" --allow-host h --min-isolation vm
	none_left
	expect_exit 0 sbxfs run --image "$IMAGE" --scope "$PREFIX" -- true
}

# The page's table of exit codes: every code there is given by something, for the reason that it says, and there is no
# other. 1 is conform's own, whose tests show it.
test_the_table_of_exit_codes() {
	local page
	page=$(sed -n '/^\.Sh EXIT STATUS/,/^\.El/s/^\.It //p' "$SBXFS_TOP/docs/sbxfs.1" | paste -sd ' ')
	same 'the table' "$page" '0 1 2 3 4 5 6 7 8 9 11 12 13 14 130'
	make a --output out/ --output fifo --output link --output big --output fine
	guest a sh -c 'mkfifo fifo; ln -s /etc/passwd link; echo x >out; echo 12345678 >big; echo fine >fine'
	container_start stranger
	expect_exit 0 sbxfs ls
	expect_exit 2 sbxfs create
	expect_exit 3 sbxfs info "$(full none)"
	expect_exit 3 sbxfs info "$(full a)" none
	expect_exit 4 sbxfs info "$(full a)" ../etc
	expect_exit 4 sbxfs get "$(full a)" link --to got
	expect_exit 5 sbxfs info "$(full a)" out/x
	expect_exit 6 sbxfs get "$(full a)" fifo --to got
	expect_exit 7 sbxfs get "$(full a)" big --to got --max-file 4
	expect_exit 8 sbxfs create --image "$IMAGE" --read-only
	expect_exit 11 sbxfs ls --engine "unix://$SBXFS_TEST_DIR/no.sock"
	expect_exit 12 sbxfs rm "$(full stranger)"
	# No directory can be made there, whoever asks.
	expect_exit 14 sbxfs get "$(full a)" fine --to /sys/got
	expect_exit 13 sbxfs rm "$(full stranger)" "$(full a)"
	make a
	proxy_up
	proxy_stall "$(full a)"
	expect_exit 9 sbxfs info "$(full a)" --timeout 1
	local status=0 pid
	signalled "$SBXFS" info "$(full a)" </dev/null >/dev/null 2>said &
	pid=$!
	sleep 1
	kill -INT $pid
	wait $pid || status=$?
	same interrupted $status 130
}
