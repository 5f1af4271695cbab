package main

import (
	"syscall"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// TestConfineRequireDecidesAtTheStart checks that perdure dev --confine require starts, and prints which
// mechanism confines the bash tool. With --confine off, a command of the tool runs. perdure dev refuses an
// unknown value of --confine.
func TestConfineRequireDecidesAtTheStart(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	p := launch(t, dir, "dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0", "--confine", "require", "--net", "none")
	p.until("confined by ")
	p.signal(syscall.SIGTERM)
	p.wantEnd(0)
	write(t, dir, "s", "turn\n  call bash {\"command\": \"echo ran\"}\nturn\n  text Done.\n")
	launch(t, dir, "run", "--confine", "off", "--model", "scripted/s", "go").wantEnd(0, "ran", "Done.")
	launch(t, dir, "run", "--confine", "sometimes", "--model", "scripted/s", "go").wantEnd(2, "--confine")
}
