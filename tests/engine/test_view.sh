# test_view.sh: what a sandbox looks like through the mount: names, types, modes, listings, refusals, control files.

# MAF-92: a declared output is literal, so a name that is a pattern elsewhere is a name here.
test_names_that_break_tools() {
	sandbox_start a out/ '*.png'
	guest_write a out/.keep x
	in_guest a rm /work/out/.keep
	guest_write a '*.png' literal
	guest_write a 'b.png' not-declared
	python3 "$SBXFS_TOP/tests/engine/names.py" plant "$(guest_root a)/work/out"
	mount_up
	python3 "$SBXFS_TOP/tests/engine/names.py" verify "$(box a)/out" || fail 'see the output'
	same 'literal pattern' "$(cat "$(box a)/*.png")" literal
	expect_errno ENOENT stat "$(box a)/b.png"
}

outside() {
	in_guest_as_root "$1" sh -c 'mkdir -p /work-outside/sub; echo secret >/work-outside/secret.txt; echo leaf >/work-outside/sub/leaf.txt; chmod -R a+rX /work-outside'
}

# P-01 P-02 P-03 P-04 P-05 P-08 P-09 P-10 P-12 MAF-82 MAF-83 MAF-84: the probes of reading and listing.
test_probes_of_reading() {
	sandbox_start a out/ linked/ report
	outside a
	guest_write a out/real/inside.txt inside
	guest_write a out/plain.txt plain
	in_guest a sh -c 'cd /work; ln -s /work-outside out/link-dir; ln -s /work-outside/secret.txt out/link-file; ln -s /work-outside linked; ln -s /work-outside/secret.txt report'
	# The premise: the engine itself answers through the links, types and bytes alike.
	api "/containers/$(full a)/archive?path=/work/out/link-dir/secret.txt" -o premise.tar -f
	same 'premise: read through a linked parent' "$(tar -xOf premise.tar secret.txt)" secret
	mount_up
	local top
	top=$(box a)
	# P-01
	same bytes "$(cat "$top/out/real/inside.txt")" inside
	same size "$(stat -c %s "$top/out/real/inside.txt")" 6
	# P-02 P-12: listed, as what cannot be read; the target's length leaks nowhere
	same listing "$(ls "$top/out" | tr '\n' ' ')" 'link-dir link-file plain.txt real '
	same 'a link' "$(stat -c '%F %a %s' "$top/out/link-file")" 'regular empty file 0 0'
	expect_errno EINVAL readlink "$top/out/link-file"
	# P-03
	expect_errno ELOOP read "$top/out/link-file"
	expect_errno ELOOP read "$top/report"
	# P-04 P-05: the kernel itself refuses to go through what is no directory
	expect_errno ENOTDIR stat "$top/out/link-dir/secret.txt"
	expect_errno ENOTDIR read "$top/out/link-dir/secret.txt"
	# P-08
	expect_errno ENOTDIR read "$top/out/plain.txt/x"
	# P-09 P-10
	expect_errno ELOOP open "$top/linked"
	expect_errno ENOTDIR list "$top/linked"
	expect_errno ENOTDIR list "$top/out/link-dir/sub"
	# The command tells a link from a plain parent.
	expect_exit 4 sbxfs info "$(full a)" out/link-dir/secret.txt
	expect_exit 5 sbxfs info "$(full a)" out/plain.txt/x
	expect_exit 0 sbxfs info "$(full a)" out/link-file
	has 'info of a link' "$OUT" /work-outside/secret.txt
	has refused "$(cat "$top/.sbxfs/refused")" link-file
	has audit "$(cat "$top/.sbxfs/audit")" link-file
}

# P-06: the work dir itself is a link.
test_linked_work_dir() {
	IMAGE=sbxfs-test:linkwork
	LABELS=(--label sbxfs.workdir=/work)
	sandbox_start a out/ report
	in_guest a sh -c 'cd /real/work && echo secret >report && mkdir out && echo secret >out/x'
	api "/containers/$(full a)/archive?path=/work/report" -o premise.tar -f
	same premise "$(tar -xOf premise.tar report)" secret
	mount_up
	expect_errno ELOOP read "$(box a)/report"
	expect_errno ELOOP list "$(box a)/out"
	expect_exit 4 sbxfs info "$(full a)" report
}

# P-07 P-11: an ancestor of the work dir is a link.
test_linked_ancestor_of_the_work_dir() {
	IMAGE=sbxfs-test:linkdir
	LABELS=(--label sbxfs.workdir=/link/work)
	sandbox_start a out/ report
	in_guest a sh -c 'cd /real/work && echo secret >report && mkdir out && echo secret >out/x'
	api "/containers/$(full a)/archive?path=/link/work/report" -o premise.tar -f
	same premise "$(tar -xOf premise.tar report)" secret
	mount_up
	expect_errno ELOOP read "$(box a)/report"
	expect_errno ELOOP list "$(box a)/out"
	expect_exit 4 sbxfs info "$(full a)" report
}

test_fifos_sockets_and_devices() {
	sandbox_start a out/
	in_guest a sh -c 'mkdir -p /work/out; mkfifo /work/out/fifo'
	in_guest a timeout 1 nc -l -U /work/out/socket 2>/dev/null || python3 -c '
import os, socket, sys
os.chdir(sys.argv[1]); socket.socket(socket.AF_UNIX).bind("socket")' "$(guest_root a)/work/out"
	mknod "$(guest_root a)/work/out/null" c 1 3
	mount_up
	local each
	for each in fifo socket null; do
		same "$each" "$(stat -c '%F %a %s' "$(box a)/out/$each")" 'regular empty file 0 0'
		expect_errno ENXIO open "$(box a)/out/$each"
		has refused "$(cat "$(box a)/.sbxfs/refused")" "$each"
	done
	same listing "$(ls "$(box a)/out" | tr '\n' ' ')" 'fifo null socket '
}

# Modes are what may be read, never what runs with another's rights; times are the guest's to the nanosecond (MAF-88).
test_modes_times_and_owner() {
	sandbox_start a out/
	in_guest a sh -c 'mkdir -p /work/out/dir; cd /work/out; for m in 644 600 755 4755 2755 1644 000 222; do echo $m >$m; chmod $m $m; done; chmod 2775 dir'
	touch -d '2001-02-03 04:05:06.789012345 UTC' "$(guest_root a)/work/out/644"
	touch -d '1969-12-31 23:00:00 UTC' "$(guest_root a)/work/out/600"
	mount_up
	local out
	out=$(box a)/out
	same modes "$(cd "$out" && stat -c '%n:%a' 644 600 755 4755 2755 1644 000 222 dir | tr '\n' ' ')" \
		'644:444 600:400 755:555 4755:555 2755:555 1644:444 000:0 222:0 dir:555 '
	same mtime "$(stat -c %.Y "$out/644")" 981173106.789012345
	same 'mtime before 1970' "$(stat -c %Y "$out/600")" -3600
	same owner "$(stat -c %u:%g "$out/644")" "$(id -u):$(id -g)"
	same 'mount flags' "$(awk -v m="$MNT" '$2 == m' /proc/mounts | tr ' ' '\n' | grep -oE 'nosuid|nodev|noexec' | sort -u | tr '\n' ' ')" 'nodev noexec nosuid '
}

# Only what is declared shows, and it shows as soon as it is there.
test_declared_only_and_when_written() {
	sandbox_start a out/ report.json deep/er/file
	guest_write a secret.txt x
	guest_write a deep/undeclared x
	mount_up
	lacks listing "$(ls "$(box a)")" secret
	expect_errno ENOENT stat "$(box a)/secret.txt"
	expect_errno ENOENT stat "$(box a)/report.json"
	guest_write a report.json '{}'
	guest_write a out/x/y/z deep
	wait_for 6 test -e "$(box a)/report.json"
	same report "$(cat "$(box a)/report.json")" '{}'
	wait_for 6 test -e "$(box a)/out/x/y/z"
	guest_write a deep/er/file here
	wait_for 6 test -e "$(box a)/deep/er/file"
	same listing "$(ls "$(box a)" | tr '\n' ' ')" 'deep in out report.json '
	same 'a parent shows only the declared' "$(ls "$(box a)/deep")" er
	expect_errno EROFS write "$(box a)/report.json" x
	expect_errno EROFS unlink "$(box a)/report.json"
	expect_errno EROFS mkdir "$(box a)/out/new"
}

test_tools_find_grep_cp_tar() {
	sandbox_start a out/
	in_guest a sh -c 'cd /work; mkdir -p out/a/b/c out/empty; for i in 1 2 3 4 5 6 7 8 9; do seq $i 500 >out/a/f$i; echo needle$i >out/a/b/c/g$i; done; ln out/a/f1 out/hard'
	mount_up
	local out
	out=$(box a)/out
	same find "$(find "$out" -type f | wc -l)" 19
	same grep "$(grep -r needle7 "$out" | wc -l)" 1
	cp -r "$out" copy
	diff -r copy "$(guest_root a)/work/out" || fail 'cp -r differs'
	tar -C "$out" -cf tree.tar .
	same tar "$(tar -tf tree.tar | grep -c g)" 9
	same 'a hard link is a file' "$(sha256sum <"$out/hard")" "$(sha256sum <"$out/a/f1")"
	(cd "$out" && find . -type f -exec sha256sum {} + | sort) >theirs
	(cd "$(guest_root a)/work/out" && find . -type f -exec sha256sum {} + | sort) >ours
	cmp theirs ours
	same 'an empty directory' "$(ls -A "$out/empty")" ''
	wc "$out/a/f1" >/dev/null && head -n 1 "$out/a/f2" >/dev/null && tail -n 1 "$out/a/f3" >/dev/null
}

# A listing is complete: of the image's own files and the guest's, and of what is there now.
test_the_images_files_are_listed() {
	IMAGE=sbxfs-test:seeded
	sandbox_start a out/
	guest_write a out/mine.txt mine
	guest_write a out/sub/mine.txt mine
	in_guest a sh -c 'rm -r /work/out/emptied; mkdir /work/out/emptied; echo new >/work/out/emptied/new.txt'
	mount_up
	same top "$(ls "$(box a)/out" | tr '\n' ' ')" 'emptied mine.txt seed.txt sub '
	same sub "$(ls "$(box a)/out/sub" | tr '\n' ' ')" 'deep.txt mine.txt '
	same 'a directory made anew' "$(ls "$(box a)/out/emptied")" new.txt
	same bytes "$(cat "$(box a)/out/seed.txt")" 'from the image'
	in_guest a rm -r /work/out/sub
	wait_for 6 bash -c '! ls "$1" | grep -q sub' sh "$(box a)/out"
}

test_a_thousand_files() {
	sandbox_start a out/
	in_guest a sh -c 'mkdir -p /work/out/d; cd /work/out/d; i=0; while [ $i -lt 1000 ]; do echo $i >f$i; i=$((i+1)); done'
	mount_up
	local began
	began=$(now_ms)
	same count "$(ls -l "$(box a)/out/d" | awk '/^-/ && $NF ~ /^f[0-9]+$/' | wc -l)" 1000
	within 20000 $began 'ls -l of 1000 files'
	local heads
	heads=$(stats .engine.archive_heads)
	[ "$heads" -lt 100 ] || fail "$heads stats for a thousand files: the attributes did not come with the listing"
	same one "$(cat "$(box a)/out/d/f777")" 777
}

# Inode numbers say which content it is: the same while it stays, also in another mount, and another when it changed.
test_inode_numbers_stay_with_the_content() {
	sandbox_start a out/
	guest_write a out/x one
	guest_write a out/y two
	mount_up
	local before
	before=$(stat -c %i "$(box a)/out/x")
	mount_down
	mount_up
	same 'across mounts' "$(stat -c %i "$(box a)/out/x")" "$before"
	[ "$(stat -c %i "$(box a)/out/y")" != "$before" ] || fail 'two files share a number'
	sleep 1.1
	guest_write a out/x three
	wait_for 6 grep -q three "$(box a)/out/x"
	[ "$(stat -c %i "$(box a)/out/x")" != "$before" ] || fail 'new content has the old number'
}

# MAF-90: what lies on a mount is refused with a reason, never reported absent; nor is anything written there (bug case 7).
test_mounts_are_refused() {
	IMAGE=sbxfs-test:volume sandbox_start vol out/ report
	guest_write vol report text
	RUN_OPTIONS=(--tmpfs /work/out:mode=1777)
	sandbox_start tmp out/ report
	RUN_OPTIONS=()
	guest_write tmp out/x text
	guest_write tmp report text
	mount_up
	expect_errno EOPNOTSUPP read "$(box vol)/report"
	expect_errno EOPNOTSUPP list "$(box tmp)/out"
	same 'beside the tmpfs' "$(cat "$(box tmp)/report")" text
	has reason "$(jq -rs '.[] | select(.path == "report") | .reason' "$(box vol)/.sbxfs/refused")" 'lies on'
	has reason "$(info vol '.unserved[] | select(.path == "report") | .reason')" 'lies on'
	has reason "$(info tmp '.unserved[] | .reason')" 'lies on'
	same 'that it has mounts' "$(sbxfs ls | awk -v name="$(full vol)" '$1 == name { print $4 }')" yes
	echo x >f
	expect_exit 8 sbxfs put "$(full vol)" f
	has reason "$ERR" 'lies on'
}

# MAF-80: nothing in the image is needed to read.
test_an_image_without_a_shell() {
	IMAGE=sbxfs-test:noshell
	RUN_COMMAND=(/bin/hold write /work/report 'by hold')
	sandbox_start a report out/
	mount_up
	wait_for 6 test -e "$(box a)/report"
	same bytes "$(cat "$(box a)/report")" 'by hold'
}

# Somebody else's container becomes a sandbox by a rule; without one it is none.
test_a_foreign_container_by_rule() {
	mkdir -p "$XDG_CONFIG_HOME/sbxfs"
	printf '[rule theirs]\nname = %sruled*\nworkdir = /work\noutputs = results/,summary.csv\nin = inbox\n' "$PREFIX" >"$XDG_CONFIG_HOME/sbxfs/config.ini"
	container_start ruled1
	container_start other
	guest_write ruled1 results/x text
	guest_write ruled1 summary.csv 1,2
	mount_up
	lacks 'the root' "$(ls "$MNT")" "$(full other)"
	same listing "$(ls "$(box ruled1)" | tr '\n' ' ')" 'inbox results summary.csv '
	same bytes "$(cat "$(box ruled1)/results/x")" text
}

test_containers_of_maf_sandbox() {
	container_start m --label maf-sandbox.scope=s --label maf-sandbox.thread=t --label maf-sandbox.agent=a --label maf-sandbox.kind=k
	container_start p --label maf-sandbox.scope=s --label maf-sandbox.thread=t --label maf-sandbox.agent=a --label maf-sandbox.kind=k --label maf-sandbox.role=proxy
	mount_up
	has 'the root' "$(ls "$MNT")" "$(full m)"
	lacks 'the root' "$(ls "$MNT")" "$(full p)"
	same 'work dir' "$(info m .workdir)" /maf-sandbox/work
}

test_exited_and_paused_sandboxes_show() {
	sandbox_start a out/
	sandbox_start b out/
	guest_write a out/x from-a
	guest_write b out/x from-b
	d kill "$(full a)" >/dev/null
	d pause "$(full b)" >/dev/null
	mount_up
	same exited "$(cat "$(box a)/out/x")" from-a
	same paused "$(cat "$(box b)/out/x")" from-b
	same 'still paused by its owner' "$(d inspect -f '{{.State.Status}}' "$(full b)")" paused
	same state "$(info a .state)" exited
	mount_down
	mount_up -o state=running
	lacks 'running only' "$(ls "$MNT")" "$(full a)"
}

# What we pause to read it is still running for those who look.
test_a_window_hides_no_running_sandbox() {
	proxy_up
	sandbox_start a out/
	guest_write a out/held text
	mount_up -o state=running
	has 'the root' "$(ls "$MNT")" "$(full a)"
	proxy_stall held
	cat "$(box a)/out/held" >held.out &
	local reader=$! looks
	wait_for 10 sh -c '[ "$(DOCKER_HOST=$1 docker inspect -f "{{.State.Status}}" "$2")" = paused ]' sh "$ENGINE_HOST" "$(full a)"
	for looks in 1 2 3 4 5 6 7 8; do
		has "the root, look $looks" "$(ls "$MNT")" "$(full a)"
		sleep 0.4
	done
	same premise "$(DOCKER_HOST=$ENGINE_HOST d inspect -f '{{.State.Status}}' "$(full a)")" paused
	same state "$(info a .state)" running
	proxy_flow
	wait $reader || fail 'the read failed'
	same bytes "$(cat held.out)" text
}

test_control_files_are_true() {
	RUN_COMMAND=(sh -c 'echo to-stdout; echo to-stderr >&2; exec sleep 1000')
	sandbox_start a out/ report
	guest_write a out/x text
	mount_up
	lacks 'hidden from ls' "$(ls "$(box a)" "$MNT")" .sbxfs
	same id "$(info a .id)" "$(sandbox_id a)"
	same state "$(info a .state)" running
	same 'work dir' "$(info a .workdir)" /work
	has outputs "$(info a .outputs)" out
	has stdout "$(cat "$(box a)/.sbxfs/log")" to-stdout
	has stderr "$(cat "$(box a)/.sbxfs/log")" to-stderr
	jq . "$MNT/.sbxfs/stats.json" >/dev/null
	same 'nothing refused yet' "$(cat "$(box a)/.sbxfs/audit")" ''
	in_guest a ln -s /etc/passwd /work/report
	wait_for 6 test -e "$(box a)/report"
	expect_errno ELOOP read "$(box a)/report"
	same 'one audit line a refusal' "$(jq -rs '.[-1].path' "$(box a)/.sbxfs/audit")" report
	expect_errno EROFS write "$(box a)/.sbxfs/info.json" x || expect_errno EACCES write "$(box a)/.sbxfs/info.json" x
}

test_df_answers() {
	sandbox_start a out/
	mount_up
	timeout 10 df "$MNT" "$(box a)" >/dev/null
	timeout 10 stat -f "$MNT" >/dev/null
}

# MAF-85: only the very path is absent, the case of its letters included, and none that is like it; what cannot be asked is not absent.
test_absence_is_of_the_very_path() {
	local out
	proxy_up
	sandbox_start a out/
	guest_write a out/Out.PNG upper
	guest_write a 'out/a b' two
	guest_write a out/f file
	mount_up
	out=$(box a)/out
	same upper "$(cat "$out/Out.PNG")" upper
	same 'with a space' "$(cat "$out/a b")" two
	for each in out.png OUT.PNG 'Out?PNG' 'Out.PN.' a b none/x; do
		expect_errno ENOENT stat "$out/$each"
		expect_exit 3 sbxfs get "$(full a)" "out/$each" --to got
	done
	expect_errno ENOTDIR stat "$out/f/x"
	guest_write a out/out.png lower
	wait_for 5 test -e "$out/out.png"
	same both "$(cat "$out/Out.PNG" "$out/out.png")" upperlower
	proxy_down
	! sbxfs get "$(full a)" out/none --to got 2>said || fail 'it was got from no engine'
	lacks 'what is said of an engine that is gone' "$(cat said)" 'does not exist'
	sleep 2 # what was listed is no longer believed
	expect_errno EHOSTDOWN stat "$out/none"
}

# MAF-91: a listing costs by the names in it. Premise: one of the files read is counted with all its bytes.
test_a_listing_moves_no_content() {
	local before
	sandbox_start a out/
	in_guest a sh -c 'mkdir -p /work/out; cd /work/out
		for i in 0 1 2 3 4 5 6 7 8 9; do dd if=/dev/zero of=big$i bs=1M count=0 seek=100 && echo $i >small$i; done; ln -s big0 link' 2>/dev/null
	mount_up
	before=$(stats .engine.bytes_in)
	same names "$(ls -l "$(box a)/out" | awk 'NR > 1 { print $5 }' | sort -n | uniq -c | tr -s ' \n' ' ')" ' 1 0 10 2 10 104857600 '
	before=$(($(stats .engine.bytes_in) - before))
	echo "moved for 21 names: $before bytes"
	[ $before -lt 1048576 ] || fail "$before bytes were moved to list 21 names"
	before=$(stats .engine.bytes_in)
	timeout $((60 * SLOW)) cat "$(box a)/out/big3" >/dev/null
	[ $(($(stats .engine.bytes_in) - before)) -ge 104857600 ] || fail 'premise: the bytes of a file are not counted'
}
