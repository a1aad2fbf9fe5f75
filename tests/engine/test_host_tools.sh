# test_host_tools.sh: what people write with must leave the guest with the same bytes, owned by its user, and no stray names.
. "$SBXFS_TOP/tests/engine/in_lib.sh"

start() {
	sandbox_start a out/
	in_up
	IN=$(in_of a)
	make_tree src
}

test_cp() {
	start
	h cp src/numbers "$IN/"
	landed a numbers src/numbers
	h cp -r src "$IN/copy"
	synced
	landed_tree a copy src
	printf 'shorter\n' >new
	h cp new "$IN/numbers"
	landed a numbers new
}

test_cp_a_carries_modes_and_times() {
	start
	h cp -a src "$IN/"
	synced
	landed_tree a src src
	same mode "$(guest_stat a %a src/numbers)" 640
	same mtime "$(guest_stat a %Y src/numbers)" "$(stat -c %Y src/numbers)"
	same 'mode of a directory' "$(guest_stat a %a src/sub)" 755
}

test_install_sets_the_mode() {
	start
	h install -m 0750 src/sub/bytes "$IN/tool"
	landed a tool src/sub/bytes
	same mode "$(guest_stat a %a tool)" 750
	h install -D -m 0644 src/numbers "$IN/new/dir/numbers"
	landed a new/dir/numbers src/numbers
}

test_mv_into_and_within() {
	start
	cp -a src moved
	h mv moved "$IN/"
	synced
	[ ! -e moved ] || fail 'mv left its source'
	landed_tree a moved src
	h mv "$IN/moved/numbers" "$IN/moved/sub/renamed"
	landed a moved/sub/renamed src/numbers
	guest_lacks a moved/numbers || fail 'the old name is there'
	h mv "$IN/moved/sub" "$IN/elsewhere"
	landed a elsewhere/deep/random src/sub/deep/random
	same 'read back after a move' "$(sum "$IN/elsewhere/deep/random")" "$(sum src/sub/deep/random)"
	h mv "$IN/elsewhere/renamed" "$IN/elsewhere/bytes"
	landed a elsewhere/bytes src/numbers
}

test_tar_extracts() {
	start
	tar -cf src.tar -C src .
	h mkdir "$IN/x"
	h tar -xpf src.tar -C "$IN/x"
	synced
	landed_tree a x src
	same mode "$(guest_stat a %a x/numbers)" 640
	same mtime "$(guest_stat a %Y x/numbers)" "$(stat -c %Y src/numbers)"
}

test_rsync_twice() {
	start
	h rsync -a src/ "$IN/r/"
	synced
	landed_tree a r src
	printf 'one more line\n' >>src/numbers
	local out
	out=$(h rsync -ai src/ "$IN/r/")
	same 'what the second run sent' "$(grep -c '^>f' <<<"$out")" 1
	landed a r/numbers src/numbers
	synced
	landed_tree a r src
}

test_git_clone_and_commit() {
	start
	git init -q repo
	git -C repo config user.name t
	git -C repo config user.email t@example.invalid
	cp -r src/. repo/
	git -C repo add -A
	git -C repo commit -qm first
	git -C repo repack -adq
	timeout -k 2 $((90 * SLOW)) git clone -q repo "$IN/clone" </dev/null
	synced
	h git -C "$IN/clone" fsck --no-progress
	same status "$(h git -C "$IN/clone" status --porcelain)" ''
	landed a clone/numbers src/numbers
	landed a clone/.git/HEAD repo/.git/HEAD
	landed_tree a clone/.git/hooks repo/.git/hooks
	same 'lock files left' "$(in_guest a find /work/in/clone -name '*.lock')" ''
}

test_vim_saves() {
	start
	printf 'one\n' >"$IN/a.txt"
	h vim -u NONE -i NONE -N -es -c 'set backup writebackup swapfile' -c 'normal otwo' -c wq "$IN/a.txt"
	printf 'one\ntwo\n' >wanted
	landed a a.txt wanted
	h vim -u NONE -i NONE -N -es -c 'normal othree' -c wq "$IN/a.txt"
	printf 'one\ntwo\nthree\n' >wanted
	landed a a.txt wanted
	synced
	same 'names left' "$(in_guest a ls -A /work/in)" "a.txt
a.txt~"
}

