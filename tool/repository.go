package tool

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	// reposDepth is how deep below the workspace repositories are looked for.
	reposDepth = 2
	// modulesDepth is how deep the names of submodules may be.
	modulesDepth = 4
	// reposEntries bounds the entries that are looked at for it.
	reposEntries = 2000
	// gitFileBytes bounds what is read of a file that names a folder of git.
	gitFileBytes = 8 << 10
)

// repoSearch finds the folders that git takes configuration and hooks from.
type repoSearch struct {
	dir   string
	left  int // entries that may still be looked at
	links []string
	repos []string
}

// repositories are the folders that git takes configuration and hooks from in dir
// and a little below: those named .git, bare ones, and those of submodules and
// worktrees. dir/.git is one also where it does not exist. links are the paths named
// .git that are no folders, or nothing: a file there leads git elsewhere.
func repositories(dir string) (links, repos []string) {
	s := &repoSearch{dir: dir, left: reposEntries}
	s.git(filepath.Join(dir, ".git"))
	s.look(dir, 0)
	for i := 0; i < len(s.repos); i++ { // grows meanwhile
		s.inside(s.repos[i])
	}
	return s.links, s.repos
}

func (s *repoSearch) entries(folder string) []os.DirEntry {
	found := someEntries(folder, s.left)
	s.left -= len(found)
	return found
}

func (s *repoSearch) add(repo string) {
	if within(repo, s.dir) && !slices.Contains(s.repos, repo) {
		s.repos = append(s.repos, repo)
	}
}

// look looks for repositories in folder.
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
		case !e.IsDir() || slices.Contains(skippedFolders[1:], e.Name()):
		case depth < reposDepth:
			s.look(path, depth+1)
		}
	}
}

// isBare reports whether a folder with these entries is what git takes for a
// repository, whatever its name.
func isBare(entries []os.DirEntry) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name }) {
			return false
		}
	}
	return true
}

// git adds what is at path, which is named .git, and what a file or symlink there
// leads to.
func (s *repoSearch) git(path string) {
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		if !slices.Contains(s.links, path) {
			s.links = append(s.links, path)
		}
	}
	s.add(path)
	if real, err := realPath(path); err == nil && real != path {
		s.add(real)
	}
	if to := gitPath(path, "gitdir:"); to != "" {
		s.add(to)
	}
}

// inside adds the repositories that lie in repo, or that it takes its
// configuration from.
func (s *repoSearch) inside(repo string) {
	if to := gitPath(filepath.Join(repo, "commondir"), ""); to != "" {
		s.add(to)
	}
	for _, e := range s.entries(filepath.Join(repo, "worktrees")) {
		s.add(filepath.Join(repo, "worktrees", e.Name()))
	}
	s.modules(filepath.Join(repo, "modules"), 0)
}

// modules adds the repositories of submodules, whose names may have several
// elements.
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

// gitPath is the folder that the file at path names after prefix; "" for none.
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
	if real, err := realPath(to); err == nil {
		return real
	}
	return filepath.Clean(to)
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
