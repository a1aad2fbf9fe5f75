# test_guest_user.sh: whose the files are that come from the host.
. "$SBXFS_TOP/tests/lifecycle/life.sh"

# owner NAME: of a file that is put, and of the directory made for it.
owner() {
	echo text >note
	expect_exit 0 sbxfs put "$(full "$1")" note --to in/made
	guest "$1" stat -c %u:%g /work/in/made/note
	echo "$OUT"
}

# MAF-120, MAF-121, MAF-103: each shape of a user, against what the guest's own id says.
test_shapes() {
	local row name=0 spec expected
	for row in 'latest||1000:1000' 'latest|1234:4321|1234:4321' 'latest|1000|1000:1000' 'latest|guest:0|1000:0' 'nouser||0:0' 'nopasswd|1000|1000:0'; do
		name=$((name + 1))
		IFS='|' read -r image spec expected <<<"$row"
		IMAGE=sbxfs-test:$image make $name ${spec:+--user "$spec"}
		same "owner for '$row'" "$(owner $name)" "$expected"
		guest $name sh -c 'echo $(id -u):$(id -g)'
		same "id for '$row'" "$OUT" "$expected"
		same "info for '$row'" "$(sbxfs info "$(full $name)" --json | jq -r '"\(.guest_uid):\(.guest_gid)"')" "$expected"
		sbxfs rm "$(full $name)" >/dev/null
	done
}

# MAF-122: a user that cannot be resolved is refused when the sandbox is asked for, and nothing is left.
test_unresolved_is_refused() {
	expect_exit 8 sbxfs create --name "$(full a)" --scope "$PREFIX" --image sbxfs-test:baduser
	one_sentence
	says nosuchuser
	none_left
}

# MAF-123, MAF-37: the answer is the container's of now: after a change inside the next question is answered anew.
test_never_cached() {
	make a --user guest
	same before "$(owner a)" 1000:1000
	in_guest_as_root a sh -c 'sed s/1000:1000/1001:1001/ /etc/passwd >/etc/p && cat /etc/p >/etc/passwd'
	same after "$(sbxfs info "$(full a)" --json | jq -r .guest_uid)" 1001
	in_guest_as_root a sh -c 'sed s/^guest/other/ /etc/passwd >/etc/p && cat /etc/p >/etc/passwd'
	lacks unresolved "$(sbxfs info "$(full a)" --json | jq -r .guest_uid)" 1001
}

# MAF-124: account files that are no files, or too large, are no answer and no hang. The guest has no `id`: what is answered
# is from the files alone, and each of them holds the right answer for whoever followed the link or read on.
test_account_files_are_bounded() {
	make a --user guest
	in_guest_as_root a sh -c 'rm /bin/id; cp /etc/passwd /etc/kept'
	uid() { sbxfs info "$(full a)" --json | jq -r 'if .guest_user_unresolved then "unresolved" else .guest_uid end'; }
	unanswered() { # WHAT, of what is there now
		local began
		began=$(now_ms)
		same "by $1" "$(uid)" unresolved
		within 10000 "$began" "an answer about $1"
		in_guest_as_root a sh -c 'rm /etc/passwd; cp /etc/kept /etc/passwd'
		same "after $1" "$(uid)" 1000
	}
	same 'the premise' "$(uid)" 1000
	in_guest_as_root a ln -sf kept /etc/passwd
	unanswered 'a link'
	in_guest_as_root a sh -c 'head -c 66000 /dev/zero | tr "\0" x >>/etc/passwd'
	unanswered 'a huge file'
	in_guest_as_root a sh -c 'rm /etc/passwd; mkdir /etc/passwd; cp /etc/kept /etc/passwd'
	same 'by a directory' "$(uid)" unresolved
	in_guest_as_root a sh -c 'rm -r /etc/passwd; cp /etc/kept /etc/passwd'
	engine_is docker || return 0 # on Podman a fifo there can stop the whole engine
	in_guest_as_root a sh -c 'rm /etc/passwd; mkfifo /etc/passwd'
	unanswered 'a fifo'
}
