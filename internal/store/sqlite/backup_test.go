package sqlite

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

func silent(int64, int64) {}

// heldBy opens the store at path and checks its invariants. It returns the store's epoch, and
// whether the store contains the execution.
func heldBy(t *testing.T, path string, id uuid.UUID) (epoch uint64, has bool) {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	invariants.Check(t, s)
	_, err = s.Execution(t.Context(), "acme", id)
	return s.Epoch(), err == nil
}

// TestBackupOfAStoreInUse checks a backup that is made while the store is being written. The backup
// must contain an execution that was stored before the backup, have another epoch than the store,
// and be readable only by the owner of the file.
func TestBackupOfAStoreInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perdure.db")
	s := open(t, Options{Path: path})
	id := uuid.New()
	if err := begin(t, s, id, json.RawMessage(`"kept"`)); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := begin(t, s, uuid.New(), json.RawMessage(`"written meanwhile"`)); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	told := int64(0)
	backup := filepath.Join(t.TempDir(), "backup.db")
	err := Backup(t.Context(), path, backup, func(bytes, about int64) {
		if told = bytes; about < bytes {
			t.Errorf("%d bytes of about %d", bytes, about)
		}
	})
	close(stop)
	<-stopped
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(backup); err != nil || info.Mode().Perm() != 0o600 || info.Size() != told {
		t.Errorf("the backup is %v, %v; told were %d bytes", info, err, told)
	}
	if epoch, has := heldBy(t, backup, id); !has || epoch == s.Epoch() {
		t.Errorf("the backup has the epoch %d, the store %d; it has the execution: %v", epoch, s.Epoch(), has)
	}
}

func TestBackupsThatAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perdure.db")
	if err := Backup(t.Context(), path, path+".b", silent); !perdure.IsCode(err, perdure.NotFound) {
		t.Errorf("of no store: %v", err)
	}
	open(t, Options{Path: path})
	if err := os.WriteFile(path+".b", []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Backup(t.Context(), path, path+".b", silent); !perdure.IsCode(err, perdure.Conflict) {
		t.Errorf("over a file: %v", err)
	}
	if raw, err := os.ReadFile(path + ".b"); err != nil || string(raw) != "precious" {
		t.Errorf("the file is %q now, %v", raw, err)
	}
	if err := Backup(t.Context(), path, filepath.Join(path+".none", "b"), silent); !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("into a folder that is not there: %v", err)
	}
}

// TestRestore checks that a restored store contains the execution from before the backup, but not
// an execution from after the backup. Each restore must set a new epoch. A replaced store must be
// kept.
func TestRestore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perdure.db")
	before, after := uuid.New(), uuid.New()
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := begin(t, s, before, nil); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := Backup(t.Context(), path, backup, silent); err != nil {
		t.Fatal(err)
	}
	if err := begin(t, s, after, nil); err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{s.Epoch(): true}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Restore(t.Context(), backup, path, false); !perdure.IsCode(err, perdure.Conflict) {
		t.Errorf("over a store: %v", err)
	}
	if _, has := heldBy(t, path, after); !has {
		t.Error("what was refused has done something")
	}
	// SQLite must not use the old log of a killed server as the log of the restored store.
	if err := os.WriteFile(path+"-wal", []byte("stale"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Restore(t.Context(), backup, path, true); err != nil {
			t.Fatal(err)
		}
		epoch, _ := heldBy(t, path, after)
		if _, has := heldBy(t, path, before); !has {
			t.Error("what was in the backup is not there")
		}
		if _, has := heldBy(t, path, after); has {
			t.Error("what came after the backup is there")
		}
		if seen[epoch] {
			t.Error("the restored store has an epoch that was there before")
		}
		seen[epoch] = true
	}
	if kept, err := filepath.Glob(path + ".replaced-*"); err != nil || len(kept) == 0 {
		t.Errorf("the replaced store is gone, %v", err)
	}
}

func TestRestoresThatAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perdure.db")
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no store ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Restore(t.Context(), text, path, false); !perdure.IsCode(err, perdure.Internal) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("of no database: %v", err)
	}
	if err := Restore(t.Context(), text+".none", path, false); !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("of no file: %v", err)
	}
	used := filepath.Join(t.TempDir(), "perdure.db")
	if err := begin(t, open(t, Options{Path: used}), uuid.New(), nil); err != nil {
		t.Fatal(err)
	}
	if err := Restore(t.Context(), used, path, false); !perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), "store backup") {
		t.Errorf("of a store in use: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("something was restored")
	}
}
