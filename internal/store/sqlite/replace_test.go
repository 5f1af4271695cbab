package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

// killed creates at path the store of a server that was killed. The store has an execution whose
// data is only in the log.
func killed(t *testing.T, path string) (held uuid.UUID) {
	t.Helper()
	held = uuid.New()
	live := filepath.Join(t.TempDir(), "perdure.db")
	s := open(t, Options{Path: live})
	if err := begin(t, s, held, nil); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(live + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range files {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(path+strings.TrimPrefix(from, live), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if log, err := os.Stat(path + "-wal"); err != nil || log.Size() == 0 {
		t.Fatalf("the killed server has left no log: %v", err)
	}
	return held
}

// backedUp creates a backup that contains an execution.
func backedUp(t *testing.T) (backup string, held uuid.UUID) {
	t.Helper()
	held = uuid.New()
	live := filepath.Join(t.TempDir(), "perdure.db")
	s, err := Open(t.Context(), Options{Path: live})
	if err != nil {
		t.Fatal(err)
	}
	if err := begin(t, s, held, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	backup = filepath.Join(t.TempDir(), "backup.db")
	if err := Backup(t.Context(), live, backup, silent); err != nil {
		t.Fatal(err)
	}
	return backup, held
}

// TestRestoreIsCutOffAnywhere checks a restore that is interrupted after each of its steps. The
// next Open must find the old store with its log, or the restored store without a log. In the
// second case, the old store must be kept with the data of its log.
func TestRestoreIsCutOffAnywhere(t *testing.T) {
	longtest.Skip(t, "seconds")
	backup, restored := backedUp(t)
	for cut := 0; ; cut++ {
		path := filepath.Join(t.TempDir(), "perdure.db")
		before := killed(t, path)
		part := path + ".part"
		if err := copyFile(backup, part); err != nil {
			t.Fatal(err)
		}
		over := replaceUpTo(t, part, path, cut)
		_, old := heldBy(t, path, before)
		_, fresh := heldBy(t, path, restored)
		if old == fresh || over && !fresh {
			t.Fatalf("cut off after %d calls: the old store is there %v, the restored one %v", cut, old, fresh)
		}
		replaced := replacedStores(t, path)
		if fresh != (len(replaced) == 1) {
			t.Fatalf("cut off after %d calls: %q are kept", cut, replaced)
		}
		if fresh {
			if _, kept := heldBy(t, replaced[0], before); !kept {
				t.Errorf("cut off after %d calls: the replaced store lacks what was in its log", cut)
			}
		}
		if over {
			return
		}
	}
}

// replaceUpTo executes the first steps of a replacement, at most `most` of them. It reports whether
// the replacement is then finished.
func replaceUpTo(t *testing.T, part, path string, most int) bool {
	t.Helper()
	coming, err := comingName(path)
	if err != nil {
		t.Fatal(err)
	}
	first := announce(part, coming)
	for n := range most {
		var s step
		if n < len(first) {
			s = first[n]
		} else if s, err = nextStep(path); err != nil || s == nil {
			return err == nil
		}
		if err := s(); err != nil {
			t.Fatal(err)
		}
		if n == len(first) { // OpenReadOnly and Backup must refuse the half replaced store
			if _, err := OpenReadOnly(t.Context(), path); !perdure.IsCode(err, perdure.Conflict) {
				t.Errorf("a look at what is half replaced gave %v", err)
			}
			if err := Backup(t.Context(), path, filepath.Join(t.TempDir(), "b"), silent); !perdure.IsCode(err, perdure.Conflict) {
				t.Errorf("a backup of what is half replaced gave %v", err)
			}
		}
	}
	return false
}

// replacedStores returns the paths of the main files of replaced stores.
func replacedStores(t *testing.T, path string) []string {
	t.Helper()
	files, err := filepath.Glob(path + replacedInfix + "*Z*")
	if err != nil {
		t.Fatal(err)
	}
	var stores []string
	for _, f := range files {
		if !strings.HasSuffix(f, "-wal") && !strings.HasSuffix(f, "-shm") && !strings.Contains(f, markInfix) {
			stores = append(stores, f)
		}
	}
	return stores
}

// TestEveryReplacedStoreIsKept checks that each of four quick restores keeps the replaced store
// under a separate name.
func TestEveryReplacedStoreIsKept(t *testing.T) {
	longtest.Skip(t, "seconds")
	backup, _ := backedUp(t)
	path := filepath.Join(t.TempDir(), "perdure.db")
	killed(t, path)
	for n := 1; n <= 4; n++ {
		if err := Restore(t.Context(), backup, path, true); err != nil {
			t.Fatal(err)
		}
		if kept := replacedStores(t, path); len(kept) != n {
			t.Fatalf("after %d restores %q are kept", n, kept)
		}
	}
}

// TestALeftLogIsNotTakenForANewOnes checks that a restore ignores a log that an interrupted restore
// has left beside the temporary file.
func TestALeftLogIsNotTakenForANewOnes(t *testing.T) {
	longtest.Skip(t, "seconds")
	backup, restored := backedUp(t)
	path := filepath.Join(t.TempDir(), "perdure.db")
	stale := killed(t, path+".part")
	if err := Restore(t.Context(), backup, path, false); err != nil {
		t.Fatal(err)
	}
	if _, has := heldBy(t, path, restored); !has {
		t.Error("what was in the backup is not there")
	}
	if _, has := heldBy(t, path, stale); has {
		t.Error("what a killed copy has left is there")
	}
}
