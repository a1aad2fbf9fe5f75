# test_endpoint.sh: the engine found as the docker client finds it, beyond a socket's path: over TCP, over TLS with
# certificates on both sides, and by a context.
# shellcheck shell=bash
. "$SBXFS_TOP/tests/lifecycle/life.sh"

# port_of PID: where a socat of ours listens.
port_of() { ss -Hltnp | sed -n "s/.*127\.0\.0\.1:\([0-9]*\) .*pid=$1,.*/\1/p"; }
# front ADDRESS: socat in front of the suite's engine; its port in PORT.
front() {
	socat "$1,bind=127.0.0.1,fork,reuseaddr" "UNIX-CONNECT:${DOCKER_HOST#unix://}" </dev/null >/dev/null 2>"$SBXFS_TEST_DIR/socat.log" &
	local pid=$!
	wait_for 5 listens "$pid"
	PORT=$(port_of "$pid")
}
listens() { [ -n "$(port_of "$1")" ]; }

# certificates DIR: a CA, and a certificate of it for the server and for the client, as the docker client names them.
certificates() {
	mkdir -p "$1"
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=test CA" -keyout "$1/ca-key.pem" -out "$1/ca.pem" 2>/dev/null
	local who
	for who in server client; do
		openssl req -newkey rsa:2048 -nodes -subj "/CN=$who" -keyout "$1/$who-key.pem" -out "$1/$who.csr" 2>/dev/null
		printf 'subjectAltName=IP:127.0.0.1,DNS:localhost\n' >"$1/$who.ext"
		openssl x509 -req -in "$1/$who.csr" -CA "$1/ca.pem" -CAkey "$1/ca-key.pem" -CAcreateserial -days 2 -extfile "$1/$who.ext" \
			-out "$1/$who.pem" 2>/dev/null
	done
	mv "$1/client.pem" "$1/cert.pem"
	mv "$1/client-key.pem" "$1/key.pem"
}

# What is done with an engine: short answers, a command's stream, the event stream, a mount that reads and writes.
all_of_it() {
	has doctor "$(sbxfs doctor --json || true)" "${DOCKER_HOST#tcp://}"
	same 'an exec' "$(sbxfs exec --no-stdin "$(full a)" -- cat /work/out/x)" text
	mount_up
	same 'a read' "$(cat "$(box a)/out/x")" text
	echo sent >"$(box a)/in/y"
	same 'a write' "$(in_guest a cat /work/in/y)" sent
	sbxfs umount "$MNT"
}

test_over_tcp() {
	sandbox_start a out/
	guest_write a out/x text
	in_guest a true # asks the engine for its process while DOCKER_HOST is the socket
	front TCP-LISTEN:0
	export DOCKER_HOST=tcp://127.0.0.1:$PORT
	all_of_it
	same 'an exec with input' "$(echo in and out | timeout 30 "$SBXFS" exec "$(full a)" -- cat)" 'in and out'
}

# Beyond this host without TLS whoever is in between is root there: refused before a byte is sent, however it was named, and
# used on the caller's word alone (bug case 96).
test_the_network_without_tls_is_refused() {
	local engine=tcp://192.0.2.1:2375 # of the addresses kept for documentation
	no() {
		expect_exit 12 "$@"
		one_sentence
		says "${engine#tcp://}" --insecure TLS
	}
	sandbox_start a out/
	no sbxfs ls --engine "$engine"
	no sbxfs mount "$MNT" --engine "$engine"
	DOCKER_HOST=$engine no sbxfs rm "$(full a)"
	export DOCKER_CONFIG=$SBXFS_TEST_DIR/docker
	(unset DOCKER_HOST; d context create far --docker "host=$engine" >/dev/null)
	no sbxfs ls --engine far
	printf '[engine]\ninsecure = maybe\n' >config.ini
	expect_exit 2 sbxfs ls --config config.ini
	printf '[engine]\nurl = %s\n' "$engine" >no.ini
	printf '[engine]\nurl = %s\ninsecure = yes\n' "$engine" >yes.ini
	# A network of the test's own, in which that address is the suite's engine.
	unshare -n bash -euc '
		ip link set lo up
		ip addr add 192.0.2.1/32 dev lo
		socat TCP-LISTEN:2375,bind=192.0.2.1,fork "UNIX-CONNECT:${DOCKER_HOST#unix://}" </dev/null >/dev/null 2>&1 &
		trap "kill $!" EXIT
		for _ in $(seq 50); do ss -Hltn | grep -q 192.0.2.1:2375 && break; sleep 0.1; done
		unset DOCKER_HOST
		timeout 60 "$SBXFS" ls --engine "$1" --insecure >flag 2>flag.said
		timeout 60 "$SBXFS" ls --config yes.ini >file 2>file.said
		! timeout 60 "$SBXFS" ls --config no.ini >none 2>none.said
	' inside "http://${engine#tcp://}" </dev/null
	has 'by the flag' "$(cat flag)" "$(full a)"
	has 'by the file' "$(cat file)" "$(full a)"
	has 'a warning' "$(cat flag.said)" 'without TLS'
	has 'none' "$(cat none.said)" --insecure
}

