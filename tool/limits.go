package tool

import "github.com/perdure/perdure"

// Limits are the limits of one command together with all processes that it starts. 0 means the default, and
// a negative number means no limit.
type Limits struct {
	// OpenFiles is the maximum number of open files of each process; default 4,096.
	OpenFiles int64
	// FileSize is the maximum size in bytes of a file that a process writes; default 16 GiB.
	FileSize int64
	// Processes is the maximum number of processes that a command has at the same time; default 1,024.
	Processes int64
	// Memory is the maximum number of bytes of memory that all processes of a command use together; default
	// three quarters of the machine's memory.
	Memory int64
}

// Check returns an invalid_argument error if a limit is too small for any command.
func (l Limits) Check() error {
	for _, f := range []struct {
		name         string
		value, least int64
	}{{"openFiles", l.OpenFiles, 32}, {"fileSize", l.FileSize, 1 << 20}, {"processes", l.Processes, 8}, {"memory", l.Memory, 64 << 20}} {
		if f.value > 0 && f.value < f.least {
			return perdure.FieldErrorf("limits."+f.name, "%d is too small for a command; give at least %d, or -1 for no limit", f.value, f.least)
		}
	}
	return nil
}
