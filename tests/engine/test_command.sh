# test_command.sh: `sbxfs exec`, promise by promise.

# Labelled as one of ours in full: a command's bounds end no other.
OWNED=(--label "sbxfs.scope=$PREFIX" --label sbxfs.thread=t --label sbxfs.agent=a --label sbxfs.kind=k)
start() { LABELS=("${OWNED[@]}") && sandbox_start a out/ report.json; }
state() { d inspect -f '{{.State.Status}}' "$(full a)"; }

test_MAF_130_arguments_meet_no_shell() {
	start
	same arguments "$(sbxfs exec "$(full a)" -- printf '[%s]' 'a; touch /work/pwn' '$(id)' '' "$(printf 'x\ny')")" \
		"$(printf '[a; touch /work/pwn][$(id)][][x\ny]')"
	same 'nothing ran' "$(in_guest a ls /work)" ''
	expect_exit 127 sbxfs exec "$(full a)" -- '-it'
}

test_MAF_131_user_and_directory_are_the_images() {
	start
	same id "$(sbxfs exec "$(full a)" -- id -u)" 1000
	same pwd "$(sbxfs exec "$(full a)" -- pwd)" /work
	same cwd "$(sbxfs exec "$(full a)" --cwd /tmp -- pwd)" /tmp
	same env "$(sbxfs exec "$(full a)" --env X=y -- sh -c 'echo $X')" y
}

test_MAF_132_a_timeout_removes_the_sandbox() {
	start
	local began
	began=$(now_ms)
	expect_exit 124 sbxfs exec "$(full a)" --timeout 1 -- sh -c 'sleep 500 & sleep 500'
	[ $(($(now_ms) - began)) -lt 8000 ] || fail "it took $(($(now_ms) - began)) ms"
	has sentence "$ERR" 'timed out after 1'
	has sentence "$ERR" 'was removed'
	! d inspect "$(full a)" >/dev/null 2>&1 || fail 'the sandbox is still there'
}

test_MAF_132_kill_keeps_what_was_written() {
	start
	expect_exit 124 sbxfs exec "$(full a)" --timeout 1 --on-timeout kill -- \
		sh -c 'echo part >report.json; echo said; sleep 500 & sleep 500'
	same 'stdout so far' "$OUT" said
	same state "$(state)" exited
	sbxfs get "$(full a)" report.json --to got
	same output "$(cat got/report.json)" part
	expect_exit 125 sbxfs exec "$(full a)" -- true
	has sentence "$ERR" 'not running'
}

test_MAF_133_an_interrupt_keeps_sandbox_and_process() {
	start
	signalled "$SBXFS" exec "$(full a)" -- sh -c 'while :; do echo x >>/work/count; sleep 0.1; done' </dev/null >log 2>&1 &
	local pid=$! before status=0
	wait_for 10 in_guest a test -s /work/count
	kill -INT $pid
	wait $pid || status=$?
	same 'exit code' $status 130
	same state "$(state)" running
	before=$(in_guest a wc -c /work/count)
	sleep 0.5
	[ "$(in_guest a wc -c /work/count)" != "$before" ] || fail 'the process does not go on'
}

test_MAF_134_a_silent_command_is_not_late() {
	start
	expect_exit 0 sbxfs exec "$(full a)" --timeout 20 -- sleep 3
}

test_MAF_135_streams_apart_and_byte_exact() {
	start
	"$SBXFS" exec "$(full a)" -- sh -c 'printf "\000\001\377out\r\n"; printf "err\000\377" >&2' </dev/null >o 2>e
	same stdout "$(od -An -tx1 o | tr -d ' \n')" 0001ff6f75740d0a
	same stderr "$(od -An -tx1 e | tr -d ' \n')" 65727200ff
	in_guest a sh -c 'head -c 3000000 /dev/urandom >/work/random'
	"$SBXFS" exec "$(full a)" -- cat /work/random </dev/null >o
	same digest "$(sha256sum <o)" "$(in_guest a sha256sum </dev/null /work/random | sed 's| /work/random| -|')"
}

test_MAF_135_exit_codes_are_exact() {
	start
	expect_exit 0 sbxfs exec "$(full a)" -- true
	expect_exit 1 sbxfs exec "$(full a)" -- false
	expect_exit 7 sbxfs exec "$(full a)" -- sh -c 'exit 7'
	expect_exit 137 sbxfs exec "$(full a)" -- sh -c 'kill -9 $$'
	expect_exit 127 sbxfs exec "$(full a)" -- nosuch
	same 'no text of ours on stdout' "$OUT" ''
	has sentence "$ERR" nosuch
	expect_exit 126 sbxfs exec "$(full a)" -- /etc/passwd
	expect_exit 126 sbxfs exec "$(full a)" -- sh -c 'exit 126'
	same 'its own 126 is no failure of ours' "$ERR" ''
}

