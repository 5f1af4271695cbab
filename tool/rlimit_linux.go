package tool

import (
	"golang.org/x/sys/unix"
)

// rlimits are those of l that the kernel keeps for each process. A command leaves
// no core files: they may hold what it read, and nobody looks for them.
func (l Limits) rlimits() map[int]int64 {
	return map[int]int64{unix.RLIMIT_NOFILE: l.OpenFiles, unix.RLIMIT_FSIZE: l.FileSize, unix.RLIMIT_CORE: 0}
}

// applyTo limits a command that no child of this program prepares.
func (l Limits) applyTo(pid int) {
	for resource, most := range l.rlimits() {
		var now unix.Rlimit
		if most < 0 || unix.Prlimit(pid, resource, nil, &now) != nil {
			continue
		}
		value := min(uint64(most), now.Max)
		_ = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil) // it has ended
	}
}
