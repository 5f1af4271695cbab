package tool

import (
	"fmt"
	"strings"
)

// mark is what tells a group from a later one with the same id: the boot, and
// when its leader started.
func mark(pgid int) string {
	leader, _ := readProc(pgid)
	return fmt.Sprintf("%s %d\n", bootID(), leader.start)
}

// isSame reports whether the group with this id is the one that was marked. The
// leader usually died with its worker while others of the group live on. Its pid
// is not given to anyone else while the group or session has members; members
// older than the leader show that it was given since all of them were gone.
func isSame(pgid int, marked string) bool {
	var boot string
	var start uint64
	if _, err := fmt.Sscan(strings.TrimSpace(marked), &boot, &start); err != nil || boot != bootID() || start == 0 {
		return false
	}
	if leader, ok := readProc(pgid); ok {
		return leader.start == start
	}
	for _, p := range allProcs() {
		if p.session == pgid && p.start < start {
			return false
		}
	}
	return true
}
