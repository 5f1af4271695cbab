package group

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

	"github.com/perdure/perdure/tool/internal/shell"
)

// These are the names of the control groups that are created below the worker's own.
const (
	workerName    = "perdure-worker"
	controlPrefix = "perdure-call-"
)

// controlName matches the names of commands' control groups.
var controlName = regexp.MustCompile("^" + controlPrefix + "[0-9a-f]{16}$")

// ControlGroups creates a control group (cgroup v2) for each command, in which the kernel limits
// the memory and processes of the command. A nil *ControlGroups creates none. ControlGroups is safe
// for concurrent use.
type ControlGroups struct {
	// Dir is the control group in which this process was started.
	Dir string

	mu    sync.Mutex
	stale []string // folders of command groups that could not be removed yet
}

// Open prepares the control group of this process for groups of commands below it, see
// tool.OpenControlGroups.
func Open() (*ControlGroups, error) {
	here, err := ownCgroup()
	if err != nil {
		return nil, err
	}
	if err := here.usable(); err != nil {
		return nil, err
	}
	g := &ControlGroups{Dir: here.dir}
	if err := g.divide(os.Getpid()); err != nil {
		return nil, err
	}
	if err := g.try(); err != nil {
		return nil, errors.Join(fmt.Errorf("a command does not start in a control group: %w", err), g.Close())
	}
	return g, nil
}

// divide moves the process pid, which must be the only one in the control group, into a new group below it.
// A control group cannot have both processes of its own and controllers for the groups below it.
func (g *ControlGroups) divide(pid int) error {
	procs, err := procsOf(g.Dir)
	if err != nil {
		return err
	}
	if len(procs) != 1 || procs[0] != pid {
		return fmt.Errorf("the worker's control group %s has other processes, too", g.Dir)
	}
	leaf := filepath.Join(g.Dir, workerName)
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
	if err := writeGroup(g.Dir, "cgroup.subtree_control", "+memory +pids"); err != nil {
		return errors.Join(err, g.unite())
	}
	return nil
}

// unite moves this process back into the control group in which it was started.
func (g *ControlGroups) unite() error {
	return errors.Join(
		writeGroup(g.Dir, "cgroup.procs", strconv.Itoa(os.Getpid())),
		os.Remove(filepath.Join(g.Dir, workerName)),
	)
}

// sweep kills and removes groups of commands that earlier workers have left. No worker uses these groups
// when sweep is called.
func (g *ControlGroups) sweep() {
	entries, _ := os.ReadDir(g.Dir)
	for _, e := range entries {
		if !e.IsDir() || !controlName.MatchString(e.Name()) {
			continue
		}
		if err := removeGroup(filepath.Join(g.Dir, e.Name())); err != nil {
			slog.Warn("a control group of an earlier worker is left", "error", err)
		}
	}
}

// try starts a test command in a new control group, and returns the error if that fails.
func (g *ControlGroups) try() error {
	c, err := g.open(Limits{}.Filled())
	if err != nil {
		return err
	}
	defer c.Close()
	path, err := shell.Find()
	if err != nil {
		return err
	}
	cmd := exec.Command(path, "-c", "exit 0")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(c.File.Fd())}
	return cmd.Run()
}

// Close removes the remaining groups of commands, and moves this process back into the control group in
// which it was started. No command may be running.
func (g *ControlGroups) Close() error {
	if g == nil {
		return nil
	}
	g.removeStale()
	return errors.Join(writeGroup(g.Dir, "cgroup.subtree_control", "-memory -pids"), g.unite())
}

// Take creates a control group with these limits for one command. It returns nil if that fails; a watcher
// then enforces the limits.
func (g *ControlGroups) Take(l Limits) *Control {
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

// open creates a control group for one command, with the limits.
func (g *ControlGroups) open(l Limits) (*Control, error) {
	g.removeStale()
	var id [8]byte
	_, _ = rand.Read(id[:]) // never returns an error
	dir := filepath.Join(g.Dir, controlPrefix+hex.EncodeToString(id[:]))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	c := &Control{all: g, dir: dir, limits: l}
	if err := c.bound(); err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	var err error
	if c.File, err = os.Open(dir); err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	return c, nil
}

// removeStale tries again to remove groups whose processes were still dying at the last try.
func (g *ControlGroups) removeStale() {
	g.mu.Lock()
	stale := g.stale
	g.stale = nil
	g.mu.Unlock()
	for _, dir := range stale {
		g.remove(dir)
	}
}

// remove removes the folder of a command's group, or records it so that removeStale tries again.
func (g *ControlGroups) remove(dir string) {
	if err := removeGroup(dir); err != nil {
		slog.Warn("a control group of a command is not removed yet", "error", err)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.stale = append(g.stale, dir)
	}
}
