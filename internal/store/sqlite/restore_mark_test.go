package sqlite

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// TestRestoredStoreHasAnEpochOfItsOwn checks that a reopened store keeps its epoch, and that it
// gets another epoch if its file or its whole directory was restored from a copy, in five ways.
func TestRestoredStoreHasAnEpochOfItsOwn(t *testing.T) {
	longtest.Skip(t, "seconds")
	epochOf := func(t *testing.T, path string) uint64 {
		t.Helper()
		s, err := Open(t.Context(), Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return s.Epoch()
	}
	sh := func(t *testing.T, line string) {
		t.Helper()
		if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	for name, restore := range map[string]string{
		"the file, written over":            "cat '$backup/p.db' > '$data/p.db'",
		"the file, with its times":          "rm '$data'/p.db && cp -p '$backup/p.db' '$data/p.db'",
		"the directory, written over":       "cp -pr '$backup'/. '$data'",
		"the directory, made again":         "rm -r '$data' && cp -pr '$backup' '$data'",
		"the directory, under its old name": "mv '$data' '$data.old' && tar -C '$backup' -cf '$data.tar' . && mkdir '$data' && tar -C '$data' -xpf '$data.tar'",
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			vars := map[string]string{"data": filepath.Join(root, "data"), "backup": filepath.Join(root, "backup")}
			if err := os.Mkdir(vars["data"], 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(vars["data"], "p.db")
			first := epochOf(t, path)
			sh(t, os.Expand("cp -pr '$data' '$backup'", func(v string) string { return vars[v] }))
			if again := epochOf(t, path); again != first {
				t.Fatal("the store was opened again, and has another epoch")
			}
			sh(t, os.Expand(restore, func(v string) string { return vars[v] }))
			restored := epochOf(t, path)
			if restored == first {
				t.Error("the restored store has the epoch of the one that went on")
			}
			if again := epochOf(t, path); again != restored {
				t.Error("the restored store was opened again, and has another epoch")
			}
			if left, err := filepath.Glob(path + markInfix + "*"); err != nil || len(left) != 1 {
				t.Errorf("marks %v, %v; want one", left, err)
			}
		})
	}
}

// TestCrashWhileOpeningKeepsTheEpoch checks that a second mark, which a crash during Open may
// leave, does not change the epoch.
func TestCrashWhileOpeningKeepsTheEpoch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	first := s.Epoch()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// A server that dies while it opens the store leaves such a mark: its fingerprint is not in the
	// database yet.
	if err := makeFile(path + markInfix + "crashed"); err != nil {
		t.Fatal(err)
	}
	if again := open(t, Options{Path: path}); again.Epoch() != first {
		t.Error("the epoch is another one")
	}
}