test_stdin_is_passed_on() {
	start
	same stdin "$(printf 'a\0b' | timeout 20 "$SBXFS" exec "$(full a)" -- od -An -c | tr -s ' ')" ' a \0 b'
	same 'large stdin' "$(head -c 5000000 /dev/zero | timeout 30 "$SBXFS" exec "$(full a)" -- wc -c)" 5000000
}

test_MAF_136_exactly_the_budget_is_fine() {
	start
	same 'exactly 8 MiB' "$("$SBXFS" exec "$(full a)" -- head -c 8388608 /dev/zero </dev/null | wc -c)" 8388608
	same 'both streams' "$("$SBXFS" exec "$(full a)" --max-output 10 -- sh -c 'printf 12345; printf 12345 >&2' 2>&1 </dev/null | wc -c)" 10
	same state "$(state)" running
}

test_MAF_136_one_byte_more_removes_the_sandbox() {
	start
	expect_exit 125 sbxfs exec "$(full a)" --max-output 10 -- sh -c 'printf 123456; printf 12345 >&2'
	has sentence "$ERR" 'more than 10 bytes'
	! d inspect "$(full a)" >/dev/null 2>&1 || fail 'the sandbox is still there'
}

test_MAF_136_a_flood_ends_at_once() {
	start
	local began
	began=$(now_ms)
	expect_exit 125 sbxfs exec "$(full a)" --max-output 1m -- yes
	[ $(($(now_ms) - began)) -lt 10000 ] || fail "it took $(($(now_ms) - began)) ms"
	! d inspect "$(full a)" >/dev/null 2>&1 || fail 'the sandbox is still there'
}

test_MAF_137_a_detached_command_outlives_its_call() {
	start
	expect_exit 0 sbxfs exec "$(full a)" --detach -- sh -c 'sleep 2; echo 0 >/work/done'
	expect_exit 1 sbxfs exec "$(full a)" -- test -e /work/done
	wait_for 10 in_guest a test -e /work/done
	same 'its end' "$(in_guest a cat /work/done)" 0
}

# MAF-98: a command runs once, whatever it says: words like the engines' of a paused container are the guest's, and no reason to
# run it again; nor is a window that a mount opens meanwhile.
test_MAF_98_a_command_runs_once() {
	start
	in_guest a sh -c 'mkdir -p /work/out; echo text >/work/out/f'
	mount_up
	local n
	for n in 1 2 3 4 5; do
		touch "$(guest_root a)/work/out/f"
		cat "$(box a)/out/f" >/dev/null &
		expect_exit 1 sbxfs exec "$(full a)" -- sh -c '
			echo run >>/work/runs
			echo "Error response from daemon: Container $0 is paused, unpause the container before exec" >&2
			echo "{\"message\":\"container $0 is paused; can only create exec sessions on running containers: container state improper\"}"
			exit 1' "$(full a)"
		has "what it said" "$ERR $OUT" 'is paused, unpause the container before exec'
		same "after $n commands" "$(in_guest a grep -c run /work/runs)" $n
		wait $!
	done
}

test_paused_and_absent_are_said() {
	start
	d pause "$(full a)" >/dev/null
	expect_exit 125 sbxfs exec "$(full a)" -- true
	has sentence "$ERR" paused
	d unpause "$(full a)" >/dev/null
	expect_exit 125 sbxfs exec "$(full nosuch)" -- true
	expect_exit 2 sbxfs exec "$(full a)"
}

# No premise here: without the guard Podman serves no container any more, and this engine is shared.
test_a_fifo_for_passwd_is_met_by_no_command() {
	start
	RUN_OPTIONS=(--user 0)
	sandbox_start evil out/
	in_guest_as_root evil sh -c 'rm /etc/passwd; mkfifo /etc/passwd'
	trap 'unplug evil' EXIT
	expect_exit 125 sbxfs exec "$(full evil)" -- true
	has sentence "$ERR" "the sandbox's /etc/passwd is neither a plain file nor absent"
	in_guest_as_root evil sh -c 'mv /etc/passwd /etc/pipe; ln -s pipe /etc/passwd'
	expect_exit 125 sbxfs exec "$(full evil)" -- true
	has sentence "$ERR" 'a symlink to something other than a file'
	in_guest_as_root evil sh -c 'rm /etc/passwd; mv /etc/pipe /etc/passwd'
	same 'another sandbox' "$(sbxfs exec "$(full a)" -- echo here)" here
}
