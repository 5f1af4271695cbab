package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// selfExe is this program, also when its file has been replaced meanwhile.
const selfExe = "/proc/self/exe"

// available lists the ways to confine that are worth a try, best first, and why
// others are not.
func available(c confinement) (candidates []confinement, why []string) {
	c.filtered, c.mounts, c.child, c.note = hasFilter(), false, false, ""
	abi := landlockABI()
	ready := sandboxReady.Load()
	var locks, wraps []confinement
	switch {
	case c.sockets == SocketsOwn:
		why = append(why, "landlock: it does not keep sockets with a path apart")
	case abi < landlockMin:
		why = append(why, fmt.Sprintf("landlock: the kernel has version %d, at least %d is needed", abi, landlockMin))
	case !ready:
		why = append(why, "landlock: this program does not call tool.MaybeSandboxChild")
	default:
		locks = landlocks(c, abi)
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		why = append(why, "bwrap: not installed")
	} else {
		wraps = bubblewraps(c, ready)
	}
	if abi < landlockScoped {
		return append(wraps, locks...), why
	}
	return append(locks, wraps...), why
}

// landlocks are the variants of Landlock, with what each leaves open.
func landlocks(c confinement, abi int) []confinement {
	c.method, c.child = byLandlock, true
	if abi < landlockScoped {
		c.note = "commands can send signals to other processes of their user (Landlock before version 6)"
	}
	masked, plain := c, c
	masked.mounts = true
	if plain.note != "" {
		plain.note += "; "
	}
	plain.note += "/run and /dev/shm are closed to commands, since they cannot have their own"
	if c.data != nil {
		plain.note += "; in the folders above the data directory commands cannot list or make entries"
	}
	return []confinement{masked, plain}
}

// bubblewraps are the variants of bubblewrap. The first covers the data directory
// by descriptor before bubblewrap begins.
func bubblewraps(c confinement, ready bool) []confinement {
	c.method, c.mounts, c.child = byBwrap, false, false
	masked, plain := c, c
	masked.mounts, masked.child = true, true
	if c.data != nil {
		plain.note = "a command that renames a folder above the data directory while another one starts may uncover it"
	}
	if ready {
		return []confinement{masked, plain}
	}
	return []confinement{plain}
}

// launch is one command with what it needs until its end.
type launch struct {
	confinement
	shared  []*os.File // descriptors for the child, after those that it has anyway
	release func()
}

// launch prepares a command: its own folders, and where the data directory is
// now.
func (c confinement) launch() (*launch, error) {
	l := &launch{confinement: c, release: func() {}}
	if c.refusal != "" {
		return nil, errors.New("tool bash: " + c.refusal)
	}
	if err := l.prepare(); err != nil {
		l.release()
		return nil, fmt.Errorf("tool bash: %w", err)
	}
	return l, nil
}

func (l *launch) prepare() error {
	if l.method == notConfined {
		return nil
	}
	if l.data != nil {
		views, err := l.data.views()
		if err != nil {
			return err
		}
		l.policy.Data = views
	}
	dir, release, err := l.scratch.take(l.run)
	if err != nil {
		return err
	}
	l.release = release
	if l.policy.Private, err = privateFolders(dir, l.policy.Dir); err != nil {
		return err
	}
	l.policy.Kept, l.policy.Temp = keptPaths(), "/tmp"
	if l.method == byLandlock && !l.mounts {
		l.policy.Temp = dir
		return nil
	}
	if l.sockets == SocketsOwn {
		if err := l.ownView(dir); err != nil {
			return err
		}
	}
	return makePoints(l.policy.Private, append(l.policy.Write[:len(l.policy.Write):len(l.policy.Write)], l.policy.Kept...))
}

// environ is env with the command's own TMPDIR.
func (l *launch) environ(env []string) []string {
	if l.policy.Temp == "" {
		return env
	}
	return append(env[:len(env):len(env)], "TMPDIR="+l.policy.Temp)
}

// end gives back what the command used.
func (l *launch) end() { l.release() }

// close closes the descriptors for the child, which has them by now.
func (l *launch) close() { closeAll(l.shared); l.shared = nil }

// command makes the command line that runs argv confined, in a session of its
// own: its process group cannot be confused with ours, and there is no terminal
// that it could read or feed.
func (l *launch) command(argv []string) (*exec.Cmd, error) {
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	// What this process has inherited is not for commands. Descriptors that Go
	// opened have the mark already; a kernel too old for the call lets a child
	// do it.
	_ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if err := l.share(); err != nil {
		l.close()
		return nil, fmt.Errorf("tool bash: %w", err)
	}
	if l.method == byBwrap {
		path, err := exec.LookPath("bwrap")
		if err != nil {
			l.close()
			return nil, fmt.Errorf("tool bash: %w", err)
		}
		argv = append(append([]string{path}, l.bwrapArgs()...), argv...)
	}
	if !l.child {
		return &exec.Cmd{Path: argv[0], Args: argv, SysProcAttr: attr}, nil
	}
	spec, err := l.spec()
	if err != nil {
		l.close()
		return nil, fmt.Errorf("tool bash: %w", err)
	}
	if l.mounts {
		ownMounts(attr)
	}
	return &exec.Cmd{Path: selfExe, Args: append([]string{selfExe, childMark, spec}, argv...), SysProcAttr: attr}, nil
}

// Where the child finds what is shared with it. A sandbox child's report comes
// first.
const (
	reportFd    = 3
	childDataFd = 4
)

// filterFd is where bubblewrap finds its filter.
func (l *launch) filterFd() int {
	switch {
	case !l.child:
		return 3
	case l.data == nil:
		return 4
	}
	return 5
}

// share opens what the child needs: the data directory for a sandbox child, the
// filter for bubblewrap.
func (l *launch) share() error {
	if l.child && l.data != nil {
		fd, err := unix.FcntlInt(l.data.file.Fd(), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return err
		}
		l.shared = append(l.shared, os.NewFile(uintptr(fd), "data directory"))
	}
	if l.method == byBwrap && l.filtered {
		f, err := filterFile(l.sockets == SocketsOwn)
		if err != nil {
			return err
		}
		l.shared = append(l.shared, f)
	}
	return nil
}

// ownMounts gives the child a mount namespace. Whoever is not root needs a user
// namespace for that, in which the user stays who it is.
func ownMounts(attr *syscall.SysProcAttr) {
	attr.Cloneflags = syscall.CLONE_NEWNS
	if os.Geteuid() == 0 {
		return
	}
	attr.Cloneflags |= syscall.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	// The child has all capabilities in its own user namespace, but would lose
	// them when it execs; it gives this one up once the mask is in place.
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
}

func (l *launch) spec() (string, error) {
	s := childSpec{
		Parent: os.Getpid(), Method: l.method, Policy: l.policy, Mounts: l.mounts,
		HasData: l.data != nil, Data: l.data.identity(),
		Filtered: l.filtered, Sockets: l.sockets == SocketsOwn,
	}
	if l.method == byBwrap && l.filtered {
		s.FilterFd = l.filterFd()
	}
	raw, err := json.Marshal(s)
	return string(raw), err
}
