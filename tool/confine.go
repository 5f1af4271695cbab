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
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/sandbox"
)

// What of a confinement a sandbox child is told.
type (
	method      = sandbox.Method
	policy      = sandbox.Policy
	private     = sandbox.Private
	cacheFolder = sandbox.CacheFolder
)

const (
	byLandlock  = sandbox.ByLandlock
	byBwrap     = sandbox.ByBwrap
	notConfined = sandbox.NotConfined
)

// What holds the limits of processes and memory of a command.
const (
	boundByGroup   = "cgroup"
	boundByWatcher = "watcher"
	boundByNothing = "none"
)

// confinement is how commands of a workspace are confined.
type confinement struct {
	method method
	note   string
	policy policy
	// mounts gives a command a mount namespace, in which the data directory is
	// covered with an empty folder. Without it bubblewrap covers it, and Landlock
	// grants everything but the data directory, one by one.
	mounts bool
	// child starts the command through a sandbox child of this program.
	child bool
	// pids gives a command a PID namespace, with mounts: it sees no other process,
	// and what it leaves behind dies with it.
	pids bool
	// filtered puts the command under the system call filter.
	filtered bool
	sockets  Sockets
	net      Net
	limits   Limits
	groups   *ControlGroups // nil: a watcher holds the limits
	data     *held          // nil if there is none
	secrets  []*held        // files that commands must not read
	scratch  *Scratch
	run      string
	// refusal is why no command may run, "" if they may.
	refusal string
}

// chooseConfinement takes the first way that works here. What works is tried by
// running a command under it.
func chooseConfinement(w *Workspace, o WorkspaceOptions) confinement {
	c := confinement{
		sockets: o.Sockets, net: o.Net.stricter(NetOpen), limits: o.Limits.filled(), groups: o.Groups, data: w.data, secrets: w.secrets,
		scratch: o.Scratch, policy: policy{Dir: w.dir},
	}
	if o.Unconfined || o.Confine == ConfineOff {
		return unconfined(c, "bash is not confined, as configured: it can do all that its user can")
	}
	c.policy.Write = writable(w.dir)
	candidates, why := available(c)
	for _, c := range candidates {
		err := probed(c)
		if err == nil {
			if note := linkedNote(c.secrets, c.data); note != "" {
				c.note = joined(c.note, note)
			}
			return c
		}
		why = append(why, fmt.Sprintf("%s: %v", c.method, err))
	}
	return unconfined(c, "bash is not confined: it can do all that its user can ("+strings.Join(why, "; ")+")")
}

// joined adds a clause to a note.
func joined(note, clause string) string {
	if note == "" {
		return clause
	}
	return note + "; " + clause
}

// unconfined is c without a fence but the system call filter, where that works.
// Sockets of their own need a fence: without one no command runs.
func unconfined(c confinement, note string) confinement {
	c.method, c.note = notConfined, note
	if c.sockets == SocketsOwn {
		c.refusal = "Unix sockets of a command's own need bubblewrap with user namespaces, and bash is not confined by it here; use --sockets deny"
		return c
	}
	if c.net == NetLoopback {
		c.refusal = c.net.refused("a network namespace, by Landlock with user namespaces or bubblewrap")
		return c
	}
	filtered := c
	filtered.child, filtered.filtered = sandboxReady.Load(), true
	if err := probed(filtered); filtered.child && err == nil {
		return filtered
	}
	if c.net == NetNone {
		c.refusal = c.net.refused("a system call filter, which does not work here")
	}
	c.note += "; Unix sockets are open to it, too"
	return c
}

// probes remembers what worked: the kernel does not change under a process.
var probes struct {
	sync.Mutex
	outcome map[probeKey]error
}

type probeKey struct {
	method                        method
	mounts, pids, child, filtered bool
	sockets                       Sockets
	net                           Net
	data                          identity
}

// probed runs a command under c, once per process, method and data directory.
func probed(c confinement) error {
	key := probeKey{c.method, c.mounts, c.pids, c.child, c.filtered, c.sockets, c.net, c.data.identity()}
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
	c.scratch, c.groups = nil, nil // those of a run are not for probes
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

// cache is where a toolchain keeps what it downloads and builds.
type cache struct {
	program  string // the caches of a program that is installed are made; "" always
	variable string // says where it is, unless it is not set
	below    string // the home directory, then
	readOnly bool   // toolchains are there, which commands need and seldom write
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

// writable lists what commands may write: the workspace and the caches of
// toolchains.
func writable(dir string) []string {
	paths := []string{dir}
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	for _, c := range caches {
		path := c.path(home)
		real, err := realPath(path)
		// A variable that names the home directory, or a folder above it, does
		// not open all of it.
		if path == "" || err != nil || real == "/" || home != "" && within(home, real) || isPrivate(real) {
			continue
		}
		if !slices.ContainsFunc(paths, func(p string) bool { return within(real, p) }) {
			paths = append(paths, real)
		}
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

// sandboxReady is set once the program has called MaybeSandboxChild.
var sandboxReady atomic.Bool

// MaybeSandboxChild makes Landlock and the system call filter available to bash, on
// Linux. Call it first thing in main, and in TestMain: bash starts this program
// again, and that child confines itself and becomes the command. It does so while
// packages are initialized, before main.
func MaybeSandboxChild() { sandboxReady.Store(true) }
