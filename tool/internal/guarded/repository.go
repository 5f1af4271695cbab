package guarded

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/perdure/perdure/internal/sandbox"
)

const (
	// reposDepth is how many levels of folders below the workspace are searched for repositories.
	reposDepth = 2
	// modulesDepth is the maximum number of path elements in the name of a submodule.
	modulesDepth = 4
	// reposEntries is the maximum number of entries that the search examines.
	reposEntries = 2000
	// gitFileBytes is the maximum number of bytes that are read of a file named .git or commondir. Such a
	// file contains the path of a git folder.
	gitFileBytes = 8 << 10
)

// repoSearch finds the folders from which git reads configuration and hooks.
type repoSearch struct {
	dir   string
	left  int // number of folder entries that the search may still examine
	links []string
	repos []string
}

// repositories returns the folders in dir, and up to reposDepth levels below it, from which git
// reads configuration and hooks. The result `repos` has folders named .git, bare repositories, and
// the folders of submodules and worktrees. It has dir/.git even if dir/.git does not exist. The
// result `links` has the paths named .git that are not folders or do not exist: a file or symlink
// there leads git to another folder.
func repositories(dir string) (links, repos []string) {
	s := &repoSearch{dir: dir, left: reposEntries}
	s.git(filepath.Join(dir, ".git"))
	s.look(dir, 0)
	for i := 0; i < len(s.repos); i++ { // the loop itself appends to s.repos
		s.inside(s.repos[i])
	}
	return s.links, s.repos
}

func (s *repoSearch) entries(folder string) []os.DirEntry {
	found := sandbox.SomeEntries(folder, s.left)
	s.left -= len(found)
	return found
}

func (s *repoSearch) add(repo string) {
	if sandbox.Within(repo, s.dir) && !slices.Contains(s.repos, repo) {
		s.repos = append(s.repos, repo)
	}
}

// look adds the repositories in the folder and in the folders below it, down to the level reposDepth.
// The workspace has the level 0.
func (s *repoSearch) look(folder string, depth int) {
	entries := s.entries(folder)
	if isBare(entries) {
		s.add(folder)
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		switch {
		case e.Name() == ".git":
			s.git(path)
		case !e.IsDir() || e.Name() == "node_modules":
		case depth < reposDepth:
			s.look(path, depth+1)
		}
	}
}

// isBare reports whether git treats a folder with these entries as a repository, although its name
// is not .git.
func isBare(entries []os.DirEntry) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name }) {
			return false
		}
	}
	return true
}

// git adds path, whose last element is .git. If path is a file or a symlink, the method also adds the
// folder to which path leads.
func (s *repoSearch) git(path string) {
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		if !slices.Contains(s.links, path) {
			s.links = append(s.links, path)
		}
	}
	s.add(path)
	if real, err := sandbox.RealPath(path); err == nil && real != path {
		s.add(real)
	}
	if to := gitPath(path, "gitdir:"); to != "" {
		s.add(to)
	}
}

// inside adds the repositories inside the git folder repo, and the folder from which git reads the
// configuration of repo.
func (s *repoSearch) inside(repo string) {
	if to := gitPath(filepath.Join(repo, "commondir"), ""); to != "" {
		s.add(to)
	}
	for _, e := range s.entries(filepath.Join(repo, "worktrees")) {
		s.add(filepath.Join(repo, "worktrees", e.Name()))
	}
	s.modules(filepath.Join(repo, "modules"), 0)
}

// modules adds the repositories of submodules. The name of a submodule may have several elements.
func (s *repoSearch) modules(folder string, depth int) {
	entries := s.entries(folder)
	if depth > 0 && isBare(entries) {
		s.add(folder)
		return
	}
	for _, e := range entries {
		if e.IsDir() && depth < modulesDepth {
			s.modules(filepath.Join(folder, e.Name()), depth+1)
		}
	}
}

// gitPath returns the folder that the file at path names after the text `prefix`. It returns "" if
// the file names no folder.
func gitPath(path, prefix string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	raw := make([]byte, gitFileBytes)
	n, _ := f.Read(raw)
	to, found := strings.CutPrefix(string(raw[:n]), prefix)
	if to = strings.TrimSpace(to); !found || to == "" {
		return ""
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(path), to)
	}
	if real, err := sandbox.RealPath(to); err == nil {
		return real
	}
	return filepath.Clean(to)
}
