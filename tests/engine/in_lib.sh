# in_lib.sh: what tests of in/ share. STAGING is the mount's own staging directory.
STAGING=$SBXFS_TEST_DIR/staging

in_up() { mount_up -o "staging_dir=$STAGING" "$@"; }
in_of() { echo "$(box "$1")/in"; }
# A command on the host, bounded, without input.
h() { timeout -k 2 $((60 * SLOW)) "$@" </dev/null; }

sum() { sha256sum "$1" | cut -d' ' -f1; }
guest_sum() { in_guest "$1" sha256sum "/work/in/$2" | cut -d' ' -f1; }
guest_stat() { in_guest_as_root "$1" stat -c "$2" "/work/in/$3"; }
guest_has() { in_guest "$1" test -e "/work/in/$2"; }
guest_lacks() { ! guest_has "$@"; }

# landed SANDBOX PATH FILE: the guest owns PATH and its bytes are FILE's.
landed() {
	same "bytes of $2" "$(guest_sum "$1" "$2")" "$(sum "$3")"
	same "owner of $2" "$(guest_stat "$1" %u:%g "$2")" 1000:1000
}
# landed_tree SANDBOX PATH DIRECTORY: every file and directory of DIRECTORY, and nothing else, is below PATH.
landed_tree() {
	local names
	names=$(cd "$3" && find . | LC_ALL=C sort)
	same "names below $2" "$(in_guest "$1" sh -c 'cd "/work/in/$1" && find .' sh "$2" | LC_ALL=C sort)" "$names"
	same "bytes below $2" "$(in_guest "$1" sh -c 'cd "/work/in/$1" && find . -type f -exec sha256sum {} +' sh "$2" | LC_ALL=C sort)" \
		"$(cd "$3" && find . -type f -exec sha256sum {} + | LC_ALL=C sort)"
	same "owners below $2" "$(in_guest "$1" sh -c 'cd "/work/in/$1" && find . -exec stat -c %u:%g {} +' sh "$2" | sort -u)" 1000:1000
}
# A small tree: a directory in a directory, an empty file, modes and old times.
make_tree() {
	mkdir -p "$1/sub/deep"
	seq 1 5000 >"$1/numbers"
	printf 'caf\303\251 \001\377\r\n' >"$1/sub/bytes"
	: >"$1/sub/deep/empty"
	head -c 300000 /dev/urandom >"$1/sub/deep/random"
	chmod 0755 "$1" "$1/sub" "$1/sub/deep"
	chmod 0640 "$1/numbers"
	chmod 0755 "$1/sub/bytes"
	touch -d '2020-02-03 04:05:06' "$1/numbers" "$1/sub/bytes"
}
synced() { h "$SBXFS" sync "$MNT"; }
pending_lines() { timeout -k 2 10 cat "$MNT/.sbxfs/pending" | grep -c . || true; }
nothing_pending() { [ "$(pending_lines)" = 0 ]; }

# A process that has written and not closed yet: a shell's own redirection would close a duplicate, which uploads.
# writer_open FILE TEXT; writer_close prints close's errno, or ok.
writer_open() {
	cat >writer.py <<-'END'
		import errno, os, sys, time
		fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
		os.write(fd, sys.argv[2].encode() + b"\n")
		open("written", "w").close()
		while not os.path.exists("close-now"):
		    time.sleep(0.05)
		try:
		    os.close(fd)
		    result = "ok"
		except OSError as failure:
		    result = errno.errorcode[failure.errno]
		with open("closed.part", "w") as file:
		    file.write(result)
		os.rename("closed.part", "closed")
	END
	rm -f written close-now closed
	timeout -k 2 110 python3 writer.py "$1" "$2" </dev/null >/dev/null 2>&1 &
	wait_for 30 test -e written
}
writer_close() {
	touch close-now
	wait_for 70 test -e closed
	cat closed
}
