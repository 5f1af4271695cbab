package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTheNewestVersionIsFound checks that find returns the newest version, in numerical order, and
// fails if no version is installed.
func TestTheNewestVersionIsFound(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	folder := t.TempDir()
	if _, err := find(folder, "initdb"); err == nil {
		t.Error("something is found where nothing is")
	}
	for _, version := range []string{"9.6", "15", "100", "17"} {
		bin := filepath.Join(folder, version, "bin")
		if err := os.MkdirAll(bin, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bin, "initdb"), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if path, err := find(folder, "initdb"); err != nil || path != filepath.Join(folder, "100", "bin", "initdb") {
		t.Errorf("found %s, %v", path, err)
	}
}
