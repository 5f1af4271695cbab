package group

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tasksPerProcess is how many kernel tasks a command may have for each process that its limit allows. The
// kernel's limit counts threads, but the limit of a command counts processes.
const tasksPerProcess = 8

// Control is the control group of one command.
type Control struct {
	// File is the open folder of the control group, with which a command is started in the group.
	File *os.File

	all    *ControlGroups
	dir    string
	limits Limits
}

// bound writes the limits to the files of the control group. If the file for swap is missing, bound
// continues, because a kernel without that file does not count swap.
func (c *Control) bound() error {
	if c.limits.Memory > 0 {
		if err := writeGroup(c.dir, "memory.max", strconv.FormatInt(c.limits.Memory, 10)); err != nil {
			return err
		}
		if err := writeGroup(c.dir, "memory.swap.max", "0"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := writeGroup(c.dir, "memory.oom.group", "1"); err != nil {
			return err
		}
	}
	if c.limits.Processes > 0 {
		return writeGroup(c.dir, "pids.max", strconv.FormatInt(c.tasks(), 10))
	}
	return nil
}

// tasks returns the kernel's limit for processes and threads in the group. It includes a reserve
// for the threads of the sandbox child, the process of this program that becomes the command.
func (c *Control) tasks() int64 { return tasksPerProcess*c.limits.Processes + 64 }

// excess returns a description of the limit that the command exceeds, or "". If `first` is true,
// one process in the group is the first process of a PID namespace. That process does not count as
// part of the command.
func (c *Control) excess(first bool) string {
	if over := c.outOfMemory(); over != "" {
		return over
	}
	if c.limits.Processes <= 0 {
		return ""
	}
	procs, _ := procsOf(c.dir) // if the group cannot be read, the kernel still enforces its limits
	count := int64(len(procs))
	if first {
		count--
	}
	switch {
	case count > c.limits.Processes:
		return processExcess(count, c.limits.Processes)
	case c.counter("pids.events", "max") > 0:
		return fmt.Sprintf("it had %d processes with %d threads, and the limit is %d processes, with %d threads",
			count, c.number("pids.current"), c.limits.Processes, c.tasks())
	}
	return ""
}

// outOfMemory returns a description of the memory limit for which the kernel has killed the command, or "".
// If the control group of the command has no memory limit, the limit of a group above it may be the cause.
func (c *Control) outOfMemory() string {
	if c.counter("memory.events", "oom_kill") == 0 {
		return ""
	}
	used := c.number("memory.peak") // this file exists since Linux 5.19
	if c.limits.Memory <= 0 || c.counter("memory.events", "max") == 0 {
		return fmt.Sprintf("it used %d MiB of memory, and the machine or the worker had no more", used>>20)
	}
	return memoryExcess(max(used, c.limits.Memory), c.limits.Memory)
}

// counter returns a number from a file of the group whose lines have the form "name number". It
// returns 0 if no line has this name.
func (c *Control) counter(file, name string) int64 {
	raw, _ := os.ReadFile(filepath.Join(c.dir, file))
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}

// number returns the number that a file of the group contains, or 0 if it contains none.
func (c *Control) number(file string) int64 {
	raw, _ := os.ReadFile(filepath.Join(c.dir, file))
	n, _ := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	return n
}

// members returns the pids of all processes in the control group, including those that have left the
// session.
func (c *Control) members() []int {
	if c == nil {
		return nil
	}
	procs, _ := procsOf(c.dir)
	return procs
}

// kill kills all processes of the group.
func (c *Control) kill() {
	if c != nil {
		killGroup(c.dir)
	}
}

// Close kills the remaining processes and removes the group.
func (c *Control) Close() {
	if c == nil {
		return
	}
	c.File.Close()
	c.all.remove(c.dir)
}

// killGroup kills all processes in the control group dir. Kernels before 5.14 cannot kill a group
// at once, so killGroup then signals the processes one by one.
func killGroup(dir string) {
	if writeGroup(dir, "cgroup.kill", "1") == nil {
		return
	}
	procs, _ := procsOf(dir)
	for _, pid := range procs {
		if p, ok := readProc(pid); ok {
			signalProc(p, syscall.SIGKILL)
		}
	}
}

// removeGroup kills the processes in the control group dir and removes the group. It waits at most
// one second, because a process in an uninterruptible sleep dies only when it wakes.
func removeGroup(dir string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var err error
	for range 200 {
		if err = os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		killGroup(dir)
		<-tick.C
	}
	return err
}

// procsOf returns the pids of the processes in a group.
func procsOf(dir string) ([]int, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for field := range strings.FieldsSeq(string(raw)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, "cgroup.procs"), err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// writeGroup writes to a control file of a group.
func writeGroup(dir, name, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
