package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// childMark, as the first argument, makes this program a sandbox child.
const childMark = "__tool-sandbox-child"

// childSpec tells a sandbox child what to do before it becomes the command.
type childSpec struct {
	Parent   int // its parent's pid; another one means that ours is gone
	Method   method
	Policy   policy
	Mounts   bool // it has a mount namespace of its own
	Pids     bool // it is the first process of a PID namespace
	HasData  bool // the first of Hidden is the data directory
	Hidden   []identity
	Filtered bool
	FilterFd int // where bubblewrap finds its filter; 0 if there is none
	Rules    filterRules
	Net      Net
	Limits   Limits
}

// MaybeSandboxChild makes Landlock and the system call filter available to bash.
// Call it first thing in main, and in TestMain: bash starts this program again,
// and in that child MaybeSandboxChild confines itself, becomes the command and
// does not return. In every other process it returns at once.
func MaybeSandboxChild() {
	sandboxReady.Store(true)
	if len(os.Args) < 4 || os.Args[1] != childMark {
		return
	}
	err := becomeCommand(os.Args[2], os.Args[3:])
	_, _ = unix.Write(reportFd, []byte(err.Error()))
	os.Exit(126)
}

// becomeCommand returns only if it fails.
func becomeCommand(rawSpec string, argv []string) error {
	// Landlock, the filter, no_new_privs and the parent-death signal belong to a
	// thread. The thread that execs is the one that survives.
	runtime.LockOSThread()
	var s childSpec
	if err := json.Unmarshal([]byte(rawSpec), &s); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	if err := s.guardDescriptors(); err != nil {
		return fmt.Errorf("sandbox: descriptors: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("sandbox: parent-death signal: %w", err)
	}
	if s.orphaned() {
		return errors.New("sandbox: the parent is gone")
	}
	if s.Pids {
		return s.runFirst(argv)
	}
	if err := s.confine(); err != nil {
		return err
	}
	return fmt.Errorf("sandbox: exec %s: %w", argv[0], syscall.Exec(argv[0], argv, os.Environ()))
}

// orphaned reports whether the parent is gone. In a PID namespace it has no pid,
// and shows by the other end of the pipe that it reads.
func (s childSpec) orphaned() bool {
	if !s.Pids {
		return os.Getppid() != s.Parent
	}
	fds := []unix.PollFd{{Fd: reportFd}}
	_, err := unix.Poll(fds, 0)
	return err != nil || fds[0].Revents&unix.POLLERR != 0
}

// guardDescriptors lets the command inherit nothing but its streams, and
// bubblewrap its filter.
func (s childSpec) guardDescriptors() error {
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return err
	}
	if s.FilterFd == 0 {
		return nil
	}
	_, err := unix.FcntlInt(uintptr(s.FilterFd), unix.F_SETFD, 0)
	return err
}

// confine confines the calling thread.
func (s childSpec) confine() error {
	if err := s.Limits.apply(); err != nil {
		return fmt.Errorf("sandbox: limits: %w", err)
	}
	terminals := false
	if s.Mounts {
		var err error
		if terminals, err = s.arrangeMounts(); err != nil {
			return err
		}
	}
	if s.Method == byLandlock && s.Net == NetLoopback {
		if err := raiseLoopback(); err != nil {
			return fmt.Errorf("sandbox: network: %w", err)
		}
	}
	if s.Method == byLandlock {
		if err := applyLandlock(s.Policy, s.Mounts, terminals); err != nil {
			return fmt.Errorf("sandbox: landlock: %w", err)
		}
	}
	if s.Method != notConfined {
		// Where the child keeps root's capabilities, bubblewrap drops them.
		if err := dropCapabilities(s.Method == byLandlock); err != nil {
			return fmt.Errorf("sandbox: capabilities: %w", err)
		}
	}
	if s.Method == byLandlock || s.Mounts {
		if err := s.verify(); err != nil {
			return err
		}
	}
	if s.Filtered && s.FilterFd == 0 {
		if err := installFilter(s.Rules); err != nil {
			return fmt.Errorf("sandbox: system call filter: %w", err)
		}
	}
	return nil
}

// arrangeMounts covers the data directory and secrets, puts caches in place, and
// under Landlock the command's own folders. bubblewrap does the latter itself. It
// reports whether the command has terminals of its own.
func (s childSpec) arrangeMounts() (terminals bool, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return false, fmt.Errorf("sandbox: mounts: %w", err)
	}
	for i, id := range s.Hidden {
		if err := mask(childHiddenFd+i, id); err != nil {
			return false, fmt.Errorf("sandbox: cover the %s: %w", s.hiddenName(i), err)
		}
		unix.Close(childHiddenFd + i)
	}
	if !s.Policy.Own {
		if err := mountCaches(s.Policy); err != nil {
			return false, fmt.Errorf("sandbox: %w", err)
		}
		terminals = ownTerminals()
	}
	if s.Method != byLandlock {
		return terminals, nil
	}
	if err := mountPrivate(s.Policy); err != nil {
		return false, fmt.Errorf("sandbox: private folders: %w", err)
	}
	if err := ownWorkspaceMount(s.Policy.Dir); err != nil {
		return false, fmt.Errorf("sandbox: workspace: %w", err)
	}
	if err := fixFiles(s.Policy.Fixed); err != nil {
		return false, fmt.Errorf("sandbox: files that run later: %w", err)
	}
	if s.Pids {
		const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
		if err := unix.Mount("proc", "/proc", "proc", flags, ""); err != nil {
			return false, fmt.Errorf("sandbox: /proc: %w", err)
		}
	}
	if err := readOnlyOutside(s.Policy); err != nil {
		return false, fmt.Errorf("sandbox: make read-only: %w", err)
	}
	return terminals, nil
}

func (s childSpec) hiddenName(i int) string {
	if s.HasData && i == 0 {
		return "data directory"
	}
	return "secrets"
}

// raiseLoopback makes the loopback interface of a new network namespace usable.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// keptCaps are the capabilities that root's builds need: files of other users, becoming
// another user, and low ports. All others are dropped, also those to come: they lead
// around Landlock, into the kernel, over limits, to what others send on the network
// (NET_RAW), or change the machine (SYS_TIME).
var keptCaps = []uintptr{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_SETUID, unix.CAP_SETGID,
	unix.CAP_NET_BIND_SERVICE,
}

// dropCapabilities gives up what ownMounts gave. bounding keeps root from
// regaining the dropped ones when it execs. Other users have none, and
// no_new_privs keeps it so.
func dropCapabilities(bounding bool) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	if os.Geteuid() != 0 || !bounding {
		return nil
	}
	for c := uintptr(0); ; c++ {
		held, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil {
			return inheritNothing() // the kernel knows no more
		}
		if held == 0 || slices.Contains(keptCaps, c) {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return err
		}
	}
}

// inheritNothing clears the inheritable capabilities, which root would regain
// whatever the bounding set says.
func inheritNothing() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	for i := range sets {
		sets[i].Inheritable = 0
	}
	return unix.Capset(&header, &sets[0])
}

// verify makes sure that what is hidden is out of reach by all of its paths.
func (s childSpec) verify() error {
	for _, path := range append(slices.Clone(s.Policy.Data), s.Policy.Secrets...) {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		at, err := identityOf(fd)
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("sandbox: %w", err)
		}
		if i := slices.Index(s.Hidden, at); i >= 0 {
			return fmt.Errorf("sandbox: the %s can still be read", s.hiddenName(i))
		}
	}
	return nil
}
