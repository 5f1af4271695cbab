package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/perdure/perdure/internal/sandbox"
)

// cache describes where a toolchain has its downloads and build results.
type cache struct {
	program  string // a missing cache is created only if this program is installed, or if program is ""
	variable string // environment variable with the path of the cache
	below    string // path below the home directory, used if the environment variable is not set
	readOnly bool   // the cache also holds toolchains, which commands need and seldom write
}

var caches = []cache{
	{"", "XDG_CACHE_HOME", ".cache", false},
	{"go", "GOCACHE", ".cache/go-build", false},
	{"go", "GOPATH", "go", false},
	{"go", "GOMODCACHE", "go/pkg/mod", false},
	{"cargo", "CARGO_HOME", ".cargo", false},
	{"rustup", "RUSTUP_HOME", ".rustup", true},
	{"npm", "NPM_CONFIG_CACHE", ".npm", false},
	{"pnpm", "PNPM_HOME", ".local/share/pnpm", true},
	{"gradle", "GRADLE_USER_HOME", ".gradle", false},
	{"mvn", "", ".m2", false},
	{"pip", "PIP_CACHE_DIR", ".cache/pip", false},
	{"uv", "UV_CACHE_DIR", ".cache/uv", false},
}

// writable returns the paths that commands may write: the workspace dir, and the caches of toolchains.
func writable(dir string) []string {
	paths := []string{dir}
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	for _, c := range caches {
		path := c.path(home)
		real, err := sandbox.RealPath(path)
		// The environment variable may name the home directory or a folder above it. Such a path is
		// not used, because commands could then write all of the home directory.
		if path == "" || err != nil || real == "/" || home != "" && sandbox.Within(home, real) || isPrivate(real) {
			continue
		}
		if !slices.ContainsFunc(paths, func(p string) bool { return sandbox.Within(real, p) }) {
			paths = append(paths, real)
		}
	}
	return paths
}

// path returns the path of the cache, or "" if the toolchain has no cache on this machine. It
// creates a missing folder, because a confined toolchain could not create it.
func (c cache) path(home string) string {
	path := ""
	if c.variable != "" {
		path = os.Getenv(c.variable)
	}
	if path == "" && home != "" {
		path = filepath.Join(home, c.below)
	}
	if !filepath.IsAbs(path) {
		return ""
	}
	if c.program != "" {
		if _, err := exec.LookPath(c.program); err != nil {
			return path
		}
	}
	// If the folder cannot be created, commands have no cache.
	_ = os.MkdirAll(path, 0o755)
	return path
}
