# Sourced by test.sh. Most tests wait for the disk: a store flushes what it answers. A
# file system in memory takes that wait away. Tests of durability simulate their disk, and make
# test-long uses the real one.

# memory_exec prints the flag of go test that gives tests a folder in memory, if there is room. With
# the flag, go test repeats tests that have passed. make check does without it.
memory_exec() {
	local dir="/dev/shm/p$UID" free # short: the path of a socket has at most some 100 bytes
	[ -z "${TMPDIR:-}${GOTMPDIR:-}" ] || return 0
	free=$(df --output=avail -k /dev/shm 2>/dev/null | tail -1)
	[ "${free:-0}" -gt $((8 << 20)) ] || return 0
	mkdir -p -m 700 "$dir" 2>/dev/null && [ -O "$dir" ] && [ ! -L "$dir" ] || return 0
	printf '#!/bin/sh\n' >"$dir/runs" && chmod +x "$dir/runs" || return 0
	"$dir/runs" 2>/dev/null || return 0 # tests run programs there
	echo "-exec=env TMPDIR=$dir GOTMPDIR=$dir"
}
