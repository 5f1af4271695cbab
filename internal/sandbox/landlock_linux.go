package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These are versions of the Landlock interface, see landlock(7).
const (
	// LandlockMin is the first version that can forbid truncation. In earlier versions, a command can empty
	// a file that it may not write.
	LandlockMin = 3
	// LandlockScoped is the first version that restricts signals and abstract sockets.
	LandlockScoped = 6
)

const (
	landRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR

	landWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER

	// landDevices are the rights to create device nodes. They are not granted anywhere, because a
	// device node at any path gives access to its device.
	landDevices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK

	// landFile are the rights that a rule for a file may contain.
	landFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
)

// devices are the devices to which every program expects to be able to write.
var devices = []string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
}

// terminals are the paths of pseudo-terminals. A command gets access to them only if it has
// pseudo-terminals of its own, because the pseudo-terminals of the system belong to other programs
// of the user.
var terminals = []string{"/dev/ptmx", "/dev/pts"}

// LandlockABI returns the kernel's Landlock version, or 0 if there is none.
func LandlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// landlockSockets reports whether the kernel's Landlock can forbid connections to Unix sockets that
// have a path.
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

// applyLandlock confines the calling thread, and so the command, permanently. If `mounted` is true,
// mounts cover the data directory and provide the command's private folders. Otherwise the command
// gets no access to the data directory and to shared temporary folders.
func applyLandlock(p Policy, mounted, ownTerminals bool) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: landRead | landWrite | landDevices}
	if landlockSockets() {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX // no rule grants this right
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
	var hidden, secret []string // hidden: paths that cannot be read; secret: paths without any access
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

// hiddenPlaces returns the shared folders that the command must not read. It is used if there are
// no mounts that replace these folders with private ones.
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

// privateReal returns the elements of PrivatePaths that are folders without symlinks on this
// system.
func privateReal() []string {
	var all []string
	for _, path := range PrivatePaths {
		if real, err := RealPath(path); err == nil && real == path {
			all = append(all, path)
		}
	}
	return all
}

// grant gives access to a path and everything below it, except the paths in `hidden`. Landlock
// rules only add rights, so a folder above a hidden path is granted entry by entry. Symlinks in
// such a folder are skipped; their targets are granted at their own paths or not at all.
func grant(ruleset int, path string, hidden []string, access uint64) error {
	if slices.Contains(hidden, path) {
		return nil
	}
	if !slices.ContainsFunc(hidden, func(h string) bool { return Within(h, path) }) {
		return addRule(ruleset, path, access)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil // access to entries that cannot be listed is not granted
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
		// The path was removed, does not exist on this system, or cannot be entered; access to it
		// is then not granted.
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
