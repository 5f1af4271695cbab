package tool

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// startFiles are what a user's shells, editors and tools run or obey when they
// start, below the home directory.
var startFiles = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".inputrc",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login",
	".config/fish", ".config/git", ".config/autostart", ".config/systemd/user", ".config/environment.d",
	".gitconfig", ".ssh", ".vimrc", ".config/nvim/init.lua", ".config/nvim/init.vim", ".npmrc", ".pypirc",
	".xprofile", ".xsessionrc", ".pam_environment", ".local/bin", "bin",
}

const (
	// reposDepth is how deep below the workspace repositories are looked for.
	reposDepth = 2
	// reposEntries bounds the entries that are looked at for it.
	reposEntries = 2000
	// guardedEntries bounds what of one guarded folder is compared.
	guardedEntries = 500
	// changesShown bounds the paths that a result names.
	changesShown = 10
)

// guardedPaths are the files and folders in the workspace dir that run outside of
// the fence later, whether they exist or not: what git runs, and if dir is, or is
// above, the home directory what shells start with.
func guardedPaths(dir string) []string {
	var paths []string
	for _, repo := range repositories(dir) {
		for _, name := range []string{"hooks", "config", "config.worktree", "info/attributes"} {
			paths = append(paths, filepath.Join(repo, name))
		}
	}
	home, err := os.UserHomeDir()
	if err != nil || home == "" {
		return paths
	}
	if real, err := realPath(home); err == nil && within(real, dir) {
		for _, name := range startFiles {
			paths = append(paths, filepath.Join(real, name))
		}
	}
	return paths
}

// repositories are the folders named .git in dir and a little below, and those of
// submodules in them. dir/.git is one also where it does not exist.
func repositories(dir string) []string {
	found := []string{filepath.Join(dir, ".git")}
	left := reposEntries
	var look func(folder string, depth int)
	look = func(folder string, depth int) {
		for _, e := range someEntries(folder, left) {
			left--
			path := filepath.Join(folder, e.Name())
			switch {
			case !e.IsDir() || slices.Contains(skippedFolders[1:], e.Name()):
			case e.Name() == ".git":
				if !slices.Contains(found, path) {
					found = append(found, path)
				}
			case depth < reposDepth:
				look(path, depth+1)
			}
		}
	}
	look(dir, 0)
	for _, repo := range found {
		for _, e := range someEntries(filepath.Join(repo, "modules"), left) {
			left--
			if e.IsDir() {
				found = append(found, filepath.Join(repo, "modules", e.Name()))
			}
		}
	}
	return found
}

// someEntries are at most n entries of folder; none if it cannot be read.
func someEntries(folder string, n int) []os.DirEntry {
	f, err := os.Open(folder)
	if err != nil || n <= 0 {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(n)
	return entries
}

// fixedFiles are those guarded paths in dir that exist: files and folders, and no
// symlinks.
func fixedFiles(dir string) []string {
	var fixed []string
	for _, path := range guardedPaths(dir) {
		if real, err := realPath(path); err == nil && real == path {
			fixed = append(fixed, path)
		}
	}
	return fixed
}

// snapshot is the state of guarded paths before a command.
type snapshot map[string]string

// take looks at the guarded paths in dir.
func takeSnapshot(dir string) snapshot {
	s := snapshot{}
	for _, path := range guardedPaths(dir) {
		s[path] = stateOf(path)
	}
	return s
}

// changed are the guarded paths whose state differs, and those that are new,
// relative to dir.
func (s snapshot) changed(dir string) []string {
	now := takeSnapshot(dir)
	var paths []string
	for path, state := range now {
		if before := s[path]; before != state {
			paths = append(paths, relative(dir, path))
		}
	}
	for path, state := range s {
		if _, known := now[path]; !known && state != "" && stateOf(path) != state {
			paths = append(paths, relative(dir, path))
		}
	}
	slices.Sort(paths)
	return paths
}

func relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// stateOf describes what is at path so that every change shows; "" for nothing.
// It compares inodes and the times of their last change, which no program can set.
func stateOf(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	state := stampOf(info)
	if !info.IsDir() {
		return state
	}
	// A folder's own stamp changes with files that come and go beside each other,
	// as git's locks do; what is in it is what counts.
	var b strings.Builder
	entries := someEntries(path, guardedEntries)
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	fmt.Fprintf(&b, "folder %s", info.Mode())
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			fmt.Fprintf(&b, "\n%q %s", e.Name(), stampOf(info))
		}
	}
	return b.String()
}

func stampOf(info fs.FileInfo) string {
	return fmt.Sprintf("%s %d %s", info.Mode(), info.Size(), inodeOf(info))
}

// changesLine tells the model, and whoever reads the run, what to look at.
func changesLine(paths []string) string {
	more := ""
	if n := len(paths) - changesShown; n > 0 {
		paths, more = paths[:changesShown], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("[changed: %s%s; programs outside of the sandbox run or obey these files, and the run's events name them]\n", strings.Join(paths, ", "), more)
}
