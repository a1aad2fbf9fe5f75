# shellcheck shell=bash
# clean.sh: removes what a test left, by calls that all end. Sourced by suite.sh; SBXFS and DOCKER_HOST are set.

# Everything of a test carries its prefix: container names, or the scope or the label `test` of sandboxes.
test_prefix() { printf 't%s-' "$(printf '%s' "$1" | sha256sum | cut -c1-8)"; }

# Undoes every freeze of a container, whoever did it: neither kill nor remove works on a frozen one.
thaw_container() {
	find /sys/fs/cgroup -type d -name "*$1*" 2>/dev/null | while read -r group; do
		{
			[ ! -w "$group/freezer.state" ] || echo THAWED >"$group/freezer.state"
			[ ! -w "$group/cgroup.freeze" ] || echo 0 >"$group/cgroup.freeze"
		} 2>/dev/null
	done
	return 0
}

# Processes of the test's own mounts: they name its directory on their command line.
test_processes() {
	# One process for all: a fork for each would be most of a test's time.
	# The pattern is read from a pipe, or grep would find itself.
	grep -lsaF -f <(printf '%s\n' "$1/") /proc/[0-9]*/cmdline | cut -d/ -f3
	return 0
}

# clean_test DIR: 1 when something could not be removed.
clean_test() {
	local dir=$1 pids id mount clean=0
	pids=$(test_processes "$dir" | grep -vx "$$")
	# shellcheck disable=SC2086 # a list of numbers
	if [ -n "$pids" ]; then
		kill -TERM $pids 2>/dev/null
		for _ in $(seq $((10 * ${SBXFS_TEST_SLOW:-1}))); do
			kill -0 $pids 2>/dev/null || break
			sleep 0.2
		done
		kill -KILL $pids 2>/dev/null
	fi
	awk -v d="$dir/" 'index($2, d) == 1 { print $2 }' /proc/mounts | sort -r | while read -r mount; do
		timeout -k 1 5 umount -l "$(printf '%b' "$mount")" </dev/null
	done
	{
		timeout -k 1 15 docker ps -aq --no-trunc --filter "name=^/?$(test_prefix "$dir")" </dev/null
		timeout -k 1 15 docker ps -aq --no-trunc --filter "label=sbxfs.scope=$(test_prefix "$dir")" </dev/null
		timeout -k 1 15 docker ps -aq --no-trunc --filter "label=sbxfs.label.test=$(test_prefix "$dir")" </dev/null
	} 2>/dev/null | sort -u >"$dir/left"
	while read -r id; do
		# First as its engine knows it: Podman removes no container that it holds for paused and that is not.
		timeout -k 1 5 docker unpause "$id" </dev/null >/dev/null 2>&1
		thaw_container "$id"
		timeout -k 1 15 docker rm -fv "$id" </dev/null >/dev/null 2>&1 && continue
		thaw_container "$id"
		timeout -k 1 30 docker rm -fv "$id" </dev/null >/dev/null 2>&1 || clean=1
	done <"$dir/left"
	if [ -e "$dir/registry" ]; then # a test of pulls: names that no registry serves any more
		timeout -k 1 15 docker image ls --format '{{.Repository}}:{{.Tag}}' </dev/null 2>/dev/null | grep -F "/$(test_prefix "$dir")" |
			xargs -r timeout -k 1 30 docker rmi -f >/dev/null 2>&1
	fi
	if grep -qF " $dir/" /proc/mounts; then clean=1; fi
	[ $clean = 0 ] || echo "clean: something of $dir stays behind" >&2
	return $clean
}
