package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// TestStorePlainIsAFlagAndAVariable checks that --store-plain and its environment variable switch off the
// optimizations of the server's store. The server then logs a warning. A run completes with and without the
// optimizations.
func TestStorePlainIsAFlagAndAVariable(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  text Done.\n")
	const said = "the store runs without its optimizations"
	for name, one := range map[string]struct {
		env, flags []string
		plain      bool
	}{
		"neither":  {},
		"flag":     {flags: []string{"--store-plain"}, plain: true},
		"variable": {env: []string{"PERDURE_STORE_PLAIN=true"}, plain: true},
	} {
		p := launchWith(t, dir, one.env, append([]string{"dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0"}, one.flags...)...)
		p.until("http://")
		launch(t, dir, "run", "--model", "scripted/s", "go").wantEnd(0, "Done.")
		p.signal(syscall.SIGINT)
		p.end()
		if got := strings.Contains(p.stderr.String(), said); got != one.plain {
			t.Errorf("%s: the server logs %q", name, p.stderr.String())
		}
	}
	launchWith(t, dir, []string{"PERDURE_STORE_PLAIN=perhaps"}, "runs").wantEnd(2, "PERDURE_STORE_PLAIN")
}
