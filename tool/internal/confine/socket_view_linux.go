package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/perdure/perdure/internal/sandbox"
	"golang.org/x/sys/unix"
)

// ownSocketsMost is the maximum number of sockets that are hidden from one command.
const ownSocketsMost = 1000

// errTooManySockets is the reason why a command is refused if the folders that it can see contain
// more than ownSocketsMost sockets.
var errTooManySockets = fmt.Errorf("more than %d sockets in the workspace and the toolchains; remove some", ownSocketsMost)

// ownView lets a command see only the system, the toolchains and the workspace. It also finds the
// sockets in these folders, because a network namespace does not hide sockets that have a path. The
// caches of the run are empty at first: the user's caches are too large to be searched for sockets at
// each command.
func (l *launch) ownView() (err error) {
	l.policy.Own = true
	for i := range l.policy.Caches {
		l.policy.Caches[i].NoLayer = true
	}
	for _, path := range toolchainPaths() {
		if !slices.Contains(l.policy.Kept, path) {
			l.policy.Kept = append(l.policy.Kept, path)
		}
	}
	for _, root := range append(slices.Clone(l.policy.Kept), l.policy.Dir) {
		if l.policy.Sockets, err = findSockets(l.policy.Sockets, root); err != nil {
			return err
		}
	}
	return nil
}

// toolchainPaths returns the folders with programs and toolchains that are not in systemPaths.
func toolchainPaths() []string {
	wanted := filepath.SplitList(os.Getenv("PATH"))
	for _, name := range []string{"GOROOT", "JAVA_HOME", "NODE_PATH", "VIRTUAL_ENV", "RUSTUP_HOME"} {
		wanted = append(wanted, filepath.SplitList(os.Getenv(name))...)
	}
	var paths []string
	for _, path := range wanted {
		real, err := sandbox.RealPath(path)
		if err != nil || real == "/" || isPrivate(real) {
			continue
		}
		if !slices.ContainsFunc(systemPaths, func(s string) bool { return sandbox.Within(real, s) }) && !slices.Contains(paths, real) {
			paths = append(paths, real)
		}
	}
	return paths
}

// findSockets appends the path of each socket below root to the list `found`, and returns the
// result.
func findSockets(found []string, root string) ([]string, error) {
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return unlisted(path, err)
		}
		if entry.Type() != fs.ModeSocket || slices.Contains(found, path) {
			return nil
		}
		if len(found) == ownSocketsMost {
			return errTooManySockets
		}
		found = append(found, path)
		return nil
	})
	return found, err
}

// unlisted handles a folder that could not be listed because of err. If commands can enter the
// folder, it returns an error, because they could use sockets in it that were not found. Otherwise
// it returns nil.
func unlisted(path string, err error) error {
	if unix.Access(path, unix.X_OK) == nil {
		return fmt.Errorf("look for sockets: %w", err)
	}
	return nil
}

// ownViewArgs returns bubblewrap's arguments for the view that ownView describes, with a separate
// network and separate message queues.
func ownViewArgs(p sandbox.Policy) []string {
	args := []string{"--unshare-net", "--unshare-ipc"}
	for _, path := range systemPaths {
		target, err := os.Readlink(path)
		switch {
		case err == nil:
			args = append(args, "--symlink", target, path)
		case errors.Is(err, fs.ErrNotExist):
		default:
			args = append(args, "--ro-bind", path, path)
		}
	}
	return append(args, "--dev", "/dev", "--proc", "/proc")
}
