# test_secrets.sh: what other users of this host can reach.

modes_below() { find "$1" -mindepth 1 -printf '%y %m %p\n' | grep -vE '^(d 700|f 600|l 777) ' || true; }

# Spools have no name; staged files are private in private directories.
test_spools_and_staging_are_private() {
	sandbox_start a out/
	guest_write a out/x secret-content
	mount_up -o "cache_dir=$SBXFS_TEST_DIR/spools,staging_dir=$SBXFS_TEST_DIR/staging"
	exec 5<"$(box a)/out/x"
	same bytes "$(cat <&5)" secret-content
	exec 6>"$(box a)/in/unfinished"
	printf secret-upload >&6
	same 'named spools' "$(find "$SBXFS_TEST_DIR/spools" -type f -size +0 2>/dev/null | wc -l)" 0
	same 'modes of staged files' "$(modes_below "$SBXFS_TEST_DIR/staging")" ''
	same 'the staging directory' "$(stat -c %a "$SBXFS_TEST_DIR/staging")" 700
	local got
	got=$(setpriv --reuid 4242 --regid 4242 --clear-groups find "$SBXFS_TEST_DIR/staging" "$SBXFS_TEST_DIR/spools" -type f 2>/dev/null) || true
	same 'what another user finds' "$got" ''
	exec 5<&- 6>&-
	mount_down
}

# Without allow_other the mount is its owner's alone.
test_another_user_sees_nothing() {
	sandbox_start a out/
	guest_write a out/x text
	mount_up
	local got
	got=$(setpriv --reuid 4242 --regid 4242 --clear-groups ls "$MNT" 2>&1) && fail 'another user lists the mount'
	has ls "$got" 'ermission denied'
	mount_down
}

# With allow_other the modes decide, as the kernel reads them: what the owner's umask takes away is not given.
test_allow_other_keeps_to_the_modes() {
	sandbox_start a out/
	guest_write a out/x text
	stranger() { setpriv --reuid 4242 --regid 4242 --clear-groups "$@"; }
	chmod 0711 "$SBXFS_TEST_DIR"
	mount_up -o allow_other,umask=077
	local got
	got=$(stranger cat "$(box a)/out/x" 2>&1) && fail "umask=077 and read all the same: $got"
	has 'cat' "$got" 'ermission denied'
	mount_down
	mount_up -o allow_other,umask=022
	same 'what another user reads' "$(stranger cat "$(box a)/out/x")" text
	got=$(stranger sh -c 'echo planted >"$1"' sh "$(box a)/in/x" 2>&1) && fail 'another user wrote into in/'
	has 'the write' "$got" 'ermission denied'
	[ ! -e "$(box a)/in/x" ] || fail 'it is there'
	mount_down
}
