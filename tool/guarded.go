package tool

import (
	"errors"
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
	".bashrc", ".bash_aliases", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".inputrc",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login",
	".config/fish", ".config/git", ".config/autostart", ".config/systemd/user", ".config/environment.d",
	".gitconfig", ".ssh", ".vimrc", ".config/nvim/init.lua", ".config/nvim/init.vim", ".npmrc", ".pypirc",
	".emacs", ".emacs.d/init.el", ".tmux.conf", ".screenrc", ".gdbinit", ".psqlrc", ".sqliterc", ".direnvrc",
	".config/direnv", ".config/zsh", ".config/pip/pip.conf", ".pip/pip.conf", ".docker/config.json", ".kube/config",
	".aws/config", ".gnupg/gpg.conf", ".gnupg/gpg-agent.conf", ".xinitrc", ".xsession",
	".xprofile", ".xsessionrc", ".pam_environment", ".local/bin", "bin",
}

const (
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
	links, repos := repositories(dir)
	paths = append(paths, links...)
	for _, repo := range repos {
		// commondir names a folder that config and hooks are taken from instead.
		for _, name := range []string{"hooks", "config", "config.worktree", "commondir", "info/attributes"} {
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

// errRunsLater is for file tools, which no fence holds.
var errRunsLater = errors.New("programs outside of the sandbox run or obey it, so file tools do not write it")

// runsLater reports whether path, in the workspace dir, is one of guardedPaths, lies
// in one, or in a repository's folder, of which only git writes files.
func runsLater(dir, path string) bool {
	if rel, err := filepath.Rel(dir, path); err == nil && slices.Contains(strings.Split(rel, string(filepath.Separator)), ".git") {
		return true
	}
	return slices.ContainsFunc(guardedPaths(dir), func(g string) bool { return within(path, g) })
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
