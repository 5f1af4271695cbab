package group

import (
	"fmt"
	"strings"
)

// Mark returns text that identifies the process group pgid, even if a later group gets the same id. The
// text has the boot id and the start time of the group's leader.
func Mark(pgid int) string {
	leader, _ := readProc(pgid)
	return fmt.Sprintf("%s %d\n", bootID(), leader.start)
}

// IsSame reports whether the process group pgid is still the one for which Mark returned this text.
// If the leader still runs, IsSame compares its start time with the text. Usually the leader has
// died with its worker, and other members still run. As long as they run, the system does not use
// the leader's pid again. Every member of a session is younger than its leader. So a member that is
// older than the marked leader belongs to a session of another leader with the same pid.
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
