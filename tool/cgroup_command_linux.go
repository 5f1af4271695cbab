package tool

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

// tasksPerProcess is how many tasks a command may have for each process that its
// limit allows: the kernel counts threads, the limit processes.
const tasksPerProcess = 8

// commandGroup is the control group of one command.
type commandGroup struct {
	all    *ControlGroups
	dir    string
	file   *os.File // the folder, for starting the command in it
	limits Limits
}

// bound writes the limits. A kernel without swap accounting has no limit of swap,
// and does not count it.
func (c *commandGroup) bound() error {
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

// tasks is the limit that the kernel keeps. The child of this program that
// prepares the command has threads of its own.
func (c *commandGroup) tasks() int64 { return tasksPerProcess*c.limits.Processes + 64 }

// excess explains which limit the command is over, "" if none. first says that a
// process of the group is no part of the command.
func (c *commandGroup) excess(first bool) string {
	if over := c.outOfMemory(); over != "" {
		return over
	}
	if c.limits.Processes <= 0 {
		return ""
	}
	procs, _ := procsOf(c.dir) // a group that cannot be read is bounded all the same
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

// outOfMemory explains that the kernel killed the command for its memory, "" if it
// did not. A group without a limit of its own may be killed for one above it.
func (c *commandGroup) outOfMemory() string {
	if c.counter("memory.events", "oom_kill") == 0 {
		return ""
	}
	used := c.number("memory.peak") // Linux 5.19
	if c.limits.Memory <= 0 || c.counter("memory.events", "max") == 0 {
		return fmt.Sprintf("it used %d MiB of memory, and the machine or the worker had no more", used>>20)
	}
	return memoryExcess(max(used, c.limits.Memory), c.limits.Memory)
}

// counter is the number that a file of lines "name number" has for name, 0 if
// none.
func (c *commandGroup) counter(file, name string) int64 {
	raw, _ := os.ReadFile(filepath.Join(c.dir, file))
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}

// number is the number in a file, 0 if there is none.
func (c *commandGroup) number(file string) int64 {
	raw, _ := os.ReadFile(filepath.Join(c.dir, file))
	n, _ := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	return n
}

// members are the pids in the group, also of processes that left the session.
func (c *commandGroup) members() []int {
	if c == nil {
		return nil
	}
	procs, _ := procsOf(c.dir)
	return procs
}

// kill kills the members.
func (c *commandGroup) kill() {
	if c != nil {
		killGroup(c.dir)
	}
}

// close kills what is left and removes the group.
func (c *commandGroup) close() {
	if c == nil {
		return
	}
	c.file.Close()
	c.all.remove(c.dir)
}

// killGroup kills the processes of a group. Kernels before 5.14 do not do it at
// once.
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

// removeGroup kills the processes of a group and removes it, waiting at most a
// second: a process that sleeps in the kernel dies when it wakes.
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

// procsOf are the pids of the processes in a group.
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

// writeGroup writes a file of a group, which the kernel makes.
func writeGroup(dir, name, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
