package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/perdure/perdure/internal/sandbox"
)

// systemPaths are the folders of the system that every program needs.
var systemPaths = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store"}

// isPrivate reports whether path is one of sandbox.PrivatePaths or a folder above one of them.
func isPrivate(path string) bool {
	return slices.ContainsFunc(sandbox.PrivatePaths, func(p string) bool { return sandbox.Within(p, path) })
}

// privateFolders creates a folder in dir for each of the paths in `places`. A command sees the new
// folder in place of the shared folder at that path. privateFolders skips a path that does not
// exist, is no folder, or is a symlink. It also skips the workspace and a path that lies in it.
func privateFolders(dir, workspace string, places []string) ([]sandbox.Private, error) {
	var all []sandbox.Private
	for _, path := range places {
		if real, err := sandbox.RealPath(path); err != nil || real != path || sandbox.Within(path, workspace) {
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

// privateFolder creates the folder in dir that a command sees in place of the folder at path.
func privateFolder(dir, path string) (sandbox.Private, error) {
	source := filepath.Join(dir, strings.ReplaceAll(path[1:], "/", "-"))
	if err := os.Mkdir(source, 0o700); err != nil && !os.IsExist(err) {
		return sandbox.Private{}, err
	}
	return sandbox.Private{Path: path, Source: source}, nil
}

// keptPaths returns paths that commands still need although they lie below the shared folders in
// `places`: the resolver's configuration, this user's home, and the folders of programs and
// toolchains.
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
		real, err := sandbox.RealPath(path)
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		for _, path := range []string{filepath.Clean(path), real} {
			shown := slices.ContainsFunc(kept, func(k string) bool { return sandbox.Within(path, k) })
			if below(path, places) && !shown {
				kept = append(kept, path)
			}
		}
	}
	return kept
}

func belowPrivate(path string) bool { return below(path, sandbox.PrivatePaths) }

// below reports whether path lies in one of the folders.
func below(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(p string) bool { return path != p && sandbox.Within(path, p) })
}

// makePoints creates a mount point for each path that lies below a private folder: a folder for a folder, a
// file for a file. It follows no symlinks, because earlier commands may have created some in the private
// folders.
func makePoints(all []sandbox.Private, paths []string) error {
	for _, p := range all {
		for _, path := range paths {
			if path == p.Path || !sandbox.Within(path, p.Path) {
				continue
			}
			if err := makePoint(p, path); err != nil {
				return err
			}
		}
	}
	return nil
}

func makePoint(p sandbox.Private, path string) error {
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
