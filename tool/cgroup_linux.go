package tool

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
)

// Names of control groups below the worker's control group.
const (
	workerGroupName    = "perdure-worker"
	commandGroupPrefix = "perdure-call-"
)

// commandGroupName matches the names of commands' control groups.
var commandGroupName = regexp.MustCompile("^" + commandGroupPrefix + "[0-9a-f]{16}$")

// ControlGroups creates a control group (cgroup v2) for each command, which limits its memory and
// processes. A nil *ControlGroups creates none. ControlGroups is safe for concurrent use.
type ControlGroups struct {
	dir string // the control group in which this process was started

	mu    sync.Mutex
	stale []string // groups that could not be removed yet
}

// OpenControlGroups divides the control group of this process. The group must be delegated, and
// this process must be the only one in it. OpenControlGroups moves the process into a group below,
// enables the controllers, and removes groups that an earlier process left. The error says why
// commands cannot have control groups here.
func OpenControlGroups() (*ControlGroups, error) {
	here, err := ownCgroup()
	if err != nil {
		return nil, err
	}
	if err := here.usable(); err != nil {
		return nil, err
	}
	g := &ControlGroups{dir: here.dir}
	if err := g.divide(os.Getpid()); err != nil {
		return nil, err
	}
	if err := g.try(); err != nil {
		return nil, errors.Join(fmt.Errorf("a command does not start in a control group: %w", err), g.Close())
	}
	return g, nil
}

// divide moves process pid, the only one in the group, into a group below. A control group cannot
// have both processes and controllers for the groups below it.
func (g *ControlGroups) divide(pid int) error {
	procs, err := procsOf(g.dir)
	if err != nil {
		return err
	}
	if len(procs) != 1 || procs[0] != pid {
		return fmt.Errorf("the worker's control group %s has other processes, too", g.dir)
	}
	leaf := filepath.Join(g.dir, workerGroupName)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if others, err := procsOf(leaf); err != nil || len(others) > 0 {
		return errors.Join(fmt.Errorf("another worker uses the control group %s", leaf), err)
	}
	g.sweep()
	if err := writeGroup(leaf, "cgroup.procs", strconv.Itoa(pid)); err != nil {
		return errors.Join(err, os.Remove(leaf))
	}
	if err := writeGroup(g.dir, "cgroup.subtree_control", "+memory +pids"); err != nil {
		return errors.Join(err, g.unite())
	}
	return nil
}

// unite moves this process back into its original group.
func (g *ControlGroups) unite() error {
	return errors.Join(
		writeGroup(g.dir, "cgroup.procs", strconv.Itoa(os.Getpid())),
		os.Remove(filepath.Join(g.dir, workerGroupName)),
	)
}

// sweep kills and removes command groups of workers that have ended. When sweep is called, no
// worker runs in the group, so no command group is in use.
func (g *ControlGroups) sweep() {
	entries, _ := os.ReadDir(g.dir)
	for _, e := range entries {
		if !e.IsDir() || !commandGroupName.MatchString(e.Name()) {
			continue
		}
		if err := removeGroup(filepath.Join(g.dir, e.Name())); err != nil {
			slog.Warn("a control group of an earlier worker is left", "error", err)
		}
	}
}

// try starts a test command in a control group.
func (g *ControlGroups) try() error {
	c, err := g.open(Limits{}.filled())
	if err != nil {
		return err
	}
	defer c.close()
	shell, err := findShell()
	if err != nil {
		return err
	}
	cmd := exec.Command(shell, "-c", "exit 0")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(c.file.Fd())}
	return cmd.Run()
}

// Close removes the remaining groups of commands and moves this process back. No command may be
// running.
func (g *ControlGroups) Close() error {
	if g == nil {
		return nil
	}
	g.removeStale()
	return errors.Join(writeGroup(g.dir, "cgroup.subtree_control", "-memory -pids"), g.unite())
}

// take creates a control group for one command. It returns nil if that is impossible; the watcher
// then enforces the limits.
func (g *ControlGroups) take(l Limits) *commandGroup {
	if g == nil {
		return nil
	}
	c, err := g.open(l)
	if err != nil {
		slog.Warn("a command runs without a control group", "error", err)
		return nil
	}
	return c
}

// open creates a control group for one command.
func (g *ControlGroups) open(l Limits) (*commandGroup, error) {
	g.removeStale()
	var id [8]byte
	_, _ = rand.Read(id[:]) // never returns an error
	dir := filepath.Join(g.dir, commandGroupPrefix+hex.EncodeToString(id[:]))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	c := &commandGroup{all: g, dir: dir, limits: l}
	if err := c.bound(); err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	var err error
	if c.file, err = os.Open(dir); err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	return c, nil
}

// removeStale retries the removal of groups whose processes did not die at once.
func (g *ControlGroups) removeStale() {
	g.mu.Lock()
	stale := g.stale
	g.stale = nil
	g.mu.Unlock()
	for _, dir := range stale {
		g.remove(dir)
	}
}

// remove removes a group, or records it for a later attempt.
func (g *ControlGroups) remove(dir string) {
	if err := removeGroup(dir); err != nil {
		slog.Warn("a control group of a command is not removed yet", "error", err)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.stale = append(g.stale, dir)
	}
}
