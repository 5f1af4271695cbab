package tool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecretsWithTwoNamesAreTold checks a secret file that has a second hard link. A note says that
// commands can read the file by its second name. If confinement is required, OpenWorkspace returns
// an error.
func TestSecretsWithTwoNamesAreTold(t *testing.T) {
	dir, data := layout(t, "data")
	secret, second := filepath.Join(filepath.Dir(dir), "key"), filepath.Join(filepath.Dir(dir), "beside", "second")
	put(t, secret, "top secret")
	o := WorkspaceOptions{DataDir: data, Secrets: []string{secret}}
	if note := openDir(t, dir, o).ConfinementNote(); strings.Contains(note, "names") {
		t.Errorf("one name: %s", note)
	}
	if err := os.Link(secret, second); err != nil {
		t.Fatal(err)
	}
	if note := openDir(t, dir, o).ConfinementNote(); !strings.Contains(note, secret+" has 2 names") {
		t.Errorf("two names: %q", note)
	}
	o.Confine = ConfineRequire
	if _, err := OpenWorkspace(dir, "", o); err == nil || !strings.Contains(err.Error(), "secrets: "+secret+" has 2 names") {
		t.Errorf("err = %v", err)
	}
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	openDir(t, dir, o)
	token := filepath.Join(data, "token")
	if err := os.Link(token, second); err != nil {
		t.Fatal(err)
	}
	if note := openDir(t, dir, o).ConfinementNote(); !strings.Contains(note, token+" has 2 names") {
		t.Errorf("in the data directory: %q", note)
	}
}
