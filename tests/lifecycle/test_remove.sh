# test_remove.sh: `sbxfs rm NAME`, and removal of what is under in/.
. "$SBXFS_TOP/tests/lifecycle/life.sh"
. "$SBXFS_TOP/tests/conformance/attackers.sh"

# MAF-31, MAF-34, MAF-40: at once, by force, never by stop; absence is the engine's word; never a replacement, never a
# container that is no sandbox.
test_by_name() {
	local began old
	make a -- sh -c 'trap "" TERM INT; while :; do sleep 1; done'
	old=$(id_of a)
	liar_up
	began=$(now_ms)
	expect_exit 0 sbxfs rm "$(full a)"
	within 5000 "$began" 'removal of one that ignores SIGTERM'
	same stops "$(requests '/stop')" 0
	liar_down
	gone "$old" || fail 'it is still there'
	expect_exit 0 sbxfs rm "$(full a)" --json
	same result "$(field '.sandboxes[0].result')" absent
	make a
	expect_exit 0 sbxfs rm "$(full a)" --instance "$old" --json
	same 'another has the name' "$(field '"\(.sandboxes[0].result) \(.removed)"') $(state_of a)" 'absent 0 running'
	local id
	for id in '' 0123456789a "$(id_of a | cut -c1-12)x" "$(id_of a)0" "$(id_of a | tr a-f A-F)"; do
		expect_exit 2 sbxfs rm "$(full a)" --instance "$id"
		one_sentence
	done
	expect_exit 0 sbxfs rm "$(full a)" --instance "$(cut -c1-12 <<<"$old")" --json
	same 'another has the name, 12 digits' "$(field '"\(.sandboxes[0].result) \(.removed)"') $(state_of a)" 'absent 0 running'
	expect_exit 0 sbxfs rm "$(full a)" --instance "$(id_of a | cut -c1-12)"
	gone "$(full a)" || fail 'by 12 digits it is still there'
	make a
	container_start stranger
	expect_exit 12 sbxfs rm "$(full stranger)"
	one_sentence
	same 'a stranger' "$(state_of stranger)" running
	expect_exit 13 sbxfs rm "$(full stranger)" "$(full a)"
	gone "$(full a)" || fail 'the other one was not removed'
	expect_exit 11 sbxfs rm "$(full b)" --engine "unix://$SBXFS_TEST_DIR/no.sock"
}

# MAF-34: an engine that does not answer is not absence.
test_unanswered_is_not_absent() {
	make a
	proxy_up
	proxy_stall 'DELETE /'
	expect_exit 9 sbxfs rm "$(full a)" --timeout 2
	one_sentence
	says "$(full a)"
	lacks 'the name twice' "${ERR#*"$(full a)"}" "$(full a)"
	proxy_flow
	proxy_down
	export DOCKER_HOST=$ENGINE_HOST
	expect_exit 0 sbxfs rm "$(full a)"
	none_left
}

# MAF-34: why one is not removed is one of four words: never asked, for there is no engine or it could not be looked up;
# asked and refused; asked and not answered.
test_the_reasons() {
	result() { # WORD CODE OPTION…
		local word=$1 code=$2
		shift 2
		expect_exit "$code" sbxfs rm "$(full a)" --json "$@"
		one_sentence
		same "result, $word" "$(field '.sandboxes[0] | "\(.name) \(.result)"')" "$(full a) $word"
		[ -n "$(field '.sandboxes[0].reason')" ] || fail 'no reason'
	}
	make a
	result unreachable 11 --engine "unix://$SBXFS_TEST_DIR/no.sock"
	proxy_up
	proxy_refuse 'DELETE /'
	result refused 11
	proxy_refuse "$(full a)/json" containers/json
	result unlisted 11
	proxy_serve
	proxy_stall "$(full a)/json" containers/json
	result unlisted 9 --timeout 3
	proxy_stall 'DELETE /'
	result unknown 9 --timeout 2
	same 'it stays' "$(DOCKER_HOST=$ENGINE_HOST state_of a)" running
	DOCKER_HOST=$ENGINE_HOST expect_exit 0 sbxfs rm "$(full a)" --json
	same result "$(field '.sandboxes[0].result')" removed
}

