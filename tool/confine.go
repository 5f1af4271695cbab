package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// method is a way to confine bash.
type method string

const (
	byLandlock  method = "landlock"
	byBwrap     method = "bwrap"
	notConfined method = "none"
)

// confinement is how commands of a workspace are confined.
type confinement struct {
	method method
	note   string
	policy policy
	// mask covers the data directory with an empty folder, in a mount namespace.
	// Without it Landlock grants everything but the data directory, one by one.
	mask bool
}

// policy says what commands may do: read and run everything outside Data, write
// below Write and to the usual devices, use the network.
type policy struct {
	Dir   string   // where they run
	Data  string   // "" if there is none
	Write []string // existing, free of symlinks
}

// chooseConfinement takes the first way that works here. What works is tried by
// running a command under it.
func chooseConfinement(w *Workspace, unconfined bool) confinement {
	none := confinement{method: notConfined}
	if unconfined {
		none.note = "bash is not confined, as configured: it can do all that its user can"
		return none
	}
	p := policy{Dir: w.dir, Data: w.data, Write: writable(w.dir)}
	candidates, why := available(p)
	for _, c := range candidates {
		err := probed(c)
		if err == nil {
			return c
		}
		why = append(why, fmt.Sprintf("%s: %v", c.method, err))
	}
	none.note = "bash is not confined: it can do all that its user can (" + strings.Join(why, "; ") + ")"
	return none
}

// probes remembers what worked: the kernel does not change under a process.
var probes struct {
	sync.Mutex
	outcome map[probeKey]error
}

type probeKey struct {
	method method
	mask   bool
	data   string
}

// probed runs a command under c, once per process, method and data directory.
func probed(c confinement) error {
	key := probeKey{c.method, c.mask, c.policy.Data}
	probes.Lock()
	defer probes.Unlock()
	if err, known := probes.outcome[key]; known {
		return err
	}
	if probes.outcome == nil {
		probes.outcome = map[probeKey]error{}
	}
	err := probe(c)
	probes.outcome[key] = err
	return err
}

func probe(c confinement) error {
	shell, err := findShell()
	if err != nil {
		return err
	}
	t := &transcript{kept: keep{limit: 2000}}
	p := &process{
		argv: []string{shell, "-c", "exit 0"}, dir: c.policy.Dir, env: environ(nil), box: c,
		stdout: t.stream(nil), stderr: t.stream(nil),
	}
	end, err := p.run(context.Background(), 20*time.Second)
	if err != nil {
		return err
	}
	if end.code != 0 || end.timedOut {
		return errors.New(strings.TrimSpace("a command under it fails: " + t.kept.String()))
	}
	return nil
}

// rootCaps are what makes root's builds work: files of other users.
var rootCaps = []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_SETUID", "CAP_SETGID"}

// bwrapArgs is the command line of bubblewrap. The data directory is covered
// last, so that nothing bound before shows it.
func bwrapArgs(p policy) []string {
	args := []string{
		"--die-with-parent", "--unshare-pid",
		"--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc",
	}
	if os.Geteuid() == 0 {
		// Root would keep what unmounts the data directory's cover.
		args = append(args, "--cap-drop", "ALL")
		for _, name := range rootCaps {
			args = append(args, "--cap-add", name)
		}
	}
	for _, path := range p.Write {
		args = append(args, "--bind", path, path)
	}
	if p.Data != "" {
		args = append(args, "--tmpfs", p.Data, "--remount-ro", p.Data)
	}
	return append(args, "--chdir", p.Dir, "--")
}

// cache is where a toolchain keeps what it downloads and builds.
type cache struct {
	program  string // the caches of a program that is installed are made; "" always
	variable string // says where it is, unless it is not set
	below    string // the home directory, then
}

var caches = []cache{
	{"", "XDG_CACHE_HOME", ".cache"},
	{"go", "GOCACHE", ".cache/go-build"},
	{"go", "GOPATH", "go"},
	{"go", "GOMODCACHE", "go/pkg/mod"},
	{"cargo", "CARGO_HOME", ".cargo"},
	{"rustup", "RUSTUP_HOME", ".rustup"},
	{"npm", "NPM_CONFIG_CACHE", ".npm"},
	{"pnpm", "PNPM_HOME", ".local/share/pnpm"},
	{"gradle", "GRADLE_USER_HOME", ".gradle"},
	{"mvn", "", ".m2"},
	{"pip", "PIP_CACHE_DIR", ".cache/pip"},
	{"uv", "UV_CACHE_DIR", ".cache/uv"},
}

// writable lists what commands may write: the workspace, folders for temporary
// files, and the caches of toolchains.
func writable(dir string) []string {
	paths := []string{dir}
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	for _, temp := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if real, err := realPath(temp); err == nil && real != "/" && !slices.Contains(paths, real) {
			paths = append(paths, real)
		}
	}
	for _, c := range caches {
		path := c.path(home)
		real, err := realPath(path)
		// A variable that names the home directory, or a folder above it, does
		// not open all of it.
		if path == "" || err != nil || real == "/" || home != "" && within(home, real) {
			continue
		}
		paths = append(paths, real)
	}
	return paths
}

// path is "" if there is none. A cache that is missing is made, since a confined
// toolchain could not.
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
	// A cache that cannot be made is simply not granted.
	_ = os.MkdirAll(path, 0o755)
	return path
}
