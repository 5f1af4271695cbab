package tool

import (
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/sandbox"
)

// reached returns the port of a new listener, and a function that returns the number of connections
// that have arrived there.
func reached(t *testing.T) (port string, connections func() int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var n, own atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, func() int {
		// Connections are accepted in order. Once this connection has ended, all connections before
		// it have been counted.
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.Copy(io.Discard, c)
		return int(n.Load() - own.Add(1))
	}
}

// families are the socket families with which a command could reach something outside itself.
var families = map[string]int{
	"inet": unix.AF_INET, "inet6": unix.AF_INET6, "netlink": unix.AF_NETLINK, "packet": unix.AF_PACKET, "vsock": unix.AF_VSOCK,
}

// TestNoNetworkReachesNothing checks that a command with NetNone can create no socket that reaches
// something outside the command, whether the command is confined or not. Connected pairs of sockets
// and pipes still work.
func TestNoNetworkReachesNothing(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir, data := layout(t, "data")
	program := attacker(t, dir)
	port, connections := reached(t)
	if out, err := exec.Command(program, attackMark, "connect", port).CombinedOutput(); err != nil || connections() != 1 {
		t.Fatalf("unfenced, it fails: %s", out)
	}
	try := func(t *testing.T, w *Workspace) {
		wantError(t, sh(t, w, program+" "+attackMark+" connect "+port), "operation not permitted")
		wantError(t, sh(t, w, "exec 3<>/dev/tcp/127.0.0.1/"+port))
		for name := range families {
			wantError(t, sh(t, w, program+" "+attackMark+" family "+name), "operation not permitted")
		}
		wantOK(t, sh(t, w, program+" "+attackMark+" pairs && echo x | cat"), "reached", "x\n")
	}
	o := WorkspaceOptions{DataDir: data, Net: NetNone}
	eachConfinementWith(t, dir, o, try)
	o.Unconfined = true
	t.Run("none", func(t *testing.T) { try(t, openDir(t, dir, o)) })
	if n := connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestOwnLoopbackReachesTheCommandAlone checks that a command with NetLoopback can connect only to
// its own sockets. If there is no network namespace, the command does not run.
func TestOwnLoopbackReachesTheCommandAlone(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir, data := layout(t, "data")
	program := attacker(t, dir)
	port, connections := reached(t)
	eachConfinementWith(t, dir, WorkspaceOptions{DataDir: data, Net: NetLoopback}, func(t *testing.T, w *Workspace) {
		wantError(t, sh(t, w, program+" "+attackMark+" connect "+port), "connection refused")
		wantOK(t, sh(t, w, program+" "+attackMark+" talk"), "reached")
		if w.box.Method == sandbox.ByLandlock && !w.box.Mounts {
			t.Error("Landlock without mounts is offered")
		}
	})
	w := openDir(t, dir, WorkspaceOptions{DataDir: data, Net: NetLoopback, Unconfined: true})
	_, err := builtin(t, "bash").Run(t.Context(), callOf(t, w, args{"command": "echo > ran"}))
	if err == nil || !strings.Contains(err.Error(), "network namespace") {
		t.Errorf("err = %v", err)
	}
	wantMissing(t, filepath.Join(dir, "ran"))
	if n := connections(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

// TestStricterNetworkHolds checks that the stricter of the workspace's and the call's network limit
// applies.
func TestStricterNetworkHolds(t *testing.T) {
	for _, c := range []struct{ worker, call, want Net }{
		{"", "", NetOpen},
		{NetOpen, NetNone, NetNone},
		{NetNone, NetOpen, NetNone},
		{NetLoopback, NetOpen, NetLoopback},
		{NetLoopback, NetNone, NetNone},
		{"", NetLoopback, NetLoopback},
		{NetOpen, "unknown", NetNone},
	} {
		if got := max(c.worker.level(), c.call.level()); got != c.want.level() {
			t.Errorf("%q and %q: %q, want %q", c.worker, c.call, got, c.want)
		}
	}
	dir, data := layout(t, "data")
	program := attacker(t, dir)
	port, connections := reached(t)
	for _, c := range []struct{ worker, call Net }{{NetOpen, NetNone}, {NetNone, NetOpen}} {
		w := openDir(t, dir, WorkspaceOptions{DataDir: data, Net: c.worker})
		call := callOf(t, w, args{"command": program + " " + attackMark + " connect " + port})
		call.Net = c.call
		wantError(t, run(t, "bash", call), "operation not permitted")
	}
	if n := connections(); n != 0 {
		t.Errorf("%d connections", n)
	}
	if _, err := OpenWorkspace(dir, "", WorkspaceOptions{Net: "lan"}); err == nil || !strings.Contains(err.Error(), "net") {
		t.Errorf("err = %v", err)
	}
	call := callOf(t, openDir(t, dir, WorkspaceOptions{DataDir: data}), args{"command": "echo > ran"})
	call.Net = "lan"
	if _, err := builtin(t, "bash").Run(t.Context(), call); err == nil {
		t.Error("a call with an unknown network runs")
	}
	wantMissing(t, filepath.Join(dir, "ran"))
}
