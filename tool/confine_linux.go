package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"

	"github.com/perdure/perdure/internal/sandbox"
	"golang.org/x/sys/unix"
)

// selfExe is this program, also when its file has been replaced meanwhile.
const selfExe = "/proc/self/exe"

// available lists the ways to confine that are worth a try, best first, and why
// others are not.
func available(c confinement) (candidates []confinement, why []string) {
	c.filtered, c.mounts, c.pids, c.child, c.note = sandbox.HasFilter(), false, false, false, ""
	abi := sandbox.LandlockABI()
	ready := sandboxReady.Load()
	var locks, wraps []confinement
	switch {
	case c.sockets == SocketsOwn:
		why = append(why, "landlock: it does not keep sockets with a path apart")
	case abi < sandbox.LandlockMin:
		why = append(why, fmt.Sprintf("landlock: the kernel has version %d, at least %d is needed", abi, sandbox.LandlockMin))
	case !ready:
		why = append(why, "landlock: this program does not call tool.MaybeSandboxChild")
	default:
		locks = landlocks(c, abi)
	}
	if _, err := findBwrap(c.policy.Dir); err != nil {
		why = append(why, "bwrap: not installed")
	} else {
		wraps = bubblewraps(c, ready)
	}
	if abi < sandbox.LandlockScoped {
		return append(wraps, locks...), why
	}
	return append(locks, wraps...), why
}

// landlocks are the variants of Landlock, with what each leaves open.
func landlocks(c confinement, abi int) []confinement {
	c.method, c.child = byLandlock, true
	if abi < sandbox.LandlockScoped {
		c.note = "commands can send signals to other processes of their user (Landlock before version 6)"
	}
	whole, masked, plain := c, c, c
	whole.mounts, whole.pids = true, true
	masked.mounts = true
	masked.note = joined(masked.note, "commands see the command lines of other processes, and what leaves their session may outlive them")
	if c.net == NetLoopback {
		return []confinement{whole, masked}
	}
	plain.note = joined(masked.note, "/run and /dev/shm are closed to commands, since they cannot have their own")
	plain.note = joined(plain.note, "there are no pseudo-terminals")
	if c.data != nil || len(c.secrets) > 0 {
		plain.note = joined(plain.note, "in the folders above the data directory and secrets commands cannot list or make entries")
	}
	return []confinement{whole, masked, plain}
}

// bubblewraps are the variants of bubblewrap. The first covers the data directory
// by descriptor before bubblewrap begins.
func bubblewraps(c confinement, ready bool) []confinement {
	c.method, c.mounts, c.child = byBwrap, false, ready
	masked, plain := c, c
	masked.mounts = true
	if c.data != nil || len(c.secrets) > 0 {
		plain.note = "a command that renames a folder above the data directory or a secret while another one starts may uncover it"
	}
	if ready {
		return []confinement{masked, plain}
	}
	return []confinement{plain}
}

// launch is one command with what it needs until its end.
type launch struct {
	confinement
	hidden  []*held    // what a child covers: the data directory, and secrets
	vars    []string   // variables that say where caches are, name=path
	shared  []*os.File // descriptors for the child, after those that it has anyway
	release func()
	control *commandGroup // nil if it has none
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
	l.control = l.groups.take(l.limits)
	return l, nil
}

func (l *launch) prepare() error {
	if l.method == notConfined {
		return nil
	}
	if err := l.find(); err != nil {
		return err
	}
	folders, err := l.scratch.take(l.run)
	if err != nil {
		return err
	}
	l.release = folders.release
	places := privatePaths
	if l.sockets != SocketsOwn {
		places = append(slices.Clone(places), homePlaces(l.policy.Dir)...)
	}
	if l.policy.Private, err = privateFolders(folders.dir, l.policy.Dir, places); err != nil {
		return err
	}
	l.policy.Kept, l.policy.Temp = keptPaths(places), "/tmp"
	if err := l.ownCaches(folders.slot); err != nil {
		return err
	}
	if l.method == byLandlock && !l.mounts {
		l.policy.Temp = folders.dir
		return nil
	}
	l.policy.Fixed = fixedFiles(l.policy.Dir)
	if l.sockets == SocketsOwn {
		if err := l.ownView(); err != nil {
			return err
		}
	}
	return makePoints(l.policy.Private, l.shown())
}

// shown are the paths that stand above the command's own folders.
func (l *launch) shown() []string {
	shown := append(slices.Clone(l.policy.Kept), l.policy.Write...)
	for _, c := range l.policy.Caches {
		shown = append(shown, c.Path)
	}
	return shown
}

