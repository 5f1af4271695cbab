package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// selfExe is this program, also when its file has been replaced meanwhile.
	selfExe = "/proc/self/exe"
	// childMark, as the first argument, makes this program a sandbox child.
	childMark = "__tool-sandbox-child"
	// reportFd is where a sandbox child says what it could not do.
	reportFd = 3
)

// sandboxReady is set once the program has shown that it calls
// MaybeSandboxChild. Started as a child without it, it would run as itself.
var sandboxReady atomic.Bool

// childSpec tells a sandbox child what to do before it becomes the command.
type childSpec struct {
	Parent  int // its parent's pid; another one means that ours is gone
	Policy  policy
	Mask    bool
	DataDev uint64 // which folder must not be found under Policy.Data
	DataIno uint64
}

// MaybeSandboxChild makes Landlock available to bash. Call it first thing in
// main, and in TestMain: bash starts this program again, and in that child
// MaybeSandboxChild confines itself, becomes the command and does not return.
// In every other process it returns at once.
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
	// Landlock, no_new_privs and the parent-death signal belong to a thread. The
	// thread that execs is the one that survives.
	runtime.LockOSThread()
	unix.CloseOnExec(reportFd)
	var spec childSpec
	if err := json.Unmarshal([]byte(rawSpec), &spec); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("sandbox: parent-death signal: %w", err)
	}
	if os.Getppid() != spec.Parent {
		return errors.New("sandbox: the parent is gone")
	}
	if spec.Mask {
		if err := maskFolder(spec.Policy.Data); err != nil {
			return fmt.Errorf("sandbox: cover the data directory: %w", err)
		}
	}
	if err := applyLandlock(spec.Policy, spec.Mask); err != nil {
		return fmt.Errorf("sandbox: landlock: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("sandbox: capabilities: %w", err)
	}
	if err := spec.verify(); err != nil {
		return err
	}
	return fmt.Errorf("sandbox: exec %s: %w", argv[0], syscall.Exec(argv[0], argv, os.Environ()))
}

// maskFolder covers dir with an empty folder for this mount namespace. Landlock
// then keeps anyone from unmounting it.
func maskFolder(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	const flags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	return unix.Mount("tmpfs", dir, "tmpfs", flags, "size=4k,mode=0555")
}

// dropped are the capabilities that lead around Landlock: into other processes
// (SYS_PTRACE; PERFMON reads their memory, SYS_ADMIN implies it), past paths
// (DAC_READ_SEARCH opens by handle, MKNOD and SYS_RAWIO reach disks), or into
// the kernel.
var dropped = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_PERFMON, unix.CAP_BPF, unix.CAP_DAC_READ_SEARCH,
	unix.CAP_MKNOD, unix.CAP_SYS_RAWIO, unix.CAP_SYS_MODULE, unix.CAP_SYS_BOOT, unix.CAP_MAC_ADMIN,
	unix.CAP_MAC_OVERRIDE, unix.CAP_SYSLOG, unix.CAP_CHECKPOINT_RESTORE,
}

// dropCapabilities keeps root from regaining them when it execs. Other users
// have none but what ownMounts gave, and no_new_privs keeps it so.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	for _, c := range dropped {
		held, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil || held == 0 {
			continue // unknown to this kernel, or not ours anyway
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return err
		}
	}
	return nil
}

// verify makes sure that the data directory is out of reach.
func (s childSpec) verify() error {
	if s.Policy.Data == "" {
		return nil
	}
	fd, err := unix.Open(s.Policy.Data, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	if uint64(st.Dev) == s.DataDev && st.Ino == s.DataIno {
		return errors.New("sandbox: the data directory can still be read")
	}
	return nil
}

// available lists the ways to confine that are worth a try, best first, and why
// others are not.
func available(p policy) (candidates []confinement, why []string) {
	abi := landlockABI()
	var locks []confinement
	switch {
	case abi < landlockMin:
		why = append(why, fmt.Sprintf("landlock: the kernel has version %d, at least %d is needed", abi, landlockMin))
	case !sandboxReady.Load():
		why = append(why, "landlock: this program does not call tool.MaybeSandboxChild")
	default:
		locks = landlocks(p, abi)
	}
	bwrap := confinement{method: byBwrap, policy: p}
	if _, err := exec.LookPath("bwrap"); err != nil {
		why = append(why, "bwrap: not installed")
		return locks, why
	}
	if abi < landlockScoped {
		return append([]confinement{bwrap}, locks...), why
	}
	return append(locks, bwrap), why
}

// landlocks gives the variants of Landlock, and what each leaves open.
func landlocks(p policy, abi int) []confinement {
	note := ""
	if abi < landlockScoped {
		note = "commands can send signals to other processes of their user (Landlock before version 6)"
	}
	masked := confinement{method: byLandlock, mask: true, note: note, policy: p}
	plain := confinement{method: byLandlock, note: note, policy: p}
	if p.Data == "" {
		return []confinement{plain}
	}
	if plain.note != "" {
		plain.note += "; "
	}
	plain.note += "in the folders above the data directory commands cannot list or make entries"
	if !landlockSockets() {
		plain.note += "; a socket in the data directory can be connected to"
	}
	return []confinement{masked, plain}
}

// command makes the command line that runs argv confined, in a session of its
// own: its process group cannot be confused with ours, and there is no terminal
// that it could read or feed.
func (c confinement) command(argv []string) (*exec.Cmd, error) {
	attr := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd := &exec.Cmd{Path: argv[0], Args: argv, SysProcAttr: attr}
	switch c.method {
	case byBwrap:
		path, err := exec.LookPath("bwrap")
		if err != nil {
			return nil, fmt.Errorf("tool bash: %w", err)
		}
		cmd.Path = path
		cmd.Args = append(append([]string{path}, bwrapArgs(c.policy)...), argv...)
	case byLandlock:
		spec, err := c.spec()
		if err != nil {
			return nil, fmt.Errorf("tool bash: %w", err)
		}
		cmd.Path = selfExe
		cmd.Args = append([]string{selfExe, childMark, spec}, argv...)
		if c.mask {
			ownMounts(attr)
		}
	}
	return cmd, nil
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

func (c confinement) spec() (string, error) {
	s := childSpec{Parent: os.Getpid(), Policy: c.policy, Mask: c.mask}
	if c.policy.Data != "" {
		var st unix.Stat_t
		if err := unix.Stat(c.policy.Data, &st); err != nil {
			return "", fmt.Errorf("data directory: %w", err)
		}
		s.DataDev, s.DataIno = uint64(st.Dev), st.Ino
	}
	raw, err := json.Marshal(s)
	return string(raw), err
}
