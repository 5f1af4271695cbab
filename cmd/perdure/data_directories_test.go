package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// TestToolsKeepOutOfOtherDataDirectories checks that the tools of a run cannot read the token of its
// own data directory, nor the tokens of other data directories of the same user.
func TestToolsKeepOutOfOtherDataDirectories(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	for _, name := range []string{"d", ".local/share/perdure", "third"} {
		env := []string{"PERDURE_DATA=" + filepath.Join(dir, name)}
		s := launchWith(t, dir, env, "dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0")
		s.until("data")
		s.signal(syscall.SIGTERM)
		s.wantEnd(0)
	}
	script := `turn
  text look
  call bash {"command": "cd ..; cat */*/d/token */d/token */third/token */.local/share/perdure/token; cat d/token third/token .local/share/perdure/token; ls .local/state/perdure/data-directories; echo looked"}
  call read-file {"path": "third/token"}
  call read-file {"path": ".local/share/perdure/token"}
  call grep {"pattern": "prd_|[A-Za-z0-9_-]{30}", "glob": "token"}

turn
  text done
`
	if err := os.WriteFile(filepath.Join(dir, "s.script"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	out := launch(t, dir, "run", "--model", "scripted/s.script", "--json", "go").wantEnd(0)
	for _, name := range []string{"d", "third", ".local/share/perdure"} {
		token, err := os.ReadFile(filepath.Join(dir, name, "token"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out, strings.TrimSpace(string(token))) {
			t.Errorf("the token in %s was read:\n%s", name, out)
		}
	}
	if !strings.Contains(out, "looked") {
		t.Errorf("the command did not run:\n%s", out)
	}
}
