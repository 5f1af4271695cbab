package tool

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/perdure/perdure/internal/sandbox"
)

// privatePaths are the folders that programs meet in: each run has its own in
// their place.
var privatePaths = sandbox.PrivatePaths

// systemPaths are what every program needs of the system.
var systemPaths = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store"}

// isPrivate reports whether path is one of privatePaths, or has one in it.
func isPrivate(path string) bool {
	return slices.ContainsFunc(privatePaths, func(p string) bool { return within(p, path) })
}

// privateFolders makes, in dir, the folders that take the place of places.
// A path that is no folder here, or a way to another one, needs none; one that
// the workspace is, or lies in the workspace, stays as it is.
func privateFolders(dir, workspace string, places []string) ([]private, error) {
	var all []private
	for _, path := range places {
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
	return private{Path: path, Source: source}, nil
}

// keptPaths are what commands need of what lies below places: how names are
// resolved, the home of this user, and where programs and toolchains are.
func keptPaths(places []string) []string {
	var kept []string
	if home, err := os.UserHomeDir(); err == nil && below(home, places) && !belowPrivate(home) {
		kept = append(kept, filepath.Clean(home))
	}
	wanted := append([]string{"/etc/resolv.conf"}, filepath.SplitList(os.Getenv("PATH"))...)
	for _, name := range []string{"GOROOT", "JAVA_HOME", "NODE_PATH", "VIRTUAL_ENV", "RUSTUP_HOME"} {
		wanted = append(wanted, filepath.SplitList(os.Getenv(name))...)
	}
	for _, path := range wanted {
		real, err := realPath(path)
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		for _, path := range []string{filepath.Clean(path), real} {
			shown := slices.ContainsFunc(kept, func(k string) bool { return within(path, k) })
			if below(path, places) && !shown {
				kept = append(kept, path)
			}
		}
	}
	return kept
}

func belowPrivate(path string) bool { return below(path, privatePaths) }

// below reports whether path lies in one of the folders.
func below(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(p string) bool { return path != p && within(path, p) })
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
