package confine

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/sandbox"
)

// ownCaches prepares toolchain caches in the folder `slot`, which only this command uses, so that
// nobody else runs a file that the command has written to a cache. It removes the user's caches
// from the paths that the command may write. If the command has a mount namespace of its own or
// runs under bubblewrap, it sees overlays over the user's caches. Otherwise environment variables
// name empty caches in `slot`.
func (l *launch) ownCaches(slot string) error {
	home, _ := os.UserHomeDir() // "" if there is no home directory
	if l.Method == sandbox.ByLandlock && !l.Mounts {
		l.policy.Write = []string{l.policy.Dir}
		l.vars = cacheVariables(slot, home)
		return nil
	}
	write := []string{l.policy.Dir}
	for _, path := range l.policy.Write {
		switch {
		case path == l.policy.Dir:
		case isMissing(path): // the cache was removed after the workspace was opened
		case sandbox.Within(path, l.policy.Dir) && !sandbox.Within(home, l.policy.Dir): // a project cache
		default:
			c, err := newCacheFolder(slot, path)
			if err != nil {
				return err
			}
			// An overlay over the cache would show a data directory or a secret that lies in the
			// cache.
			c.NoLayer = slices.ContainsFunc(append(slices.Clone(l.policy.Data), l.policy.Secrets...), func(p string) bool { return sandbox.Within(p, path) })
			l.policy.Caches = append(l.policy.Caches, c)
		}
	}
	l.policy.Write = write
	return nil
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// newCacheFolder creates folders in the folder `slot` for the overlay over the cache at path.
func newCacheFolder(slot, path string) (sandbox.CacheFolder, error) {
	base := filepath.Join(slot, strings.ReplaceAll(path[1:], "/", "-"))
	c := sandbox.CacheFolder{Path: path, Upper: filepath.Join(base, "upper"), Work: filepath.Join(base, "work"), Empty: filepath.Join(base, "empty")}
	for _, dir := range []string{c.Upper, c.Work, c.Empty} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return c, err
		}
	}
	return c, nil
}

// cacheVariables returns the environment variables (name=value) that make toolchains use caches in
// the folder `slot`. Through GOPROXY, Go can still read modules that the user has downloaded.
func cacheVariables(slot, home string) []string {
	var vars []string
	for _, c := range caches {
		if c.variable == "" {
			continue
		}
		if c.program != "" {
			if _, err := exec.LookPath(c.program); err != nil {
				continue
			}
		}
		if c.readOnly {
			continue // the cache holds installed toolchains, which commands only read
		}
		vars = append(vars, c.variable+"="+filepath.Join(slot, strings.ToLower(c.variable)))
		if path := c.path(home); c.variable == "GOMODCACHE" && path != "" {
			vars = append(vars, "GOPROXY=file://"+filepath.Join(path, "cache", "download")+","+cmp.Or(os.Getenv("GOPROXY"), "https://proxy.golang.org,direct"))
		}
	}
	return vars
}
