package tool

import (
	"fmt"

	"github.com/perdure/perdure"
)

// Limits are the limits of one command, including all processes that it starts. 0 means the
// default, and a negative number means no limit.
type Limits struct {
	// OpenFiles is the maximum number of open files of each process; default 4,096.
	OpenFiles int64
	// FileSize is the maximum size in bytes of a file that a process writes; default 16 GiB.
	FileSize int64
	// Processes is the maximum number of concurrent processes of a command; default 1,024.
	Processes int64
	// Memory is the maximum memory in bytes of all processes of a command together; default three
	// quarters of the machine's memory.
	Memory int64
}

const (
	defaultOpenFiles = 4096
	defaultFileSize  = 16 << 30
	defaultProcesses = 1024
)

// filled returns l with zeros replaced by the defaults.
func (l Limits) filled() Limits {
	for _, f := range []struct {
		field *int64
		value func() int64
	}{
		{&l.OpenFiles, func() int64 { return defaultOpenFiles }},
		{&l.FileSize, func() int64 { return defaultFileSize }},
		{&l.Processes, func() int64 { return defaultProcesses }},
		{&l.Memory, func() int64 { return machineMemory() / 4 * 3 }},
	} {
		if *f.field == 0 {
			*f.field = f.value()
		}
	}
	return l
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

// excess describes the limit that usage u exceeds, or returns "".
func (l Limits) excess(u usage) string {
	switch {
	case l.Processes > 0 && u.processes > l.Processes:
		return processExcess(u.processes, l.Processes)
	case l.Memory > 0 && u.memory > l.Memory:
		return memoryExcess(u.memory, l.Memory)
	}
	return ""
}

func processExcess(had, most int64) string {
	return fmt.Sprintf("it had %d processes, and the limit is %d", had, most)
}

func memoryExcess(used, most int64) string {
	return fmt.Sprintf("it used %d MiB of memory, and the limit is %d MiB", used>>20, most>>20)
}

// usage is the total use of a command's processes.
type usage struct{ processes, memory int64 }
