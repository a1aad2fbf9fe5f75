# test_exec.sh: `sbxfs exec`: what is said, in words and as a document. The rest is tests/engine/test_command.sh's.
. "$SBXFS_TOP/tests/lifecycle/life.sh"

guest_file() { sbxfs exec --no-stdin "$(full "$1")" -- test -s "$2"; }
absent() { gone "$(full "$1")" || fail "$1 is still there"; }

# MAF-130, MAF-131, MAF-135: arguments arrive as they are, by the guest's user, where asked; streams stay apart, byte by
# byte; codes are the command's own.
test_streams_and_codes() {
	make a
	guest a printf '%s|' 'two words' '$(id)' "quote'" '*' ''
	same arguments "$OUT" "two words|\$(id)|quote'|*||"
	guest a sh -c 'id -u; pwd'
	same 'user and place' "$OUT" $'1000\n/work'
	expect_exit 7 sbxfs exec "$(full a)" -- sh -c 'exit 7'
	python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 300)' >bytes
	"$SBXFS" exec "$(full a)" -- sh -c 'cat >/work/b; cat /work/b; cat /work/b >&2' <bytes >out 2>err
	cmp bytes out && cmp bytes err
	expect_exit 0 sbxfs exec "$(full a)" --json -- sh -c 'echo out; echo err >&2'
	same document "$(field '"\(.exit_code) \(.stdout) \(.stderr)"')" $'0 out\n err'
}

# What is said of a sandbox that cannot serve: 125, one sentence, and with --json one document of the usual shape.
test_sandboxes_that_cannot() {
	expect_exit 125 sbxfs exec "$(full none)" -- true
	one_sentence
	says "$(full none)"
	expect_exit 125 sbxfs exec "$(full none)" --json -- true
	same document "$(field '"\(.exit_code) \(.error_kind) \(.sandbox_removed) \(.stdout)"')" '125 absent false '
	make a
	d kill "$(full a)" >/dev/null
	expect_exit 125 sbxfs exec "$(full a)" -- true
	one_sentence
	says "$(full a)" 'not running'
	lacks 'the name twice' "${ERR#*"$(full a)"}" "$(full a)"
	expect_exit 2 sbxfs exec "$(full a)"
	expect_exit 2 sbxfs exec "$(full a)" --on-timeout shrug -- true
	expect_exit 2 sbxfs exec "$(full a)" -- ''
	expect_exit 2 sbxfs exec "$(full a)" --env NAME -- true
	expect_exit 2 sbxfs exec "$(full a)" --env =value -- true
	expect_exit 2 sbxfs exec "$(full a)" --no-such-option --json -- true
	same document "$(field '"\(.exit_code) \(.error_kind)"')" '2 usage'
}

# MAF-131, MAF-101: what JSON cannot hold is refused, and does not arrive as another text.
test_words_that_cannot_be_sent() {
	make a
	local odd=$'caf\xe9'
	expect_exit 2 sbxfs exec "$(full a)" -- printf %s "$odd"
	one_sentence
	says UTF-8
	expect_exit 2 sbxfs exec "$(full a)" --env "X=$odd" -- true
	expect_exit 2 sbxfs exec "$(full a)" --cwd "/tmp/$odd" -- true
	expect_exit 2 sbxfs run --scope "$PREFIX" --image "$IMAGE" -- printf %s "$odd"
	one_sentence
	says UTF-8
	guest a printf %s café
	same 'what can be sent' "$OUT" café
}

# MAF-131: a place to run in that is not there is no failure of the command's: 125 and a sentence, nothing on the streams.
test_a_directory_that_is_not_there() {
	make a
	expect_exit 125 sbxfs exec "$(full a)" --cwd /no/such -- true
	same 'standard output' "$OUT" ''
	one_sentence
	says "$(full a)" /no/such
	expect_exit 125 sbxfs exec "$(full a)" --cwd /no/such --json -- true
	same document "$(field '"\(.exit_code) \(.error_kind) \(.stdout)"')" '125 absent '
	# The premise: it is the directory alone; a command's own 125 is its own.
	in_guest a mkdir -p /work/sub
	same 'a relative one' "$(sbxfs exec "$(full a)" --cwd sub -- pwd)" /work/sub
	expect_exit 0 sbxfs exec "$(full a)" --cwd /tmp -- true
	expect_exit 125 sbxfs exec "$(full a)" -- sh -c 'exit 125'
	same 'nothing of ours' "$ERR" ''
}