# As its user has it: defaults, a swap file beside it, an undo file if any.
test_vim_with_its_defaults() {
	start
	printf 'one\n' >"$IN/a.txt"
	HOME=$SBXFS_TEST_DIR h vim -es -c 'normal otwo' -c wq "$IN/a.txt"
	printf 'one\ntwo\n' >wanted
	landed a a.txt wanted
	synced
	same 'names left' "$(in_guest a ls -A /work/in)" a.txt
}

test_sed_i() {
	start
	printf 'alpha\n' >"$IN/s"
	h sed -i s/alpha/beta/ "$IN/s"
	printf 'beta\n' >wanted
	landed a s wanted
	same names "$(in_guest a ls -A /work/in)" s
}

test_dd_seeks_and_keeps() {
	start
	h cp src/numbers "$IN/n"
	printf XYZ | timeout 30 dd of="$IN/n" bs=1 seek=1000 conv=notrunc status=none
	cp src/numbers wanted
	printf XYZ | dd of=wanted bs=1 seek=1000 conv=notrunc status=none
	landed a n wanted
	h dd if=/dev/zero of="$IN/z" bs=1M count=5 conv=fsync status=none
	same size "$(guest_stat a %s z)" 5242880
	h dd if=src/numbers of="$IN/hole" bs=1k seek=64 count=1 status=none
	rm wanted
	dd if=src/numbers of=wanted bs=1k seek=64 count=1 status=none
	landed a hole wanted
}

test_shell_redirections() {
	start
	echo one >"$IN/f"
	echo two >>"$IN/f"
	printf 'one\ntwo\n' >wanted
	landed a f wanted
	(echo a; cat src/numbers; echo b) >"$IN/group"
	(echo a; cat src/numbers; echo b) >wanted
	landed a group wanted
	echo three | timeout 30 tee "$IN/t" >/dev/null
	echo four | timeout 30 tee -a "$IN/t" >/dev/null
	printf 'three\nfour\n' >wanted
	landed a t wanted
	: >"$IN/f"
	wait_for 10 guest_empty a f
}
guest_empty() { [ "$(guest_stat "$1" %s "$2")" = 0 ]; }

test_touch() {
	start
	h touch "$IN/new"
	wait_for 10 guest_has a new
	same owner "$(guest_stat a %u:%g new)" 1000:1000
	echo text >"$IN/old"
	h touch -d '2021-01-02 03:04:05' "$IN/old"
	same mtime "$(guest_stat a %Y old)" "$(date -d '2021-01-02 03:04:05' +%s)"
	same text "$(in_guest a cat /work/in/old)" text
}

test_python_writes_and_replaces() {
	start
	cat >p.py <<-'END'
		import os, sys, tempfile
		d = sys.argv[1]
		with open(d + "/f", "w", encoding="utf-8") as f:
		    f.write("first\n")
		fd, name = tempfile.mkstemp(dir=d)
		os.write(fd, b"second\n")
		os.fsync(fd)
		os.close(fd)
		os.replace(name, d + "/f")
		with open(d + "/f", "r+") as f:
		    f.seek(0, 2)
		    f.write("third\n")
		    f.seek(0)
		    assert f.read() == "second\nthird\n", f.read()
		assert os.listdir(d) == ["f"], os.listdir(d)
	END
	h python3 p.py "$IN"
	printf 'second\nthird\n' >wanted
	landed a f wanted
	same names "$(in_guest a ls -A /work/in)" f
}

# As gedit and others save: GLib writes a temporary, keeps a copy of the old one and renames.
test_glib_saves() {
	command -v gio >/dev/null || skip 'gio is not installed'
	start
	echo one >"$IN/a.txt"
	echo two | timeout -k 2 $((60 * SLOW)) gio save -b "$IN/a.txt"
	echo two >wanted
	landed a a.txt wanted
	echo one >wanted
	landed a a.txt~ wanted
	h gio copy src/numbers "$IN/numbers"
	landed a numbers src/numbers
	synced
	same 'names left' "$(in_guest a ls -A /work/in | tr '\n' ' ')" 'a.txt a.txt~ numbers '
}

# Not installed by tools/check: it is hundreds of megabytes.
test_libreoffice_saves() {
	command -v soffice >/dev/null || skip 'LibreOffice is not installed'
	start
	echo '<p>one two three</p>' >doc.html
	timeout -k 2 $((100 * SLOW)) soffice "-env:UserInstallation=file://$SBXFS_TEST_DIR/office" --headless --convert-to txt:Text \
		--outdir "$IN" doc.html </dev/null
	synced
	has text "$(in_guest a cat /work/in/doc.txt)" 'one two three'
	same 'names left' "$(in_guest a ls -A /work/in)" doc.txt
}
