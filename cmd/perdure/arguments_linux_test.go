package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestSecretsOfACommandLineAreBlanked checks that the process table does not show the secrets of a
// command line. Other arguments stay as they are.
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
