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
	"github.com/perdure/perdure/tool/internal/excerpt"
	"github.com/perdure/perdure/tool/internal/group"
	"github.com/perdure/perdure/tool/internal/hold"
	"github.com/perdure/perdure/tool/internal/shell"
)

// Parts of a confinement that are passed to the sandbox child.
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

// What enforces the limits of processes and memory of a command.
const (
	boundByGroup   = "cgroup"
	boundByWatcher = "watcher"
	boundByNothing = "none"
)

// confinement describes how commands of a workspace are confined.
type confinement struct {
	method method
	note   string
	policy policy
	// mounts runs the command in a mount namespace in which an empty folder covers the data
	// directory. Without mounts, bubblewrap covers the data directory, and Landlock grants every
	// path except the data directory one by one.
	mounts bool
	// child starts the command through a sandbox child of this program.
	child bool
	// pids runs the command in a PID namespace; it requires mounts. The command sees no other
	// process, and its remaining processes die with the namespace.
	pids bool
	// filtered applies the system call filter to the command.
	filtered bool
	sockets  Sockets
	net      Net
	limits   group.Limits
	groups   *group.ControlGroups // nil: a watcher enforces the limits
	data     *hold.File           // nil if there is no data directory
	secrets  []*hold.File         // files that commands must not read
	scratch  *Scratch
	run      string
	// refusal is the reason why no command may run; "" if commands may run.
	refusal string
}

// chooseConfinement returns the first confinement that works on this machine. It tests each
// candidate by running a command under it.
func chooseConfinement(w *Workspace, o WorkspaceOptions) confinement {
	c := confinement{
		sockets: o.Sockets, net: o.Net.stricter(NetOpen), limits: group.Limits(o.Limits).Filled(), groups: o.Groups.opened(), data: w.data, secrets: w.secrets,
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
			if note := hold.Linked(c.secrets, c.data); note != "" {
				c.note = joined(c.note, note)
			}
			return c
		}
		why = append(why, fmt.Sprintf("%s: %v", c.method, err))
	}
	return unconfined(c, "bash is not confined: it can do all that its user can ("+strings.Join(why, "; ")+")")
}

// joined returns note with clause appended.
func joined(note, clause string) string {
	if note == "" {
		return clause
	}
	return note + "; " + clause
}

// unconfined returns c without Landlock and bubblewrap, but with the system call filter if the
// filter works. If c requires own sockets or an own network that are not available, no command may
// run.
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

// probes contains the outcomes of probes. They stay valid, because the kernel does not change while
// a process runs.
var probes struct {
	sync.Mutex
	outcome map[probeKey]error
}

type probeKey struct {
	method                        method
	mounts, pids, child, filtered bool
	sockets                       Sockets
	net                           Net
	data                          sandbox.Identity
}

// probed runs a test command under c and returns its outcome. For each probeKey it runs the command
// once per process.
func probed(c confinement) error {
	key := probeKey{c.method, c.mounts, c.pids, c.child, c.filtered, c.sockets, c.net, c.data.Identity()}
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
	path, err := shell.Find()
	if err != nil {
		return err
	}
	t := excerpt.NewTranscript(2000)
	c.scratch, c.groups = nil, nil // a probe uses no resources of a run
	p := &process{
		argv: []string{path, "-c", "exit 0"}, dir: c.policy.Dir, env: shell.Environ(nil), box: c,
		stdout: t.Stream(nil), stderr: t.Stream(nil),
	}
	end, err := p.run(context.Background(), 20*time.Second)
	if err != nil {
		return err
	}
	if end.code != 0 || end.timedOut {
		return errors.New(strings.TrimSpace("a command under it fails: " + t.String()))
	}
	return nil
}

// cache describes where a toolchain keeps downloads and build results.
type cache struct {
	program  string // a missing cache is created only if this program is installed; "": always
	variable string // environment variable that holds the cache's path
	below    string // path below the home directory if variable is not set
	readOnly bool   // also holds toolchains, which commands need and seldom write
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

// writable returns the paths that commands may write: the workspace and the toolchains' caches.
func writable(dir string) []string {
	paths := []string{dir}
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	for _, c := range caches {
		path := c.path(home)
		real, err := realPath(path)
		// Skip a variable that names the home directory or a folder above it, because commands
		// could then write all of it.
		if path == "" || err != nil || real == "/" || home != "" && within(home, real) || isPrivate(real) {
			continue
		}
		if !slices.ContainsFunc(paths, func(p string) bool { return within(real, p) }) {
			paths = append(paths, real)
		}
	}
	return paths
}

// path returns the cache's path, or "" if there is none. It creates a missing cache, because a
// confined toolchain cannot.
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
	// If the cache cannot be created, commands get no access to it.
	_ = os.MkdirAll(path, 0o755)
	return path
}

// sandboxReady is set when the program has called MaybeSandboxChild.
var sandboxReady atomic.Bool

// MaybeSandboxChild enables Landlock and the system call filter for bash on Linux. Call it at the
// start of main and of TestMain. bash starts this program a second time as a child, which confines
// itself and then becomes the command. The child does this while packages are initialized, before
// main runs.
func MaybeSandboxChild() { sandboxReady.Store(true) }
