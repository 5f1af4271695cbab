package tool

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// privatePaths are the folders that programs meet in: each run has its own in
// their place.
var privatePaths = []string{"/tmp", "/var/tmp", "/run", "/dev/shm"}

// isPrivate reports whether path is one of privatePaths, or has one in it.
func isPrivate(path string) bool {
	return slices.ContainsFunc(privatePaths, func(p string) bool { return within(p, path) })
}

// privateFolders makes, in dir, the folders that take the place of privatePaths.
// A path that is no folder here, or a way to another one, needs none; one that
// the workspace is, or lies in the workspace, stays as it is.
func privateFolders(dir, workspace string) ([]private, error) {
	var all []private
	for _, path := range privatePaths {
		if real, err := realPath(path); err != nil || real != path || within(path, workspace) {
			continue
		}
		p, err := privateFolder(dir, path)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// privateFolder makes, in dir, the folder that takes the place of path.
func privateFolder(dir, path string) (private, error) {
	source := filepath.Join(dir, strings.ReplaceAll(path[1:], "/", "-"))
	if err := os.Mkdir(source, 0o700); err != nil && !os.IsExist(err) {
		return private{}, err
	}
	return private{path, source}, nil
}

// keptPaths are what commands need of what lies below privatePaths: how names
// are resolved, and where programs and toolchains are.
func keptPaths() []string {
	wanted := append([]string{"/etc/resolv.conf"}, filepath.SplitList(os.Getenv("PATH"))...)
	for _, name := range []string{"GOROOT", "JAVA_HOME", "NODE_PATH", "VIRTUAL_ENV", "RUSTUP_HOME"} {
		wanted = append(wanted, filepath.SplitList(os.Getenv(name))...)
	}
	var kept []string
	for _, path := range wanted {
		real, err := realPath(path)
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		for _, path := range []string{filepath.Clean(path), real} {
			if belowPrivate(path) && !slices.Contains(kept, path) {
				kept = append(kept, path)
			}
		}
	}
	return kept
}

func belowPrivate(path string) bool {
	return slices.ContainsFunc(privatePaths, func(p string) bool { return path != p && within(path, p) })
}

// makePoints makes what paths below private folders are mounted on: a folder for
// a folder, a file for a file. Commands may have changed what is there, so
// symlinks are not followed.
func makePoints(all []private, paths []string) error {
	for _, p := range all {
		for _, path := range paths {
			if path == p.Path || !within(path, p.Path) {
				continue
			}
			if err := makePoint(p, path); err != nil {
				return err
			}
		}
	}
	return nil
}

func makePoint(p private, path string) error {
	rel, err := filepath.Rel(p.Path, path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(p.Source)
	if err != nil {
		return err
	}
	defer root.Close()
	if info.IsDir() {
		return root.MkdirAll(rel, 0o755)
	}
	if err := root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(rel, os.O_CREATE|os.O_RDONLY|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}
