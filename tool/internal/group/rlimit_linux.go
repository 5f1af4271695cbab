package group

import "golang.org/x/sys/unix"

// Rlimits returns the limits that the kernel enforces for each process. The map's keys are the numbers
// of the resources, as in setrlimit(2). One limit disables core files, because they may contain secrets
// that the process has read.
func (l Limits) Rlimits() map[int]int64 {
	return map[int]int64{unix.RLIMIT_NOFILE: l.OpenFiles, unix.RLIMIT_FSIZE: l.FileSize, unix.RLIMIT_CORE: 0}
}

// ApplyTo sets the resource limits of the process pid. It is for a command that does not start
// through a sandbox child, which would set the limits itself.
func (l Limits) ApplyTo(pid int) {
	for resource, most := range l.Rlimits() {
		var now unix.Rlimit
		if most < 0 || unix.Prlimit(pid, resource, nil, &now) != nil {
			continue
		}
		value := min(uint64(most), now.Max)
		_ = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil) // an error means that the process has ended
	}
}
