package local

import (
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/disktest"
	lib "modernc.org/sqlite/lib"

	"github.com/perdure/perdure/internal/longtest"
)

// TestLossOfPowerAfterAFailedSync checks that a store reports a failed sync and stops. After a
// restart and a power failure, it has the contents that were stored before the failed sync, and
// those that were stored after the restart.
func TestLossOfPowerAfterAFailedSync(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	d := disktest.New(t, dir)
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	execution := uuid.New()
	if err := s.Name(t.Context(), execution, "before", []byte("before")); err != nil {
		t.Fatal(err)
	}
	d.Before(func(op disktest.Op) int32 {
		if op.Kind == disktest.Sync && op.File == contentsFile+"-wal" {
			return lib.SQLITE_IOERR_FSYNC
		}
		return lib.SQLITE_OK
	})
	if err := s.Name(t.Context(), execution, "lost", []byte("lost")); err == nil {
		t.Fatal("a write was answered that was not synced")
	}
	<-s.Failed()
	if s.Err() == nil {
		t.Error("nobody says why the store has failed")
	}
	d.Before(nil)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Name(t.Context(), execution, "after", []byte("after")); err != nil {
		t.Fatal(err)
	}
	image := t.TempDir()
	if err := d.Image(image, disktest.All, rand.New(rand.NewPCG(1, 2))); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	again := openStore(t, image)
	for _, name := range []string{"before", "after"} {
		if got, err := again.Named(t.Context(), execution, name); string(got) != name || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestAFileThatCannotBeWrittenFailsTheStore checks that a store stops if its file cannot be
// written.
func TestAFileThatCannotBeWrittenFailsTheStore(t *testing.T) {
	dir := t.TempDir()
	d := disktest.New(t, dir)
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	d.Before(func(op disktest.Op) int32 {
		if op.File == contentsFile {
			return lib.SQLITE_IOERR
		}
		return lib.SQLITE_OK
	})
	content := make([]byte, 1<<20)
	for n := byte(0); err == nil; n++ {
		if n == 100 {
			t.Fatal("the store goes on")
		}
		content[0] = n
		_, err = s.Put(t.Context(), uuid.New(), content)
	}
	<-s.Failed()
	d.Before(nil)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