# MAF-36: a reader that goes away ends our call, quietly, and takes neither the sandbox nor the command along; bytes that
# cannot be written end the command as a deadline does, for else it would run on unseen.
test_output_that_cannot_be_passed_on() {
	make a
	local status=0
	{ "$SBXFS" exec "$(full a)" --no-stdin -- sh -c 'i=0; while [ $i -lt 200000 ]; do echo line $i; i=$((i + 1)); done; echo end >/work/end' 2>said || echo $? >code; } | head -n 1 >first
	same 'the first line' "$(cat first)" 'line 0'
	same 'exit code' "$(cat code)" 141
	same 'a word about it' "$(cat said)" ''
	wait_for 60 guest_file a /work/end
	# A flood is ended, not counted until it is over its budget, and so is one with an input of its own.
	{ "$SBXFS" exec "$(full a)" --no-stdin -- yes 2>said || echo $? >code; } | head -n 1 >first
	same 'exit code' "$(cat code)" 141
	{ sleep 3 | timeout -k 2 60 "$SBXFS" exec "$(full a)" -- yes 2>said || echo $? >code2; } | head -n 1 >first
	same 'exit code' "$(cat code2)" 141
	same 'the sandbox' "$(state_of a)" running
	guest a sh -c 'echo kept >/work/note'
	timeout -k 2 $((60 * SLOW)) "$SBXFS" exec "$(full a)" -- sh -c 'while :; do echo x; sleep 0.1; done' </dev/null >/dev/full 2>said || status=$?
	same 'exit code' "$status" 125
	ERR=$(cat said)
	one_sentence
	says 'No space left' "$(full a)" 'were killed'
	same 'what was running' "$(state_of a)" exited
	make a
	guest a cat /work/note
	same 'what it had' "$OUT" kept
	status=0
	timeout -k 2 $((60 * SLOW)) "$SBXFS" exec "$(full a)" --on-timeout remove -- yes </dev/null >/dev/full 2>said || status=$?
	same 'exit code' "$status" 125
	has 'the sentence' "$(cat said)" 'was removed'
	absent a
}

# MAF-135: a stdout that does not block (its other users' choice, not ours) is waited for: every byte arrives.
test_a_stdout_that_does_not_block() {
	make a
	python3 - "$SBXFS" "$(full a)" <<-'END'
		import os, subprocess, sys, time
		ours, its = os.pipe2(os.O_CLOEXEC)
		os.set_blocking(its, False)
		command = subprocess.Popen([sys.argv[1], "exec", sys.argv[2], "--no-stdin", "--", "head", "-c", "3000000", "/dev/zero"], stdout=its)
		os.close(its)
		time.sleep(1)  # the pipe is full by then
		size = 0
		while part := os.read(ours, 65536):
		    size += len(part)
		assert command.wait(60) == 0 and size == 3000000, (command.returncode, size)
	END
	same 'the sandbox' "$(state_of a)" running
}

# MAF-135: a standard descriptor that is closed is nobody's connection: what would have gone there goes nowhere.
test_closed_descriptors() {
	make a
	local closed status
	for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
		status=0
		eval "timeout -k 2 $((60 * SLOW)) "'"$SBXFS"'" exec $(full a) -- sh -c 'cat; echo out; echo err >&2; exit 7' </dev/null >out 2>err $closed" || status=$?
		same "exit code, $closed" "$status" 7
	done
	same 'the other stream' "$(cat out err)" ''
	status=0
	timeout -k 2 $((60 * SLOW)) "$SBXFS" exec "$(full a)" -- sh -c 'echo out; echo err >&2' </dev/null >&- 2>err || status=$?
	same 'exit code, stderr' "$status $(cat err)" '0 err'
	status=0
	timeout -k 2 $((60 * SLOW)) "$SBXFS" exec "$(full a)" -- sh -c 'cat; echo out' <&- >out 2>err || status=$?
	same 'exit code, stdout' "$status $(cat out)" '0 out'
	same 'the sandbox' "$(state_of a)" running
}

# MAF-135: a document has all of the bytes: what no string can hold is beside it, and nothing in it repaints a terminal.
test_every_byte_is_in_the_document() {
	make a
	expect_exit 0 sbxfs exec "$(full a)" --json --no-stdin -- printf 'a\0b\302\233\342\200\256c'
	lacks 'the document' "$OUT" $'\302\233'
	lacks 'the document' "$OUT" $'\342\200\256'
	same stdout "$(field '.stdout | explode | @json')" '[97,0,98,155,8238,99]'
	same 'a second form' "$(field 'has("stdout_base64")')" false
	python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 300)' >bytes
	OUT=$("$SBXFS" exec "$(full a)" --json -- cat <bytes)
	field .stdout_base64 | base64 -d | cmp - bytes
	OUT=$("$SBXFS" run --scope "$PREFIX" --image "$IMAGE" --json -i -- sh -c 'cat >&2; printf "x\0y"' <bytes 2>/dev/null)
	field .stderr_base64 | base64 -d | cmp - bytes
	same stdout "$(field '.stdout | explode | @json')" '[120,0,121]'
}

