package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Versions of Landlock's interface, see landlock(7).
const (
	// LandlockMin is the first that guards truncation: before it, a file that
	// cannot be written can still be emptied.
	LandlockMin = 3
	// LandlockScoped is the first that guards signals and abstract sockets.
	LandlockScoped = 6
)

const (
	landRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR

	landWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER

	// landDevices is guarded and granted nowhere: a device node is a way around
	// every path.
	landDevices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK

	// landFile is what a rule for something that is no folder may hold.
	landFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
)

// devices are what every program expects to be able to write to.
var devices = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
}

// terminals are where pseudo-terminals are, for commands that have their own: those
// of the system show what other programs of the user show.
var terminals = []string{"/dev/ptmx", "/dev/pts"}

// LandlockABI is the version that the kernel has, 0 if none.
func LandlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// landlockSockets reports whether the kernel guards sockets that have a path.
func landlockSockets() bool {
	fd, err := newRuleset(unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX})
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}

func newRuleset(attr unix.LandlockRulesetAttr) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// applyLandlock confines the calling thread, and what it becomes, for good.
// mounted means that mounts cover the data directory and give the command its own
// folders; without them both are left out of what is granted.
func applyLandlock(p Policy, mounted, ownTerminals bool) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: landRead | landWrite | landDevices}
	if landlockSockets() {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX // and granted nowhere
	}
	if LandlockABI() >= LandlockScoped {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	ruleset, err := newRuleset(attr)
	if err != nil {
		return err
	}
	defer unix.Close(ruleset)
	if err := grantAll(ruleset, p, mounted, ownTerminals); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func grantAll(ruleset int, p Policy, mounted, ownTerminals bool) error {
	writable := append(p.Write[:len(p.Write):len(p.Write)], devices...)
	if ownTerminals {
		writable = append(writable, terminals...)
	}
	var hidden, secret []string // from reading; everywhere
	if mounted {
		for _, f := range p.Private {
			writable = append(writable, f.Path)
		}
		for _, c := range p.Caches {
			writable = append(writable, c.Path)
		}
	} else {
		secret = append(slices.Clone(p.Data), p.Secrets...)
		hidden = append(append(hiddenPlaces(p.Private), realTerminals()...), secret...)
		writable = append(writable, p.Temp)
	}
	if err := grant(ruleset, "/", hidden, landRead); err != nil {
		return err
	}
	for _, path := range p.Kept {
		if err := grant(ruleset, path, secret, landRead); err != nil {
			return err
		}
	}
	for _, path := range writable {
		if err := grant(ruleset, path, secret, landRead|landWrite); err != nil {
			return err
		}
	}
	return nil
}

// hiddenPlaces are the folders that a command would have its own of, with mounts.
func hiddenPlaces(all []Private) []string {
	places := privateReal()
	for _, p := range all {
		if !slices.Contains(places, p.Path) {
			places = append(places, p.Path)
		}
	}
	return places
}

func realTerminals() []string {
	var paths []string
	for _, path := range terminals {
		if real, err := RealPath(path); err == nil {
			paths = append(paths, real)
		}
	}
	return paths
}

// privateReal are those of PrivatePaths that are folders here.
func privateReal() []string {
	var all []string
	for _, path := range PrivatePaths {
		if real, err := RealPath(path); err == nil && real == path {
			all = append(all, path)
		}
	}
	return all
}

// grant allows access to path and what is below it, but for hidden. Rules only
// add, so a folder above a hidden one is not granted itself but entry by entry.
// Symlinks are passed over there: what they lead to is granted at its own place
// or not at all.
func grant(ruleset int, path string, hidden []string, access uint64) error {
	if slices.Contains(hidden, path) {
		return nil
	}
	if !slices.ContainsFunc(hidden, func(h string) bool { return Within(h, path) }) {
		return addRule(ruleset, path, access)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil // what cannot be listed is not granted
	}
	for _, entry := range entries {
		if entry.Type()&os.ModeSymlink != 0 {
			continue
		}
		if err := grant(ruleset, filepath.Join(path, entry.Name()), hidden, access); err != nil {
			return err
		}
	}
	return nil
}

func addRule(ruleset int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		// Gone meanwhile, not there on this system, or not ours to enter.
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR) {
			return nil
		}
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= landFile
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return &os.PathError{Op: "landlock", Path: path, Err: errno}
	}
	return nil
}