# MAF-34: the engine calls the beginning of two ids ambiguous: nothing is found, removed or made by it, and the sentence
# says so.
test_the_beginning_of_two_ids() {
	local id begin='' before n
	make a
	for n in $(seq 120); do
		d create --name "$(full "n$n")" --label "sbxfs.scope=$PREFIX" --network none "$IMAGE" true >/dev/null
		begin=$(ours | cut -c1-2 | sort | uniq -d | head -n 1)
		[ -z "$begin" ] || break
	done
	[ -n "$begin" ] || fail 'no two ids begin alike'
	! d inspect "$begin" >/dev/null 2>said || fail 'premise: the engine takes it for one container'
	has 'premise: the engine' "$(cat said)" "$begin"
	before=$(ours)
	echo x >f
	local words
	for words in "rm $begin" "info $begin" "log $begin" "exec $begin -- true" "get $begin f --to got" "put $begin f" \
		"create --name $begin --scope $PREFIX --image $IMAGE"; do
		# shellcheck disable=SC2086 # words
		expect_exit 2 sbxfs $words
		[ "${words%% *}" = rm ] || same "standard output of $words" "$OUT" ''
		one_sentence
		says "\"$begin\"" "more than one container's id"
	done
	same 'the containers' "$(ours)" "$before"
	# One that begins so by itself is not meant either: too short a word for an id.
	id=$(id_of a)
	ours | grep -v "$id" | while read -r before; do d rm -f "$before" >/dev/null; done
	expect_exit 3 sbxfs info "$(cut -c1-6 <<<"$id")"
	expect_exit 0 sbxfs rm "$(cut -c1-6 <<<"$id")" --json
	same 'the only one' "$(field '.sandboxes[0].result') $(state_of a)" 'absent running'
}

# MAF-34: every word is looked at before the first sandbox goes; a word that can be no name is the caller's slip (2) with any
# engine or none, of each command that takes one.
test_words_that_are_no_names() {
	local word
	make a
	for word in ../b a/b x '' 'a b' .. "$(printf '%0256d' 0)"; do expect_exit 2 sbxfs rm "$(full a)" "$word"; done
	one_sentence
	same 'it stays' "$(state_of a)" running
	for word in 'info ../x' 'log ../x' 'rm ../x' 'exec ../x -- true'; do
		# shellcheck disable=SC2086 # words
		DOCKER_HOST=unix://$SBXFS_TEST_DIR/no.sock expect_exit 2 sbxfs $word
		one_sentence
		says "'../x'"
	done
	expect_exit 2 sbxfs exec ../x -- true
	expect_exit 2 sbxfs get ../x f --to got
	expect_exit 2 sbxfs put ../x f
}

# MAF-34: interrupted, whatever it had removed, it exits with 130; what was asked for and not answered and what was not
# asked for are told apart, and the rest stays.
test_interrupted() {
	interrupted() { # ID CMD…: sbxfs CMD is stopped when the removal of ID has been asked for; its table is left in rows.
		local id=$1 pid status=0
		shift
		proxy_up
		proxy_stall "DELETE /*/containers/$id"
		signalled "$SBXFS" "$@" </dev/null >rows 2>said &
		pid=$!
		wait_for 20 proxy_held "DELETE .*/containers/$id"
		kill -INT $pid
		wait $pid || status=$?
		same "exit code of $1" "$status" 130
		rm stall.held
		proxy_flow
		wait_for 10 gone "$id"
		proxy_down
		export DOCKER_HOST=$ENGINE_HOST
	}
	make a
	make b
	make c
	interrupted "$(id_of b)" rm "$(full a)" "$(full b)" "$(full c)"
	same 'the first' "$(sed -n 1p rows)" "$(full a) removed"
	has 'the second' "$(sed -n 2p rows)" "$(full b) unknown"
	has 'the third' "$(sed -n 3p rows)" "$(full c) unlisted"
	same 'it stays' "$(state_of c)" running
	interrupted "$(id_of c)" rm --scope "$PREFIX"
	has 'of a scope' "$(cat rows)" "$(full c) unknown"
	make b
	sleep 1.1
	interrupted "$(id_of b)" reap --older-than 1s --scope "$PREFIX"
	has 'by age' "$(cat rows)" "$(full b) unknown"
	none_left
}

