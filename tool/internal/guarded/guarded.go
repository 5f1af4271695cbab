// Package guarded finds the paths in a workspace that programs outside the sandbox later run or read as
// configuration: the guarded paths. It compares their state before and after a command.
package guarded

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/sandbox"
)

// startFiles are files below the home directory that a user's shells, editors and tools execute or
// read as configuration when they start.
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

// comparedEntries is the maximum number of entries of a guarded folder, such as git's hooks, that
// are compared before and after a command to find changes. Changes of further entries are not found.
const comparedEntries = 500

// pathsIn returns the guarded paths in the workspace dir, which programs outside the sandbox later run
// or read, whether they exist or not. They are the configuration and hooks of git and, if dir is the
// home directory or a folder above it, startFiles.
func pathsIn(dir string) []string {
	var paths []string
	links, repos := repositories(dir)
	paths = append(paths, links...)
	for _, repo := range repos {
		// The file named commondir of a worktree contains the path of another folder with config
		// and hooks.
		for _, name := range []string{"hooks", "config", "config.worktree", "commondir", "info/attributes"} {
			paths = append(paths, filepath.Join(repo, name))
		}
	}
	home, err := os.UserHomeDir()
	if err != nil || home == "" {
		return paths
	}
	if real, err := sandbox.RealPath(home); err == nil && sandbox.Within(real, dir) {
		for _, name := range startFiles {
			paths = append(paths, filepath.Join(real, name))
		}
	}
	return paths
}

// RunsLater reports whether programs outside the sandbox may later run path or read it as
// configuration. It returns true if path is a guarded path of the workspace dir or lies in one. It
// also returns true if path lies in a folder named .git, because only git has to write there.
func RunsLater(dir, path string) bool {
	if rel, err := filepath.Rel(dir, path); err == nil && slices.Contains(strings.Split(rel, string(filepath.Separator)), ".git") {
		return true
	}
	return slices.ContainsFunc(pathsIn(dir), func(g string) bool { return sandbox.Within(path, g) })
}

// Fixed returns those guarded paths in the workspace dir that exist and are not symlinks. Programs
// outside the sandbox later run the files there, or read them as configuration.
func Fixed(dir string) []string {
	var fixed []string
	for _, path := range pathsIn(dir) {
		if real, err := sandbox.RealPath(path); err == nil && real == path {
			fixed = append(fixed, path)
		}
	}
	return fixed
}

// Snapshot contains the states of the guarded paths of a workspace before a command runs. The map's
// keys are the paths.
type Snapshot map[string]string

// Take records the states of the paths in the workspace dir that programs outside the sandbox later
// run or read as configuration (the guarded paths).
func Take(dir string) Snapshot {
	s := Snapshot{}
	for _, path := range pathsIn(dir) {
		s[path] = stateOf(path)
	}
	return s
}

// Changed returns the guarded paths, relative to dir, whose state differs from the snapshot.
func (s Snapshot) Changed(dir string) []string {
	now := Take(dir)
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

// stateOf returns text that differs after every change of the file or folder at path, or "" if nothing is
// there. The text contains the inode and its change time, which no program can set.
func stateOf(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	state := stampOf(info)
	if !info.IsDir() {
		return state
	}
	// The times of the folder also change with temporary files, such as git's locks, so only its entries
	// are compared.
	var b strings.Builder
	entries := sandbox.SomeEntries(path, comparedEntries)
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