// find finds out where the data directory and the secrets are now. A secret in
// the data directory goes with it.
func (l *launch) find() error {
	if l.data != nil {
		views, err := l.data.views()
		if err != nil {
			return err
		}
		l.policy.Data = views
	}
	for _, secret := range l.secrets {
		views, err := secret.views()
		if secret.deleted() {
			continue
		}
		if err != nil {
			return fmt.Errorf("a file with a secret: %w", err)
		}
		if l.covered(views[0], secret) || slices.ContainsFunc(l.hidden, secret.same) {
			continue
		}
		l.policy.Secrets = append(l.policy.Secrets, views...)
		l.hidden = append(l.hidden, secret)
	}
	if l.data != nil {
		l.hidden = append([]*held{l.data}, l.hidden...)
	}
	return nil
}

// covered reports whether path lies in the data directory, or in a secret other
// than h, which is a folder: what is covered with that has no path any more.
func (l *launch) covered(path string, h *held) bool {
	if slices.ContainsFunc(l.policy.Data, func(d string) bool { return within(path, d) }) {
		return true
	}
	return slices.ContainsFunc(l.secrets, func(other *held) bool {
		if other.same(h) || !other.folder() {
			return false
		}
		above, err := other.path()
		return err == nil && within(path, above)
	})
}

// environ is env with the command's own TMPDIR.
func (l *launch) environ(env []string) []string {
	if l.policy.Temp == "" {
		return env
	}
	env = append(env[:len(env):len(env)], "TMPDIR="+l.policy.Temp)
	return append(env, l.vars...)
}

// end gives back what the command used, and kills what is left of it.
func (l *launch) end() {
	l.control.close()
	l.release()
}

// boundBy is what holds the limits of processes and memory.
func (l *launch) boundBy() string {
	if l.control != nil {
		return boundByGroup
	}
	return boundByWatcher
}

func (l *launch) startError(err error) error {
	if l.control != nil {
		return fmt.Errorf("tool bash: %w: %w", errInGroup, err)
	}
	return fmt.Errorf("tool bash: start: %w", err)
}

// group is what becomes of the command's first process, pid.
func (l *launch) group(pid int) *group {
	g := newGroup(pid)
	g.first, g.control, g.leaves = l.pids, l.control, l.method == notConfined
	return g
}

// close closes the descriptors for the child, which has them by now.
func (l *launch) close() { closeAll(l.shared); l.shared = nil }

// command makes the command line that runs argv confined, in a session of its
// own: its process group cannot be confused with ours, and there is no terminal
// that it could read or feed.
func (l *launch) command(argv []string) (*exec.Cmd, error) {
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if l.control != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(l.control.file.Fd())
	}
	// What this process has inherited is not for commands. Descriptors that Go
	// opened have the mark already; a kernel too old for the call lets a child
	// do it.
	_ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if err := l.share(); err != nil {
		l.close()
		return nil, fmt.Errorf("tool bash: %w", err)
	}
	if l.method == byBwrap {
		path, err := findBwrap(l.policy.Dir)
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
		// bubblewrap makes its own; there the mounts alone are the child's.
		if l.pids {
			attr.Cloneflags |= syscall.CLONE_NEWPID
		}
		if l.method == byLandlock && l.net != NetOpen {
			attr.Cloneflags |= syscall.CLONE_NEWNET
		}
	}
	return &exec.Cmd{Path: selfExe, Args: append([]string{selfExe, sandbox.Mark, spec}, argv...), SysProcAttr: attr}, nil
}

// filterFd is where bubblewrap finds its filter.
func (l *launch) filterFd() int {
	if !l.child {
		return 3
	}
	return sandbox.HiddenFd + len(l.hidden)
}

// share opens what the child needs: what a sandbox child covers, and the filter
// for bubblewrap.
func (l *launch) share() error {
	for _, h := range l.hidden {
		if !l.child {
			break
		}
		fd, err := unix.FcntlInt(h.file.Fd(), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return err
		}
		l.shared = append(l.shared, os.NewFile(uintptr(fd), "hidden"))
	}
	if l.method == byBwrap && l.filtered {
		f, err := filterFile(l.filterRules())
		if err != nil {
			return err
		}
		l.shared = append(l.shared, f)
	}
	return nil
}

// sandbox.FilterRules are what the filter leaves alone.
func (l *launch) filterRules() sandbox.FilterRules {
	return sandbox.FilterRules{Unix: l.sockets == SocketsOwn, NoNet: l.net == NetNone}
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
	// them when it execs; it gives these up once the fence is in place. An overlay
	// keeps its work in a folder that nobody may enter: DAC_OVERRIDE does.
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_DAC_OVERRIDE}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
}

func (l *launch) spec() (string, error) {
	s := sandbox.Spec{
		Parent: os.Getpid(), Method: l.method, Policy: l.policy, Mounts: l.mounts, Pids: l.pids,
		HasData: l.data != nil, Filtered: l.filtered, Rules: l.filterRules(), Limits: l.limits.rlimits(),
		Loopback: l.net == NetLoopback,
	}
	for _, h := range l.hidden {
		s.Hidden = append(s.Hidden, h.id)
	}
	if l.method == byBwrap && l.filtered {
		s.FilterFd = l.filterFd()
	}
	raw, err := json.Marshal(s)
	return string(raw), err
}
