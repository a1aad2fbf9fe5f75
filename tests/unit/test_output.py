#!/usr/bin/env python3
"""test_output.py SBXFS: a full standard output that does not block is waited for; one that is closed is an error."""
import fcntl, os, subprocess, sys, time

sbxfs = sys.argv[1]
whole = subprocess.run([sbxfs, "help", "run"], capture_output=True, check=True).stdout
assert len(whole) > 1000, len(whole)

reader, writer = os.pipe2(os.O_NONBLOCK)
filled = os.write(writer, b"x" * fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096))
process = subprocess.Popen([sbxfs, "help", "run"], stdout=writer, stderr=subprocess.PIPE)
time.sleep(0.5)
assert process.poll() is None, f"it did not wait: exit {process.returncode}, {process.stderr.read()}"
os.close(writer)
os.set_blocking(reader, True)
got = b""
while piece := os.read(reader, 65536):
    got += piece
assert process.wait(20) == 0, process.stderr.read()
assert got[filled:] == whole, f"{len(got) - filled} bytes of {len(whole)}"

full = subprocess.run([sbxfs, "help", "run"], stdout=open("/dev/full", "w"), stderr=subprocess.PIPE, text=True)
assert full.returncode == 11 and "No space left" in full.stderr, full
