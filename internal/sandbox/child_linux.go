package sandbox

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

// init turns this process into the command if it is a sandbox child. Go initializes this package
// early, because it imports little. The start of the command therefore does not wait for the
// initialization of larger packages.
func init() {
	if len(os.Args) < 4 || os.Args[1] != Mark {
		return
	}
	err := becomeCommand(os.Args[2], os.Args[3:])
	_, _ = unix.Write(ReportFd, []byte(err.Error()))
	os.Exit(126)
}

// becomeCommand confines this process and replaces it with the command. It returns only if that fails.
func becomeCommand(rawSpec string, argv []string) error {
	// The lock ties the goroutine to its thread. Landlock, the filter, no_new_privs and the parent-death
	// signal apply to one thread only, and exec keeps only the thread that calls it.
	runtime.LockOSThread()
	var s Spec
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

// orphaned reports whether the parent process has ended. In a PID namespace the child cannot see
// its parent. The child then polls its own end of the report pipe: the parent has the other end
// open.
func (s Spec) orphaned() bool {
	if !s.Pids {
		return os.Getppid() != s.Parent
	}
	fds := []unix.PollFd{{Fd: ReportFd}}
	_, err := unix.Poll(fds, 0)
	return err != nil || fds[0].Revents&unix.POLLERR != 0
}

// guardDescriptors makes descriptors close-on-exec, so that the command does not inherit them.
// Exceptions are 0 to 2, and the descriptor of the filter that bubblewrap reads.
func (s Spec) guardDescriptors() error {
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return err
	}
	if s.FilterFd == 0 {
		return nil
	}
	_, err := unix.FcntlInt(uintptr(s.FilterFd), unix.F_SETFD, 0)
	return err
}

// confine applies the restrictions in the Spec to the calling thread.
func (s Spec) confine() error {
	if err := applyLimits(s.Limits); err != nil {
		return fmt.Errorf("sandbox: limits: %w", err)
	}
	terminals := false
	if s.Mounts {
		var err error
		if terminals, err = s.arrangeMounts(); err != nil {
			return err
		}
	}
	if s.Method == ByLandlock && s.Loopback {
		if err := raiseLoopback(); err != nil {
			return fmt.Errorf("sandbox: network: %w", err)
		}
	}
	if s.Method == ByLandlock {
		if err := applyLandlock(s.Policy, s.Mounts, terminals); err != nil {
			return fmt.Errorf("sandbox: landlock: %w", err)
		}
	}
	if s.Method != NotConfined {
		// Under Landlock, the capabilities of root are dropped here. Bubblewrap drops them itself.
		if err := dropCapabilities(s.Method == ByLandlock); err != nil {
			return fmt.Errorf("sandbox: capabilities: %w", err)
		}
	}
	if s.Method == ByLandlock || s.Mounts {
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

// arrangeMounts covers the data directory and the secrets with empty mounts, and mounts the caches.
// Under Landlock it also mounts the command's private folders, which bubblewrap mounts itself. The
// result `terminals` says whether the command has pseudo-terminals of its own.
func (s *Spec) arrangeMounts() (terminals bool, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return false, fmt.Errorf("sandbox: mounts: %w", err)
	}
	for i, id := range s.Hidden {
		if err := mask(HiddenFd+i, id); err != nil {
			return false, fmt.Errorf("sandbox: cover the %s: %w", s.hiddenName(i), err)
		}
		unix.Close(HiddenFd + i)
	}
	// A cache may have been removed since the workspace was opened, or may be in a folder that a
	// mount now covers.
	s.Policy.Caches = slices.DeleteFunc(s.Policy.Caches, CacheFolder.isGone)
	if !s.Policy.Own {
		if err := mountCaches(s.Policy); err != nil {
			return false, fmt.Errorf("sandbox: %w", err)
		}
		terminals = ownTerminals()
	}
	if s.Method != ByLandlock {
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

func (s Spec) hiddenName(i int) string {
	if s.HasData && i == 0 {
		return "data directory"
	}
	return "secrets"
}

// raiseLoopback brings up the loopback interface in a new network namespace, where it is down at first.
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

// KeptCapabilities are the capabilities that builds need if they run as root: to use files of other
// users, to become another user, and to use low ports. The child drops all other capabilities,
// including those that future kernels add. With them a command could bypass Landlock and limits,
// load code into the kernel, read packets of other programs (NET_RAW), or change the machine
// (SYS_TIME).
var KeptCapabilities = []uintptr{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_SETUID, unix.CAP_SETGID,
	unix.CAP_NET_BIND_SERVICE,
}

// dropCapabilities drops the ambient capabilities, which the parent has passed on. If `bounding` is
// true and the user is root, it also drops capabilities from the bounding set, so that exec does
// not restore them. Other users have no capabilities, and cannot get any because of no_new_privs.
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
			return inheritNothing() // this number is past the last capability of the kernel
		}
		if held == 0 || slices.Contains(KeptCapabilities, c) {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return err
		}
	}
}

// inheritNothing clears the inheritable capabilities. The bounding set does not limit them, so root
// would still have them after exec.
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

// verify checks that the data directory and the secrets are covered. It returns an error if one of
// them can still be opened at one of its known paths.
func (s Spec) verify() error {
	for _, path := range append(slices.Clone(s.Policy.Data), s.Policy.Secrets...) {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		at, err := IdentityOf(fd)
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

// applyLimits sets resource limits of this process. The map's keys are the numbers of the
// resources, as in setrlimit(2). The command inherits the limits.
func applyLimits(limits map[int]int64) error {
	var failed error
	for resource, most := range limits {
		if most < 0 {
			continue
		}
		var now syscall.Rlimit
		if err := syscall.Getrlimit(resource, &now); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		value := min(uint64(most), now.Max)
		failed = errors.Join(failed, syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value}))
	}
	return failed
}
