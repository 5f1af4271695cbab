package tool

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ownCaches takes the caches of toolchains out of what a command writes, and gives
// it layers over them in slot. What a command puts there is not run by anybody
// else later.
func (l *launch) ownCaches(slot string) error {
	home, _ := os.UserHomeDir() // "" is nobody's
	if l.method == byLandlock && !l.mounts {
		l.policy.Write = []string{l.policy.Dir}
		l.vars = cacheVariables(slot, home)
		return nil
	}
	write := []string{l.policy.Dir}
	for _, path := range l.policy.Write {
		switch {
		case path == l.policy.Dir:
		case isMissing(path): // removed since the workspace was opened
		case within(path, l.policy.Dir) && !within(home, l.policy.Dir): // a project's own cache
		default:
			c, err := newCacheFolder(slot, path)
			if err != nil {
				return err
			}
			// A layer would show what is covered below it.
			c.NoLayer = slices.ContainsFunc(append(slices.Clone(l.policy.Data), l.policy.Secrets...), func(p string) bool { return within(p, path) })
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

// newCacheFolder makes the folders in slot of the cache at path.
func newCacheFolder(slot, path string) (cacheFolder, error) {
	base := filepath.Join(slot, strings.ReplaceAll(path[1:], "/", "-"))
	c := cacheFolder{Path: path, Upper: filepath.Join(base, "upper"), Work: filepath.Join(base, "work"), Empty: filepath.Join(base, "empty")}
	for _, dir := range []string{c.Upper, c.Work, c.Empty} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return c, err
		}
	}
	return c, nil
}

// cacheVariables point toolchains at caches in slot. Go reads what has been
// downloaded before by way of its module proxy.
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
			continue // installed toolchains, which commands only read
		}
		vars = append(vars, c.variable+"="+filepath.Join(slot, strings.ToLower(c.variable)))
		if path := c.path(home); c.variable == "GOMODCACHE" && path != "" {
			vars = append(vars, "GOPROXY=file://"+filepath.Join(path, "cache", "download")+","+orElse(os.Getenv("GOPROXY"), "https://proxy.golang.org,direct"))
		}
	}
	return vars
}
