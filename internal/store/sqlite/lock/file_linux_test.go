package lock

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// TestTakeWaitsForADyingOwner checks that a file can be locked although another process, such as a
// child of a killed server, still has its lock for a moment.
func TestTakeWaitsForADyingOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perdure.db")
	synctest.Test(t, func(t *testing.T) {
		other, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := lockByte(other); err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(50 * time.Millisecond)
			other.Close()
		}()
		l, err := Take(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	})
}

// TestALockOfAnotherProcessIsSeen checks that Take returns unavailable while another process has
// locked the file. The test opens the file again, which is like another process for such locks.
func TestALockOfAnotherProcessIsSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perdure.db")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := lockByte(file); err != nil {
		t.Fatal(err)
	}
	if l, err := Take(path); !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("the file is locked: %v", err)
		if err == nil {
			_ = l.Release()
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}
