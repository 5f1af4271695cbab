package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The tools of a run can read neither the token of another server of their user, whatever its data
// directory, nor the list of those directories.
func TestToolsKeepOutOfOtherDataDirectories(t *testing.T) {
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

// The list has each existing directory except the own one, once and with its real path.
func TestListOfDataDirectories(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	make := func(name string) string {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one, two, gone := make("one"), make("two"), make("gone")
	link := filepath.Join(home, "link")
	if err := os.Symlink(two, link); err != nil {
		t.Fatal(err)
	}
	byDefault := make(".local/share/perdure")
	for _, data := range []string{one, two, link, gone, byDefault} {
		listData(data)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	got := slices.DeleteFunc(otherData(one), func(path string) bool { return path == systemData })
	want := []string{byDefault, dataList(), two}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if entries, err := os.ReadDir(dataList()); err != nil || len(entries) != 3 {
		t.Errorf("entries %v, err %v", entries, err)
	}
}