test_over_tls() { # a short name: it is in the paths of the engine's sockets
	engine_is docker20 || skip 'needs a Docker of its own'
	local port=$((20000 + RANDOM % 10000))
	certificates tls
	certificates other
	own_engine_up tls "$port"
	sandbox_start a out/
	guest_write a out/x text
	in_guest a true # asks the engine for its process while DOCKER_HOST is the socket
	local socket=$DOCKER_HOST
	export DOCKER_HOST=tcp://127.0.0.1:$port DOCKER_TLS_VERIFY=1 DOCKER_CERT_PATH=$SBXFS_TEST_DIR/tls
	all_of_it
	# Not served over TLS, and said: the connection would have to be taken over from libcurl.
	has 'input over TLS' "$(echo in | timeout 30 "$SBXFS" exec "$(full a)" -- cat 2>&1 || true)" 'not supported'
	# The same by a context, whose files the client copies.
	mkdir docker
	(
		unset DOCKER_HOST DOCKER_TLS_VERIFY DOCKER_CERT_PATH
		export DOCKER_CONFIG=$SBXFS_TEST_DIR/docker
		d context create far --docker "host=tcp://127.0.0.1:$port,ca=$PWD/tls/ca.pem,cert=$PWD/tls/cert.pem,key=$PWD/tls/key.pem" >/dev/null
		has 'by a context' "$(sbxfs ls --engine far)" "$(full a)"
		rm -f docker/contexts/tls/*/docker/key.pem
		expect_exit 2 sbxfs ls --engine far
		has 'a context without its key' "$ERR" key.pem
	) || exit 1
	# A server that another CA vouches for, a client that none vouches for, and no TLS at all.
	cp tls/cert.pem tls/key.pem other/
	DOCKER_CERT_PATH=$SBXFS_TEST_DIR/other expect_exit 11 sbxfs ls
	has 'another CA' "$ERR" certificate
	rm -rf other && certificates other
	cp tls/ca.pem other/
	DOCKER_CERT_PATH=$SBXFS_TEST_DIR/other expect_exit 11 sbxfs ls
	unset DOCKER_TLS_VERIFY DOCKER_CERT_PATH
	expect_exit 11 sbxfs ls
	export DOCKER_HOST=$socket
	sandbox_remove a
	own_engine_down
}

test_a_context_names_the_engine() {
	export DOCKER_CONFIG=$SBXFS_TEST_DIR/docker
	local socket=$DOCKER_HOST
	sandbox_start a out/
	unset DOCKER_HOST
	d context create here --docker "host=$socket" >/dev/null
	has 'by its name' "$(sbxfs ls --engine here)" "$(full a)"
	d context use here >/dev/null
	has 'the active one' "$(sbxfs ls)" "$(full a)"
	# A host in the environment goes before the active context, as with the docker client.
	DOCKER_HOST=unix://$SBXFS_TEST_DIR/no.sock expect_exit 11 sbxfs ls
	# A context that is not there is not replaced by the default.
	DOCKER_CONTEXT=not-there expect_exit 2 sbxfs ls
	export DOCKER_HOST=$socket
}

# An empty variable is none, as the docker client has it: the config file's engine is not dropped for one.
test_an_empty_variable_is_none() {
	mkdir -p "$XDG_CONFIG_HOME/sbxfs"
	printf '[engine]\nurl = unix:///no/such/engine\n' >"$XDG_CONFIG_HOME/sbxfs/config.ini"
	local variable
	for variable in DOCKER_HOST= DOCKER_CONTEXT= SBXFS_ENGINE=; do
		expect_exit 11 env -u DOCKER_HOST "$variable" "$SBXFS" ls
		says /no/such/engine
		expect_exit 11 env -u DOCKER_HOST "$variable" "$SBXFS" mount -f "$MNT"
		says /no/such/engine
	done
	expect_exit 0 sbxfs ls
}