# MAF-132, MAF-133: a reader that takes nothing holds up neither the deadline nor Ctrl-C.
test_a_reader_that_takes_nothing() {
	make a
	full_pipe
	signalled "$SBXFS" exec "$(full a)" --no-stdin -- yes >full 2>said &
	local pid=$! status=0
	wait_for 20 pipe_is_full
	kill -INT "$pid"
	wait "$pid" || status=$?
	same 'exit code' "$status" 130
	same 'the sandbox' "$(state_of a)" running
	status=0
	timeout -k 2 $((60 * SLOW)) "$SBXFS" exec "$(full a)" --no-stdin --timeout 2 -- yes >full 2>said || status=$?
	same 'exit code' "$status" 124
	has 'the sentence' "$(cat said)" 'was removed'
	absent a
}

# What follows a log ends with its reader, quietly, and with its bound where the reader takes nothing.
test_a_log_and_its_reader() {
	make a -- sh -c 'while :; do head -c 2000 /dev/zero | tr "\0" x; echo; sleep 0.1; done'
	{ timeout -k 2 $((60 * SLOW)) "$SBXFS" log -f "$(full a)" 2>said || echo $? >code; } | head -c 1 >first
	same 'exit code and words' "$(cat code said)" 141
	full_pipe
	local status=0
	timeout -k 2 $((60 * SLOW)) "$SBXFS" log -f --timeout 12 "$(full a)" >full 2>said || status=$?
	same 'exit code' "$status" 9
	pipe_is_full
	[ -s said ] || fail 'it says nothing'
}

# MAF-132, MAF-134: the caller's bound removes the sandbox and says so; the next create makes it anew. The bound is the
# caller's and nothing else's.
test_deadline_removes() {
	local began
	make a
	began=$(now_ms)
	expect_exit 124 sbxfs exec "$(full a)" --timeout 1 -- sleep 60
	within 8000 "$began" 'a bound of 1 s'
	[ $(($(now_ms) - began)) -ge 900 ] || fail 'before its time'
	one_sentence
	says 'timed out' '1.000 s' "sandbox $(full a) was removed"
	absent a
	make a
	expect_exit 124 sbxfs exec "$(full a)" --timeout 1 --json -- sleep 60
	same document "$(field '"\(.exit_code) \(.timed_out) \(.sandbox_removed) \(.error_kind)"')" '124 true true deadline'
	absent a
}

# MAF-132, MAF-136: a container that only a rule or a label makes a sandbox is somebody else's: no bound of a command's
# removes or kills it, or takes its volumes; the call ends with 125 and says so.
test_bounds_end_nothing_foreign() {
	local name id
	mkdir -p "$XDG_CONFIG_HOME/sbxfs"
	printf '[rule theirs]\nname = %s*\nworkdir = /work\n' "$(full foreign)" >"$XDG_CONFIG_HOME/sbxfs/config.ini"
	container_start foreign1 -v /data
	container_start foreign2 --label sbxfs.version=1
	for name in foreign1 foreign2; do
		id=$(id_of "$name")
		expect_exit 125 sbxfs exec "$(full "$name")" --timeout 1 -- sleep 60
		one_sentence
		says 'timed out' "$(full "$name")" 'not made by sbxfs' 'left alone'
		expect_exit 125 sbxfs exec "$(full "$name")" --timeout 1 --on-timeout kill --json -- sleep 60
		same document "$(field '"\(.exit_code) \(.timed_out) \(.sandbox_removed) \(.error_kind)"')" '125 true false deadline'
		expect_exit 125 sbxfs exec "$(full "$name")" --max-output 10 -- echo more than ten bytes
		says 'more than 10 bytes' 'left alone'
		ERR=$("$SBXFS" exec "$(full "$name")" -- sh -c 'echo x; sleep 1; echo x' 2>&1 </dev/null >/dev/full) && fail 'no failure'
		says 'left alone'
		same 'the container' "$(id_of "$name") $(state_of "$name")" "$id running"
	done
}

# MAF-137: nothing holds a detached command to a bound, so none is taken.
test_a_detached_command_takes_no_bounds() {
	local option
	for option in --timeout=5 --on-timeout=kill --max-output=1m; do
		expect_exit 2 sbxfs exec "$(full a)" -d $option -- true
		one_sentence
		says "${option%=*}" --detach
	done
	make a
	expect_exit 0 sbxfs exec "$(full a)" -d -- true
}

