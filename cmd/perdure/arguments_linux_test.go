package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Secrets on a command line are used, but the process table does not show them.
func TestSecretsOfACommandLineAreBlanked(t *testing.T) {
	dir := t.TempDir()
	p := launch(t, dir, "dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0", "--key", "canary-of-a-key", "--key=canary-in-one")
	p.until("bash ")
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.ReplaceAll(string(raw), "\x00", " ")
	if strings.Contains(shown, "canary") || !strings.Contains(shown, "--key xxx") || !strings.Contains(shown, "--grpc-addr 127.0.0.1:0") {
		t.Errorf("shown is %q", shown)
	}
	p.signal(syscall.SIGTERM)
	p.wantEnd(0)
}

// A worker with --confine require starts only if bash can be confined.
func TestConfineRequireDecidesAtTheStart(t *testing.T) {
	dir := t.TempDir()
	p := launch(t, dir, "dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0", "--confine", "require", "--net", "none")
	p.until("confined by ")
	p.signal(syscall.SIGTERM)
	p.wantEnd(0)
	write(t, dir, "s", "turn\n  call bash {\"command\": \"echo ran\"}\nturn\n  text Done.\n")
	launch(t, dir, "run", "--confine", "off", "--model", "scripted/s", "go").wantEnd(0, "ran", "Done.")
	launch(t, dir, "run", "--confine", "sometimes", "--model", "scripted/s", "go").wantEnd(2, "--confine")
}
