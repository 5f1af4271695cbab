package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"

	"github.com/perdure/perdure/internal/sandbox"
	"github.com/perdure/perdure/tool/internal/group"
	"github.com/perdure/perdure/tool/internal/guarded"
	"github.com/perdure/perdure/tool/internal/hold"
	"golang.org/x/sys/unix"
)

// selfExe is the path of this program's file, which works even if the file has been replaced.
const selfExe = "/proc/self/exe"

// Available returns the confinements to try, the best one first, and the reasons why other
// confinements are not available.
func Available(c Confinement) (candidates []Confinement, why []string) {
	c.filtered, c.Mounts, c.Pids, c.Child, c.Note = sandbox.HasFilter(), false, false, false, ""
	abi := sandbox.LandlockABI()
	ready := Ready.Load()
	var locks, wraps []Confinement
	switch {
	case c.OwnSockets:
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

// landlocks returns the confinements by Landlock to try, the best one first. The field Note of each
// says what the confinement does not prevent.
func landlocks(c Confinement, abi int) []Confinement {
	c.Method, c.Child = sandbox.ByLandlock, true
	if abi < sandbox.LandlockScoped {
		c.Note = "commands can send signals to other processes of their user (Landlock before version 6)"
	}
	whole, masked, plain := c, c, c
	whole.Mounts, whole.Pids = true, true
	masked.Mounts = true
	masked.Note = joined(masked.Note, "commands see the command lines of other processes, and what leaves their session may outlive them")
	if c.Net == NetLoopback {
		return []Confinement{whole, masked}
	}
	plain.Note = joined(masked.Note, "/run and /dev/shm are closed to commands, since they cannot have their own")
	plain.Note = joined(plain.Note, "there are no pseudo-terminals")
	if c.Data != nil || len(c.Secrets) > 0 {
		plain.Note = joined(plain.Note, "in the folders above the data directory and secrets commands cannot list or make entries")
	}
	return []Confinement{whole, masked, plain}
}

// bubblewraps returns the confinements by bubblewrap to try, the best one first. If `ready` is
// true, the first confinement starts bubblewrap through a sandbox child. That child receives a
// descriptor of the data directory and covers the directory before it starts bubblewrap.
func bubblewraps(c Confinement, ready bool) []Confinement {
	c.Method, c.Mounts, c.Child = sandbox.ByBwrap, false, ready
	masked, plain := c, c
	masked.Mounts = true
	if c.Data != nil || len(c.Secrets) > 0 {
		plain.Note = "a command that renames a folder above the data directory or a secret while another one starts may uncover it"
	}
	if ready {
		return []Confinement{masked, plain}
	}
	return []Confinement{plain}
}

// launch is one command that is about to run, with the resources that the command needs until it
// ends.
type launch struct {
	Confinement
	hidden  []*hold.File // folders and files that a child covers: the data directory and secrets
	vars    []string     // environment variables with the paths of caches, as name=path
	shared  []*os.File   // descriptors for the child, in addition to the standard streams
	release func()
	control *group.Control // nil if the command has no control group
}

// launch prepares a command: it creates the folders that only this command has, and finds the current paths
// of the data directory.
func (c Confinement) launch() (*launch, error) {
	l := &launch{Confinement: c, release: func() {}}
	if c.Refusal != "" {
		return nil, errors.New("tool bash: " + c.Refusal)
	}
	if err := l.prepare(); err != nil {
		l.release()
		return nil, fmt.Errorf("tool bash: %w", err)
	}
	l.control = l.Groups.Take(l.Limits)
	return l, nil
}

func (l *launch) prepare() error {
	if l.Method == sandbox.NotConfined {
		return nil
	}
	if err := l.find(); err != nil {
		return err
	}
	folders, err := l.Scratch.Take(l.Run)
	if err != nil {
		return err
	}
	l.release = folders.Release
	places := sandbox.PrivatePaths
	if !l.OwnSockets {
		places = append(slices.Clone(places), homePlaces(l.policy.Dir)...)
	}
	if l.policy.Private, err = privateFolders(folders.Dir, l.policy.Dir, places); err != nil {
		return err
	}
	l.policy.Kept, l.policy.Temp = keptPaths(places), "/tmp"
	if err := l.ownCaches(folders.Slot); err != nil {
		return err
	}
	if l.Method == sandbox.ByLandlock && !l.Mounts {
		l.policy.Temp = folders.Dir
		return nil
	}
	l.policy.Fixed = guarded.Fixed(l.policy.Dir)
	if l.OwnSockets {
		if err := l.ownView(); err != nil {
			return err
		}
	}
	return makePoints(l.policy.Private, l.shown())
}

// shown returns the paths that the command must see although they may lie below a shared folder such
// as /run. The command sees a private folder in place of each shared one.
func (l *launch) shown() []string {
	shown := append(slices.Clone(l.policy.Kept), l.policy.Write...)
	for _, c := range l.policy.Caches {
		shown = append(shown, c.Path)
	}
	return shown
}

// find sets the current paths of the data directory and of the secrets. It leaves out a secret inside the
// data directory, which is hidden with that directory.
func (l *launch) find() error {
	if l.Data != nil {
		views, err := l.Data.Views()
		if err != nil {
			return err
		}
		l.policy.Data = views
	}
	for _, secret := range l.Secrets {
		views, err := secret.Views()
		if secret.Deleted() {
			continue
		}
		if err != nil {
			return fmt.Errorf("a file with a secret: %w", err)
		}
		if l.covered(views[0], secret) || slices.ContainsFunc(l.hidden, secret.Same) {
			continue
		}
		l.policy.Secrets = append(l.policy.Secrets, views...)
		l.hidden = append(l.hidden, secret)
	}
	if l.Data != nil {
		l.hidden = append([]*hold.File{l.Data}, l.hidden...)
	}
	return nil
}

// covered reports whether path, the path of the secret h, lies in the data directory or in another secret
// that is a folder. Such a folder is hidden as a whole, so h need not be hidden separately.
func (l *launch) covered(path string, h *hold.File) bool {
	if slices.ContainsFunc(l.policy.Data, func(d string) bool { return sandbox.Within(path, d) }) {
		return true
	}
	return slices.ContainsFunc(l.Secrets, func(other *hold.File) bool {
		if other.Same(h) || !other.Folder() {
			return false
		}
		above, err := other.Path()
		return err == nil && sandbox.Within(path, above)
	})
}

// environ returns env with the TMPDIR of the command and the variables that name its caches.
func (l *launch) environ(env []string) []string {
	if l.policy.Temp == "" {
		return env
	}
	env = append(env[:len(env):len(env)], "TMPDIR="+l.policy.Temp)
	return append(env, l.vars...)
}

// end kills the command's remaining processes and releases its resources.
func (l *launch) end() {
	l.control.Close()
	l.release()
}

// boundBy returns the name of the mechanism that enforces the limits of processes and memory.
func (l *launch) boundBy() string {
	if l.control != nil {
		return BoundByGroup
	}
	return BoundByWatcher
}

func (l *launch) startError(err error) error {
	if l.control != nil {
		return fmt.Errorf("tool bash: %w: %w", errInGroup, err)
	}
	return fmt.Errorf("tool bash: start: %w", err)
}

// group returns the process group of the command whose first process is pid.
func (l *launch) group(pid int) *group.Group {
	g := group.New(pid)
	g.First, g.Control, g.Leaves = l.Pids, l.control, l.Method == sandbox.NotConfined
	return g
}

// close closes this process's copies of the descriptors for the child.
func (l *launch) close() { closeAll(l.shared); l.shared = nil }

// command returns the exec.Cmd that runs argv confined, in a session of its own. The command therefore has
// a process group of its own, and no terminal that it could read or write.
func (l *launch) command(argv []string) (*exec.Cmd, error) {
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if l.control != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(l.control.File.Fd())
	}
	// Commands must not inherit open files of this process. Descriptors that Go opened are
	// close-on-exec already; CloseRange marks all others. If the kernel is too old for CloseRange,
	// a sandbox child closes them.
	_ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if err := l.share(); err != nil {
		l.close()
		return nil, fmt.Errorf("tool bash: %w", err)
	}
	if l.Method == sandbox.ByBwrap {
		path, err := findBwrap(l.policy.Dir)
		if err != nil {
			l.close()
			return nil, fmt.Errorf("tool bash: %w", err)
		}
		argv = append(append([]string{path}, l.bwrapArgs()...), argv...)
	}
	if !l.Child {
		return &exec.Cmd{Path: argv[0], Args: argv, SysProcAttr: attr}, nil
	}
	spec, err := l.spec()
	if err != nil {
		l.close()
		return nil, fmt.Errorf("tool bash: %w", err)
	}
	if l.Mounts {
		ownMounts(attr)
		// With bubblewrap, the child needs only the mount namespace, because bubblewrap creates the
		// other namespaces itself.
		if l.Pids {
			attr.Cloneflags |= syscall.CLONE_NEWPID
		}
		if l.Method == sandbox.ByLandlock && l.Net != NetOpen {
			attr.Cloneflags |= syscall.CLONE_NEWNET
		}
	}
	return &exec.Cmd{Path: selfExe, Args: append([]string{selfExe, sandbox.Mark, spec}, argv...), SysProcAttr: attr}, nil
}

// filterFd returns the number of the descriptor from which bubblewrap reads the system call filter.
func (l *launch) filterFd() int {
	if !l.Child {
		return 3
	}
	return sandbox.HiddenFd + len(l.hidden)
}

// share opens the files that the child process inherits: the folders and files that a sandbox child
// (see Confinement.Child) covers, and the filter for bubblewrap.
func (l *launch) share() error {
	for _, h := range l.hidden {
		if !l.Child {
			break
		}
		f, err := h.Duplicate()
		if err != nil {
			return err
		}
		l.shared = append(l.shared, f)
	}
	if l.Method == sandbox.ByBwrap && l.filtered {
		f, err := filterFile(l.filterRules())
		if err != nil {
			return err
		}
		l.shared = append(l.shared, f)
	}
	return nil
}

// filterRules returns the rules of the system call filter.
func (l *launch) filterRules() sandbox.FilterRules {
	return sandbox.FilterRules{Unix: l.OwnSockets, NoNet: l.Net == NetNone}
}

// ownMounts makes the child start in a mount namespace of its own. A user other than root also gets a user
// namespace, in which the id of the user stays the same.
func ownMounts(attr *syscall.SysProcAttr) {
	attr.Cloneflags = syscall.CLONE_NEWNS
	if os.Geteuid() == 0 {
		return
	}
	attr.Cloneflags |= syscall.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	// The child has all capabilities in its own user namespace. At exec it keeps only the ambient
	// ones, and it drops these when the confinement is complete. DAC_OVERRIDE is needed because an
	// overlay's work folder is not accessible to anyone.
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_DAC_OVERRIDE}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
}

func (l *launch) spec() (string, error) {
	s := sandbox.Spec{
		Parent: os.Getpid(), Method: l.Method, Policy: l.policy, Mounts: l.Mounts, Pids: l.Pids,
		HasData: l.Data != nil, Filtered: l.filtered, Rules: l.filterRules(), Limits: l.Limits.Rlimits(),
		Loopback: l.Net == NetLoopback,
	}
	for _, h := range l.hidden {
		s.Hidden = append(s.Hidden, h.Identity())
	}
	if l.Method == sandbox.ByBwrap && l.filtered {
		s.FilterFd = l.filterFd()
	}
	raw, err := json.Marshal(s)
	return string(raw), err
}
