# test_names.sh: names that a guest chooses to confuse: a listing is right, logs and reports are escaped, and nothing shadows
# what is ours.
# shellcheck shell=bash
. "$SBXFS_TOP/tests/conformance/attackers.sh"

# plant DIR: files (content: the name's hex) and links to a secret, as the guest.
plant_names() {
	timeout -k 2 20 python3 - "$1" <<'PYTHON'
import os, sys
base = os.fsencode(sys.argv[1])
names = [b"new\nline", b"\x1b[31mred\x1b[0m", b"\x1b]0;title\x07", b"\rback", b"\x9b31m", b"a" * 255, b"bad\xff\xfe", b".sbxfs", b"in",
         b"..x", b"...", b"..\n", b"\xe2\x80\xaetxt.exe", b"tab\t", b" ", b"{\"path\":1}"]
os.makedirs(base, exist_ok=True)
os.lchown(base, 1000, 1000)
for name in names:
    with open(os.path.join(base, name), "wb") as out:
        out.write(name.hex().encode())
    os.lchown(os.path.join(base, name), 1000, 1000)
for name in [b"link\nINFO forged line", b"link\x1b[2J"]:
    os.symlink(b"/etc/passwd", os.path.join(base, name))
PYTHON
}
verify_names() {
	timeout -k 2 $((150 * SLOW)) python3 - "$1" "$2" <<'PYTHON'
import errno, os, stat, sys
real, seen = (os.fsencode(a) for a in sys.argv[1:3])
problems = []
if sorted(os.listdir(real)) != sorted(os.listdir(seen)):
    problems.append("listed: %r" % sorted(set(os.listdir(real)) ^ set(os.listdir(seen))))
for name in os.listdir(real):
    path = os.path.join(seen, name)
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            problems.append("%r is no regular file" % name)
        with open(path, "rb") as source:
            got = source.read()
        if got != name.hex().encode() or os.path.islink(os.path.join(real, name)):
            problems.append("%r holds %r" % (name, got[:60]))
    except OSError as problem:
        link = os.path.islink(os.path.join(real, name))
        if problem.errno != (errno.ELOOP if link else errno.EILSEQ) or (not link and b"\xff" not in name and b"\x9b" not in name):
            problems.append("%r: %s" % (name, errno.errorcode[problem.errno]))
print("\n".join(problems))
sys.exit(bool(problems))
PYTHON
}
# plain WHAT FILE: nothing in it that a terminal obeys.
plain() { ! LC_ALL=C grep -nP '[\x00-\x08\x0b-\x1f\x7f]|\x9b|\xe2\x80\xae' "$2" >control.txt || fail "$1 holds raw control characters: $(head -n 1 control.txt | od -An -c | head -n 2 | tr -d '\n')"; }

test_names_are_shown_and_escaped() {
	sandbox_start box out/
	plant_names "$(guest_root box)/work/out"
	mount_up
	verify_names "$(guest_root box)/work/out" "$(box box)/out" || fail 'see the output'
	local name
	name=$(printf 'link\nINFO forged line')
	expect_errno ELOOP read "$(box box)/out/$name"
	cp "$(box box)/.sbxfs/audit" audit
	cp "$(box box)/.sbxfs/refused" refused
	cp "$(box box)/.sbxfs/info.json" info.json
	jq -es 'length > 0 and all(has("path"))' audit >/dev/null || fail 'a line of the audit is not one object'
	[ "$(wc -l <audit)" = "$(jq -s length audit)" ] || fail 'an object of the audit is not one line'
	sbxfs info "$(full box)" "out/$name" >info.txt 2>&1 || true
	sbxfs get "$(full box)" "out/$name" --to got >get.txt 2>&1 || true
	[ ! -e got ] || [ -d got ] || fail 'a link was fetched'
	sbxfs get "$(full box)" out/nothing$'\e[2J' --to got2 >get2.txt 2>&1 || true
	mount_down
	local each
	for each in audit refused info.json info.txt get.txt get2.txt mount.log; do plain "$each" "$each"; done
	[ -s get.txt ] && [ -s get2.txt ] || fail 'get said nothing'
	! grep -q '^INFO forged' mount.log audit refused info.txt get.txt || fail 'a name became a line of its own'
}

# The guest's own .sbxfs and in are its own affair, below what it declared; beside that they are ours.
test_nothing_shadows_ours() {
	sandbox_start box out/ file
	in_guest box sh -c 'mkdir -p /work/.sbxfs /work/out/.sbxfs /work/out/in; echo forged >/work/.sbxfs/info.json; echo forged >/work/.sbxfs/log
		echo own >/work/out/.sbxfs/info.json; echo own >/work/out/in/x; echo f >/work/file; mkdir -p /work/..x /work/undeclared'
	mount_up
	same 'whose info' "$(info box .name)" "$(full box)"
	lacks 'our directory' "$(cat "$(box box)/.sbxfs/log" "$(box box)/.sbxfs/info.json")" forged
	same 'below an output' "$(cat "$(box box)/out/.sbxfs/info.json" "$(box box)/out/in/x")" $'own\nown'
	same 'what is listed' "$(ls "$(box box)" | tr '\n' ' ')" 'file in out '
	expect_errno ENOENT stat "$(box box)/..x"
	expect_errno EROFS write "$(box box)/out/in/y"
	# in itself becomes a link: nothing lands behind it.
	in_guest_as_root box sh -c 'mkdir /elsewhere; chmod 0777 /elsewhere'
	in_guest box sh -c 'rm -rf /work/in; ln -s /elsewhere /work/in'
	sleep 1.5
	local got
	got=$(fsop write "$(box box)/in/x" secret) || true
	case $got in ELOOP | ENOTDIR) ;; *) fail "a write through a linked in gave '$got'" ;; esac
	same 'what landed' "$(in_guest_as_root box ls /elsewhere)" ''
}
