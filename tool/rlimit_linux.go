package tool

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// rlimits are those of l that the kernel keeps for each process. A command leaves
// no core files: they may hold what it read, and nobody looks for them.
func (l Limits) rlimits() map[int]int64 {
	return map[int]int64{unix.RLIMIT_NOFILE: l.OpenFiles, unix.RLIMIT_FSIZE: l.FileSize, unix.RLIMIT_CORE: 0}
}

// apply limits this process and what it becomes.
func (l Limits) apply() error {
	var failed error
	for resource, most := range l.rlimits() {
		if most < 0 {
			continue
		}
		var now syscall.Rlimit
		if err := syscall.Getrlimit(resource, &now); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		value := min(uint64(most), now.Max)
		failed = errors.Join(failed, syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value}))
	}
	return failed
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
