package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// mask mounts an empty file or folder over the file or folder to which fd refers, at each of its
// paths in this mount namespace. Commands cannot remove the mount: Landlock forbids it, and under
// bubblewrap the user namespace or missing capabilities prevent it.
//
// Before the mount, another file may be moved to a path. Each path is therefore opened first, and
// then checked and covered through its descriptor.
func mask(fd int, id Identity) error {
	for range 20 {
		path, err := PathOf(fd, id)
		if err != nil {
			return err
		}
		others, err := OtherViews(path, id)
		if err != nil {
			return err
		}
		covered, err := coverIf(path, id)
		if err != nil {
			return err
		}
		for _, view := range others {
			if err := coverView(view); err != nil {
				return err
			}
		}
		now, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err != nil {
			return err
		}
		if covered && now == path {
			return nil
		}
		if covered {
			return errors.New("it moves while it is covered")
		}
	}
	return errors.New("it keeps moving")
}

// coverIf opens the file or folder at path. If that file or folder has the identity id, coverIf
// mounts an empty one over it. It reports whether it has done so.
func coverIf(path string, id Identity) (bool, error) {
	fd, err := openPath(path)
	if err != nil {
		return false, nil // the file or folder was moved in the meantime
	}
	defer unix.Close(fd)
	at, err := IdentityOf(fd)
	if err != nil || at != id {
		return false, err
	}
	return true, cover(fd)
}

// coverView mounts an empty file or folder over a path at which another mount shows the hidden file
// or folder.
func coverView(view string) error {
	fd, err := openPath(view)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return cover(fd)
}

func cover(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return unix.Mount("/dev/null", atFd(fd), "", unix.MS_BIND, "")
	}
	return coverWithNothing(fd)
}

func coverWithNothing(fd int) error {
	const flags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	return unix.Mount("tmpfs", atFd(fd), "tmpfs", flags, "size=4k,mode=0555")
}

// openPath opens path without following symlinks in any element.
func openPath(path string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	return unix.Openat2(unix.AT_FDCWD, path, &how)
}

func atFd(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// mountPrivate mounts the command's private folders. On top of these folders, it mounts the paths
// below them that the policy names in Kept, Write and Caches, so that these paths stay visible.
func mountPrivate(p Policy) error {
	type source struct {
		path string
		fd   int
	}
	open := func(path string, flags int) (source, error) {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
		if err != nil {
			return source{}, &os.PathError{Op: "open", Path: path, Err: err}
		}
		return source{path, fd}, nil
	}
	var shown []source
	paths := append(append([]string{}, p.Kept...), p.Write...)
	for _, c := range p.Caches {
		paths = append(paths, c.Path)
	}
	slices.Sort(paths) // a folder comes before its content
	for _, path := range paths {
		if !slices.ContainsFunc(p.Private, func(f Private) bool { return path != f.Path && Within(path, f.Path) }) {
			continue
		}
		s, err := open(path, 0)
		if err != nil {
			return err
		}
		shown = append(shown, s)
	}
	var folders []source
	for _, f := range p.Private {
		s, err := open(f.Source, unix.O_NOFOLLOW)
		if err != nil {
			return err
		}
		s.path = f.Path
		folders = append(folders, s)
	}
	for _, s := range append(folders, shown...) {
		if err := bindAt(s.fd, s.path); err != nil {
			return fmt.Errorf("%s: %w", s.path, err)
		}
	}
	return os.Chdir(filepath.Clean(p.Dir))
}

// bindAt mounts at path the file or folder to which fd refers, together with all mounts below it.
func bindAt(fd int, path string) error {
	target, err := openPath(path)
	if err != nil {
		return err
	}
	defer unix.Close(target)
	return unix.Mount(atFd(fd), atFd(target), "", unix.MS_BIND|unix.MS_REC, "")
}

// fixFiles makes the files and folders at these paths read-only. It ignores paths that no longer
// exist.
func fixFiles(paths []string) error {
	for _, path := range paths {
		if err := fixFile(path); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ELOOP) {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func fixFile(path string) error {
	fd, err := openPath(path)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Mount(atFd(fd), atFd(fd), "", unix.MS_BIND, ""); err != nil {
		return err
	}
	top, err := openPath(path)
	if err != nil {
		return err
	}
	defer unix.Close(top)
	return unix.MountSetattr(top, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// ownTerminals mounts a set of pseudo-terminals that only the command has, and reports whether that worked.
func ownTerminals() bool {
	const flags = unix.MS_NOSUID | unix.MS_NOEXEC
	if unix.Mount("devpts", "/dev/pts", "devpts", flags, "newinstance,ptmxmode=0666,mode=0620") != nil {
		return false
	}
	if target, err := os.Readlink("/dev/ptmx"); err == nil && (target == "pts/ptmx" || target == "/dev/pts/ptmx") {
		return true
	}
	return unix.Mount("/dev/pts/ptmx", "/dev/ptmx", "", unix.MS_BIND, "") == nil
}
