# Sourced by check.sh and test.sh. Most tests wait for the disk: a store flushes what it answers. A
# file system in memory takes that wait away. Tests of durability simulate their disk, and make
# test-long uses the real one. GOTMPDIR keeps the files of the compiler out of memory.
use_memory() {
	local dir=/dev/shm free
	[ -z "${TMPDIR:-}" ] && [ -w "$dir" ] || return 0
	free=$(df --output=avail -k "$dir" 2>/dev/null | tail -1)
	[ "${free:-0}" -gt $((8 << 20)) ] || return 0
	dir=$(mktemp -d "$dir/perdure-test-XXXXXX") || return 0
	printf '#!/bin/sh\n' >"$dir/runs" && chmod +x "$dir/runs"
	if ! "$dir/runs" 2>/dev/null; then # tests run programs there
		rm -rf "$dir"
		return 0
	fi
	export GOTMPDIR="${GOTMPDIR:-/tmp}" TMPDIR="$dir"
}

# leave_memory removes the folder of use_memory.
leave_memory() {
	case "${TMPDIR:-}" in /dev/shm/perdure-test-*) rm -rf "$TMPDIR" ;; esac
}
