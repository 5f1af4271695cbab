// Package confine runs commands of bash, confined by Landlock, bubblewrap and a system call filter as
// far as the machine supports them.
package confine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/sandbox"
	"github.com/perdure/perdure/tool/internal/excerpt"
	"github.com/perdure/perdure/tool/internal/group"
	"github.com/perdure/perdure/tool/internal/hold"
	"github.com/perdure/perdure/tool/internal/scratch"
	"github.com/perdure/perdure/tool/internal/shell"
)

// These are the mechanisms that can enforce how many processes and how much memory a command may
// use.
const (
	BoundByGroup   = "cgroup"
	BoundByWatcher = "watcher"
	boundByNothing = "none"
)

// Ready is true if this program can be started again as a sandbox child, see tool.MaybeSandboxChild.
var Ready atomic.Bool

// Options say how the commands of a workspace are to be confined.
type Options struct {
	// Dir is the path of the workspace.
	Dir string
	// Unconfined makes commands run without Landlock and bubblewrap, even if these are available.
	Unconfined bool
	// OwnSockets lets commands create Unix sockets. Each command then runs in namespaces of its own.
	OwnSockets bool
	Net        Net
	Limits     group.Limits
	Groups     *group.ControlGroups // if nil, a watcher enforces the limits
	Data       *hold.File           // nil if there is no data directory
	Secrets    []*hold.File         // files that commands must not read
	Scratch    *scratch.Store
	Run        string // the id of the run whose folders commands use; "" if each command has its own folders
}

// Confinement says how the commands of a workspace are confined.
type Confinement struct {
	Options
	Method sandbox.Method
	// Note says what the confinement does not prevent, or why there is no confinement.
	Note string
	// Mounts says that the command runs in a mount namespace in which an empty folder covers the
	// data directory. Without Mounts, bubblewrap itself covers the data directory, and Landlock
	// grants access to all paths that a command needs except those in the data directory.
	Mounts bool
	// Child says that the command starts through a sandbox child: a second process of this program,
	// which confines itself and becomes the command.
	Child bool
	// Pids says that the command runs in a PID namespace; Pids requires Mounts. The command sees no
	// other process, and its remaining processes die with the namespace.
	Pids bool
	// Refusal is the reason why no command may run; "" if commands may run.
	Refusal string

	policy sandbox.Policy
	// filtered says that the command runs with the system call filter.
	filtered bool
}

// Choose returns the best confinement that works on this machine. It tests the available ones, the
// best one first, by running a command under each.
func Choose(o Options) Confinement {
	o.Limits = o.Limits.Filled()
	c := Confinement{Options: o, policy: sandbox.Policy{Dir: o.Dir}}
	if o.Unconfined {
		return unconfined(c, "bash is not confined, as configured: it can do all that its user can")
	}
	c.policy.Write = writable(o.Dir)
	candidates, why := Available(c)
	for _, c := range candidates {
		err := probed(c)
		if err == nil {
			if note := hold.Linked(c.Secrets, c.Data); note != "" {
				c.Note = joined(c.Note, note)
			}
			return c
		}
		why = append(why, fmt.Sprintf("%s: %v", c.Method, err))
	}
	return unconfined(c, "bash is not confined: it can do all that its user can ("+strings.Join(why, "; ")+")")
}

// joined returns the text `note` with the text `clause` appended after a semicolon.
func joined(note, clause string) string {
	if note == "" {
		return clause
	}
	return note + "; " + clause
}

// unconfined returns c without Landlock and bubblewrap, but with the system call filter if that
// works. The result refuses all commands if c asks for Unix sockets or a loopback interface of the
// command's own, because these need more than the filter. If the filter does not work, the result
// also refuses all commands that must not use the network.
func unconfined(c Confinement, note string) Confinement {
	c.Method, c.Note = sandbox.NotConfined, note
	if c.OwnSockets {
		c.Refusal = "Unix sockets of a command's own need bubblewrap with user namespaces, and bash is not confined by it here; use --sockets deny"
		return c
	}
	if c.Net == NetLoopback {
		c.Refusal = c.Net.refused("a network namespace, by Landlock with user namespaces or bubblewrap")
		return c
	}
	filtered := c
	filtered.Child, filtered.filtered = Ready.Load(), true
	if err := probed(filtered); filtered.Child && err == nil {
		return filtered
	}
	if c.Net == NetNone {
		c.Refusal = c.Net.refused("a system call filter, which does not work here")
	}
	c.Note += "; Unix sockets are open to it, too"
	return c
}

// probes contains the result of each test command that the function `probed` has run. A result stays
// valid, because the kernel does not change while a process runs.
var probes struct {
	sync.Mutex
	outcome map[probeKey]error
}

type probeKey struct {
	method                        sandbox.Method
	mounts, pids, child, filtered bool
	ownSockets                    bool
	net                           Net
	data                          sandbox.Identity
}

// probed runs a test command under the confinement c and returns its error. It runs the command
// only once in a process for each probeKey, and stores the error in `probes`.
func probed(c Confinement) error {
	key := probeKey{c.Method, c.Mounts, c.Pids, c.Child, c.filtered, c.OwnSockets, c.Net, c.Data.Identity()}
	probes.Lock()
	defer probes.Unlock()
	if err, known := probes.outcome[key]; known {
		return err
	}
	if probes.outcome == nil {
		probes.outcome = map[probeKey]error{}
	}
	err := Probe(c)
	probes.outcome[key] = err
	return err
}

// Probe runs a test command under the confinement c and returns the error of the command.
func Probe(c Confinement) error {
	path, err := shell.Find()
	if err != nil {
		return err
	}
	t := excerpt.NewTranscript(2000)
	c.Scratch, c.Groups = nil, nil // a probe uses no resources of a run
	p := &Process{
		Argv: []string{path, "-c", "exit 0"}, Dir: c.policy.Dir, Env: shell.Environ(nil), Box: c,
		Stdout: t.Stream(nil), Stderr: t.Stream(nil),
	}
	end, err := p.Run(context.Background(), 20*time.Second)
	if err != nil {
		return err
	}
	if end.Code != 0 || end.TimedOut {
		return errors.New(strings.TrimSpace("a command under it fails: " + t.String()))
	}
	return nil
}
