package group

import (
	"fmt"
	"strings"
)

// Mark returns text that identifies the process group pgid, even if a new group gets the same id
// after its end. The text contains the boot id and the start time of the group's leader.
func Mark(pgid int) string {
	leader, _ := readProc(pgid)
	return fmt.Sprintf("%s %d\n", bootID(), leader.start)
}

// IsSame reports whether the process group pgid is the one for which Mark returned this text. The
// leader has usually died with its worker, while other members still run. As long as the group or
// the session has members, the leader's pid is not reused. Therefore members that started before
// the marked leader prove that the pid was reused.
func IsSame(pgid int, marked string) bool {
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