# A bound of nought is none of the two things that it could mean; a little is not nothing, and very much no overflow.
test_bounds_of_nought() {
	local option
	for option in --timeout=0 --timeout=0.000 --max-output=0; do
		expect_exit 2 sbxfs exec "$(full a)" $option -- true
		one_sentence
		says "${option%=*}" 'above zero'
	done
	make a
	# A millisecond: it is over while the command runs, or before it can begin. Taken for none, it would be killed.
	local status=0
	timeout -s KILL 50 "$SBXFS" exec "$(full a)" --timeout 0.0004 --on-timeout kill -- sleep 300 || status=$?
	case $status in 124 | 125) ;; *) fail "a timeout of 0.4 ms gave $status" ;; esac
	make a
	expect_exit 0 sbxfs exec "$(full a)" --timeout 9223372036854774 -- true
}

# MAF-136, MAF-36: over the budget of both streams together the sandbox goes and it is said; up to it all is well. What
# is held here does not grow with what a guest writes.
test_output_budget() {
	make a
	expect_exit 0 sbxfs exec "$(full a)" --max-output 4096 --shell 'head -c 2048 /dev/zero | tr "\0" x; head -c 2048 /dev/zero | tr "\0" y >&2'
	same 'all of it' "${#OUT} ${#ERR}" '2048 2048'
	python3 - "$SBXFS" "$(full a)" <<-'END'
		import resource, subprocess, sys
		done = subprocess.run([sys.argv[1], "exec", sys.argv[2], "--", "yes"], stdin=subprocess.DEVNULL,
		                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
		peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
		said = done.stderr.decode()
		assert done.returncode == 125, (done.returncode, said)
		assert len(done.stdout) == 8 << 20, len(done.stdout)
		assert "8388608 bytes" in said and "was removed" in said, said
		assert peak < 200 << 10, peak
	END
	absent a
}

# MAF-134: an engine that stalls is the engine's failure until the caller's own bound is over.
test_a_stalled_engine_is_not_absence() {
	make a
	proxy_up
	proxy_stall "$(full a)"
	expect_exit 9 sbxfs info "$(full a)" --timeout 1
	one_sentence
	says "$(full a)"
	proxy_flow
	expect_exit 0 sbxfs info "$(full a)"
}

# MAF-98: a command that says, and ends, as if the engine had refused it for a pause has run once, also beside reads that do pause the
# sandbox; and one that meets somebody's pause has not run at all.
test_a_command_runs_once() {
	local n reader
	make a --output out/
	in_guest a sh -c 'mkdir -p /work/out; echo x >/work/out/f'
	mount_up
	(while [ ! -e stop ]; do touch "$(guest_root a)/work/out/f"; timeout 30 cat "$(box a)/out/f" || :; done) >/dev/null 2>&1 &
	reader=$!
	for n in 1 2 3 4 5 6 7 8; do
		expect_exit 126 sbxfs exec --no-stdin "$(full a)" -- sh -c 'echo x >>/work/count; echo "Container x is paused, unpause the container before exec"; exit 126'
	done
	touch stop # killed, its cat would keep the mount busy
	wait $reader 2>/dev/null || true
	[ "$(stats .freezes.windows)" -gt 0 ] || fail 'premise: no read paused the sandbox'
	same runs "$(in_guest a sh -c 'wc -l </work/count')" 8
	mount_down
	d pause "$(full a)" >/dev/null
	expect_exit 125 sbxfs exec --no-stdin "$(full a)" -- sh -c 'echo x >>/work/count'
	d unpause "$(full a)" >/dev/null
	sleep 1
	same 'runs after a pause of somebody' "$(in_guest a sh -c 'wc -l </work/count')" 8
}

# MAF-134: --timeout is of all of it: an engine that takes a connection and says nothing ends no later.
test_a_silent_engine_and_the_bound() {
	local began command
	proxy_up
	proxy_stall HTTP
	for command in 'ls --timeout 1' "rm $(full a) --timeout 1" "get $(full a) x --timeout 1"; do
		began=$(now_ms)
		# shellcheck disable=SC2086 # words
		expect_exit 9 sbxfs $command
		one_sentence
		within 4000 "$began" "$command"
	done
	began=$(now_ms)
	expect_exit 125 sbxfs exec "$(full a)" --timeout 1 -- true
	within 4000 "$began" exec
	proxy_flow
}

# What our caller ignores (nohup) stays ignored; the rest ends the call as ever.
test_an_ignored_signal_stays_ignored() {
	make a
	python3 - "$SBXFS" "$(full a)" <<-'END'
		import signal, subprocess, sys, time
		command = [sys.argv[1], "exec", sys.argv[2], "--no-stdin", "--", "sh", "-c", "echo began; sleep 3; echo end"]
		ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
		held = subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=ignore)
		assert held.stdout.readline() == b"began\n"
		held.send_signal(signal.SIGHUP)
		assert held.stdout.read() == b"end\n" and held.wait(30) == 0, held.returncode
		ended = subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=ignore)
		ended.stdout.readline()
		ended.send_signal(signal.SIGTERM)
		assert ended.wait(30) == 130, ended.returncode
	END
}
