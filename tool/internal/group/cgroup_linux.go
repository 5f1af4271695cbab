package group

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/perdure/perdure/internal/sandbox"
	"golang.org/x/sys/unix"
)

// cgroup is a control group: dir is its folder, and path is its name in the kernel's files. The root of a
// cgroup namespace has the path "/".
type cgroup struct{ dir, path string }

// errNoCgroup means that the system has no control groups of version 2.
var errNoCgroup = errors.New("control groups of version 2 are not mounted")

// ownCgroup returns the control group of this process, see cgroups(7).
func ownCgroup() (cgroup, error) {
	membership, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return cgroup{}, err
	}
	mounts, err := sandbox.Mounts()
	if err != nil {
		return cgroup{}, err
	}
	return findCgroup(string(membership), mounts)
}

// findCgroup returns the control group of a process. The parameter `membership` is the content of
// the process's file /proc/self/cgroup, which names the group. findCgroup looks for the folder of
// the group in the mounts.
func findCgroup(membership string, mounts []sandbox.Mount) (cgroup, error) {
	path := ""
	for line := range strings.Lines(membership) {
		if rest, found := strings.CutPrefix(line, "0::"); found {
			path = strings.TrimSuffix(rest, "\n")
		}
	}
	for _, m := range mounts {
		if m.Kind != "cgroup2" || path == "" {
			continue
		}
		// A path with ".." names a control group outside the cgroup namespace. The mount does not
		// show that group.
		if rel, err := filepath.Rel(m.Root, path); err == nil && filepath.IsLocal(rel) && !strings.Contains(path, "..") {
			return cgroup{filepath.Join(m.Point, rel), path}, nil
		}
	}
	return cgroup{}, errNoCgroup
}

// usable returns an error if this process cannot create control groups for commands below h.
func (h cgroup) usable() error {
	if kind, err := h.read("cgroup.type"); err != nil || strings.TrimSpace(kind) != "domain" {
		return errors.New("the worker's control group is the machine's root, or threaded")
	}
	controllers, err := h.read("cgroup.controllers")
	if err != nil {
		return err
	}
	for _, wanted := range []string{"memory", "pids"} {
		if !slices.Contains(strings.Fields(controllers), wanted) {
			return fmt.Errorf("the worker's control group has no controller %q", wanted)
		}
	}
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control"} {
		if err := unix.Access(filepath.Join(h.dir, name), unix.W_OK); err != nil {
			return fmt.Errorf("the worker's control group is not delegated to it: %s: %w", filepath.Join(h.dir, name), err)
		}
	}
	if !h.delegated() {
		return errors.New("the worker's control group is writable but not delegated to it; give the service Delegate=yes")
	}
	return nil
}

// delegated reports whether this process may manage the control group. It may do so in three cases:
// the group is the root of a cgroup namespace, systemd marks it as delegated, or it belongs to this
// user and the group above it to another user. Write permission alone says too little: root and a
// user's service manager can also write to groups that nobody has delegated.
func (h cgroup) delegated() bool {
	if h.path == "/" {
		return true
	}
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		value := make([]byte, 8)
		if n, err := unix.Getxattr(h.dir, name, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	own, err := ownerOf(h.dir)
	above, errAbove := ownerOf(filepath.Dir(h.dir))
	return err == nil && errAbove == nil && own == os.Geteuid() && above != own
}

func ownerOf(path string) (int, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fs.ErrInvalid
	}
	return int(st.Uid), nil
}

func (h cgroup) read(name string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(h.dir, name))
	return string(raw), err
}
