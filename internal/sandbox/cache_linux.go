package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// mountCaches mounts an overlay, or else an empty folder, over each toolchain cache. If the
// workspace is inside a cache, it then mounts the workspace on top of that cache.
func mountCaches(p Policy) error {
	if len(p.Caches) == 0 {
		return nil
	}
	workspace, err := openPath(p.Dir)
	if err != nil {
		return &os.PathError{Op: "open", Path: p.Dir, Err: err}
	}
	defer unix.Close(workspace)
	inside := false
	for _, c := range p.Caches {
		if err := c.mount(); err != nil {
			return fmt.Errorf("a cache of its own at %s: %w", c.Path, err)
		}
		inside = inside || Within(p.Dir, c.Path)
	}
	if !inside {
		return nil
	}
	return bindAt(workspace, p.Dir)
}

// isGone reports whether the cache's path does not exist.
func (c CacheFolder) isGone() bool {
	fd, err := openPath(c.Path)
	if err == nil {
		unix.Close(fd)
	}
	return errors.Is(err, unix.ENOENT)
}

// mount mounts an overlay at the path of the cache, so that changes are not stored in the user's cache. If
// overlays do not work, it mounts an empty folder.
func (c CacheFolder) mount() error {
	target, err := openPath(c.Path)
	if err != nil {
		return &os.PathError{Op: "open", Path: c.Path, Err: err}
	}
	defer unix.Close(target)
	if !c.NoLayer && c.layer(target) == nil {
		return nil
	}
	empty, err := openPath(c.Empty)
	if err != nil {
		return &os.PathError{Op: "open", Path: c.Empty, Err: err}
	}
	defer unix.Close(empty)
	return os.NewSyscallError("mount", unix.Mount(atFd(empty), atFd(target), "", unix.MS_BIND, ""))
}

var layerEscapes = strings.NewReplacer(`\`, `\\`, ",", `\,`, ":", `\:`)

// layer mounts an overlay over the folder of the cache. The descriptor `target` refers to that
// folder.
func (c CacheFolder) layer(target int) error {
	options := "lowerdir=" + layerEscapes.Replace(c.Path) + ",upperdir=" + layerEscapes.Replace(c.Upper) + ",workdir=" + layerEscapes.Replace(c.Work)
	if os.Geteuid() != 0 {
		options += ",userxattr"
	}
	if len(options) >= os.Getpagesize() {
		return errors.New("the paths are too long")
	}
	return unix.Mount("overlay", atFd(target), "overlay", unix.MS_NOSUID|unix.MS_NODEV, options)
}
