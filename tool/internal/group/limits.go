// Package group observes, limits and kills the processes of a command: those of its process group and
// of its control group, and those that have left these groups.
package group

import "fmt"

// Limits are the limits of one command, including all processes that it starts: see tool.Limits.
type Limits struct {
	OpenFiles, FileSize, Processes, Memory int64
}

const (
	defaultOpenFiles = 4096
	defaultFileSize  = 16 << 30
	defaultProcesses = 1024
)

// Filled returns the limits with each 0 replaced by the default.
func (l Limits) Filled() Limits {
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

// excess returns a description of the limit that u exceeds, or "" if it exceeds none.
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

// usage is the number of a command's processes, and their total memory in bytes.
type usage struct{ processes, memory int64 }
