#!/usr/bin/env bash
# lint.sh [BUILD]: the order of the layers by their includes, clang-tidy and cppcheck over the C sources, shellcheck over
# the scripts. A source that was clean is not looked at again while it, its headers and the checks are the same: BUILD/lint
# remembers. Fuzz targets are linted where BUILD has them.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
results=$build/lint
mkdir -p "$results/tidy" "$results/cppcheck"
bad=0

# ---- layers: base, transport, api, files, sandbox, fs, tools; an include never points to a later one.
git grep -E '^#include ["<]' -- 'engine/*.[ch]' 'include/*.h' 'fs/*.[ch]' 'tools/*.[ch]' | awk -F: '
	BEGIN {
		split("base transport api files sandbox fs tools", names, " ")
		for (i in names) rank[names[i]] = i
		# The public headers, by the folder that implements them; one that is not named here is of sandbox.
		split("error call sha256", base, " "); for (i in base) public[base[i] ".h"] = 1
		public["endpoint.h"] = 2
		split("archive container engine events exec image labels", api, " "); for (i in api) public[api[i] ".h"] = 3
		split("guest_path plane", files, " "); for (i in files) public[files[i] ".h"] = 4
	}
	function last(path) { sub(/.*\//, "", path); return path }
	function folder(path) {
		if (!sub(/\/[^\/]*$/, "", path)) return ""
		return last(path)
	}
	function of(path) { return path in public ? public[path] : 5 }
	{
		mine = $1 ~ /^include/ ? of(last($1)) : rank[folder($1)]
		file = $2
		gsub(/^#include |["<>]/, "", file)
		if (file ~ /^sbx\//) theirs = of(last(file))
		else if (file ~ /^fuse/) theirs = rank["fs"]
		else if ($2 ~ /"/) theirs = folder(file) == "" ? mine : rank[folder(file)]
		else next
		if (theirs == "" || theirs > mine) { print "FAIL layers: " $1 " includes " file; bad = 1 }
	}
	END { exit bad || !NR }' || bad=1

# ---- clang-tidy

# tidy FILE COMMAND: COMMAND is the compiler's, run in $build.
tidy() {
	local stamp dependencies
	dependencies=$(cd "$build" && bash -c "${2%% -MD *} -MM '${2##* }'" 2>/dev/null | sed 's/^[^:]*://' | tr -d '\\\n') || return 1
	# shellcheck disable=SC2086 # a list of names without spaces
	stamp=$results/tidy/$({ clang-tidy --version; cat .clang-tidy; echo "$2"; (cd "$build" && cat -- $dependencies); } | sha256sum | cut -c1-32)
	[ ! -e "$stamp" ] || return 0
	if timeout -k 5 300 clang-tidy --quiet -p "$build" "$1" >"$stamp.out" 2>&1; then
		mv "$stamp.out" "$stamp"
	else
		echo "FAIL clang-tidy $1"
		grep -A 4 -E 'error:|warning:' "$stamp.out" | head -n 30
		rm -f "$stamp.out"
		return 1
	fi
}
export -f tidy
export build results
# In another order than the list's: neighbours are alike, and the long ones would come last together.
jq -r '.[] | .file + "\t" + .command' "$build/compile_commands.json" | sed 's/^\(\.\.\/\)*//' |
	awk -F'\t' -v top="$PWD/" '{ sub("^" top, "", $1) } !seen[$1]++ { print $1 "\0" $2 }' | tr '\n' '\0' |
	xargs -r -0 -n 2 -P "${LINT_JOBS:-2}" bash -c 'tidy "$@"' tidy || bad=1
find "$results/tidy" -mtime +30 -delete

# ---- cppcheck

# steal: a statement expression inside an initialiser is more than it can read, so it stays a function of unknown kind.
queue=$(cc -E -x c - <<<'#include <sys/queue.h>' | sed -n 's/^# 1 "\(.*queue.h\)".*/\1/p' | head -n 1)
timeout -k 5 400 cppcheck --quiet --error-exitcode=1 --enable=warning,performance,portability,unusedFunction --inline-suppr \
	--suppressions-list=tests/cppcheck.suppressions --cppcheck-build-dir="$results/cppcheck" --include="$queue" \
	--include=/usr/include/uthash.h --std=c11 -D_GNU_SOURCE -DSBX_VERSION='"0"' -Usteal -Iinclude -Iengine -Ifs \
	engine fs tools tests 2>"$results/cppcheck.out" || {
	echo 'FAIL cppcheck'
	head -n 40 "$results/cppcheck.out"
	bad=1
}

# ---- shellcheck: what names a shell in its first line, and what is sourced.
{ git grep -lE '^#!.*\b(ba)?sh$' -- tools tests .ci; git ls-files '*.sh'; } | sort -u |
	xargs -r -n 12 -P 2 shellcheck -S warning || { echo 'FAIL shellcheck'; bad=1; }

exit $bad