# MAF-31: one that is paused, by anybody, goes at once.
test_a_paused_one() {
	make a
	d pause "$(full a)" >/dev/null
	local began
	began=$(now_ms)
	expect_exit 0 sbxfs rm "$(full a)"
	within 8000 "$began" 'removal of a paused one'
	none_left
}

# MAF-99: one that a mount reads from, in a window of its own, goes at once by each of the ways: it waits for no reader, at most for
# what Docker has to move. Premise: the window was open when the removal began.
test_inside_a_window() {
	local way began bound reader
	for way in rm scope reap; do
		make $way --thread $way --output out/
		guest $way sh -c 'mkdir -p out; truncate -s 300M out/large'
	done
	began=$(now_ms)
	api "/containers/$(id_of rm)/archive?path=/work/out/large" -o /dev/null
	bound=$(($(now_ms) - began + 4000))
	echo "measured: a removal may take $bound ms"
	mount_up
	for way in rm scope reap; do
		stat "$(box $way)/out/large" >/dev/null
		wait_for 5 runs_on $way
		cat "$(box $way)/out/large" >/dev/null 2>&1 &
		reader=$!
		wait_for 10 stands_still $way
		began=$(now_ms)
		case $way in
		rm) expect_exit 0 sbxfs rm "$(full rm)" ;;
		scope) expect_exit 0 sbxfs rm --scope "$PREFIX" --thread scope ;;
		reap) expect_exit 0 sbxfs reap --older-than 1s --scope "$PREFIX" ;;
		esac
		within $bound "$began" "measured: $way in a window"
		gone "$(full $way)" || fail "$way: it is still there"
		wait_for 10 has_ended $reader
		wait_for 5 test ! -e "$(box $way)"
	done
	none_left
	mount_down
}
stands_still() { is_frozen "$(freezer_file "$1")"; }
runs_on() { ! stands_still "$1"; }
has_ended() { ! kill -0 "$1" 2>/dev/null; }

# MAF-110, MAF-111, MAF-112, MAF-113: in the mount: a link is unlinked and its target stays, a directory needs rmdir and
# must be empty, a name that looks like an option is a name, and all of it is done as the guest, who may not remove what
# is not its own to remove.
test_files_under_in() {
	make a
	guest a sh -c 'mkdir -p in/tree/sub in/empty real; echo kept >real/target; ln -s ../real in/link; ln -s ../../real/target in/tree/link; echo x >in/-rf; echo x >in/tree/sub/f'
	in_guest_as_root a sh -c 'mkdir /work/in/roots && echo x >/work/in/roots/f'
	mount_up
	local in
	in=$(box a)/in
	ls -lR "$in" >/dev/null
	rm -- "$in/-rf"
	rmdir "$in/empty"
	expect_errno ENOTEMPTY rmdir "$in/tree"
	expect_errno ENOENT unlink "$in/never-there"
	expect_errno EACCES unlink "$in/roots/f"
	in_guest a cat /work/in/roots/f >/dev/null
	expect_errno ok unlink "$in/link"
	in_guest a test ! -L /work/in/link
	same 'the target' "$(in_guest a cat /work/real/target)" kept
	expect_errno EROFS rmdir "$(box a)"
	in_guest a test ! -e /work/in/-rf
	in_guest a test ! -e /work/in/empty
}
