package tool

import (
	"testing"

	"golang.org/x/sys/unix"
)

// alive tells whether pid runs; a zombie does not.
func alive(pid int) bool {
	p, ok := readProc(pid)
	return ok && !p.zombie
}

func mustStat(t *testing.T, path string) unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st
}
