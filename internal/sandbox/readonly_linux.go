package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// ownWorkspaceMount makes the workspace a mount of its own, so that it stays writable when the mounts
// around it become read-only.
func ownWorkspaceMount(dir string) error {
	fd, err := openPath(dir)
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	if err := bindAt(fd, dir); err != nil {
		return err
	}
	return os.Chdir(dir) // makes the new mount the working directory
}

// readOnlyOutside makes all mounts read-only, except those to which commands may write. Landlock alone does
// not suffice: it does not restrict changes of modes, owners, times or extended attributes.
func readOnlyOutside(p Policy) error {
	mounts, err := Mounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if p.writes(m.Point) {
			continue
		}
		if err := makeReadOnly(m.Point); err != nil {
			return fmt.Errorf("%s: %w", m.Point, err)
		}
	}
	return nil
}

// writes reports whether commands may write to the mount at the path `point`. If several folders of
// the policy contain this path, the innermost of them decides. A mount at one of the Fixed paths is
// never writable.
func (p Policy) writes(point string) bool {
	nearest, writes := "", false
	name := func(path string, writable bool) {
		if Within(point, path) && len(path) >= len(nearest) {
			nearest, writes = path, writable
		}
	}
	for _, f := range p.Private {
		name(f.Path, true)
	}
	for _, path := range p.Kept {
		name(path, false)
	}
	for _, c := range p.Caches {
		name(c.Path, true)
	}
	for _, path := range p.Write {
		name(path, true)
	}
	return writes && !slices.Contains(p.Fixed, point)
}

// makeReadOnly makes the mount at the path `point` read-only. If the mount cannot be reached,
// commands cannot reach it either, and makeReadOnly does nothing.
func makeReadOnly(point string) error {
	fd, err := openPath(point)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if errors.Is(err, unix.EINVAL) {
		return nil // another mount covers it, so its root is not visible
	}
	return err
}
