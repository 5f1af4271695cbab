package sqlite

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestLockFileWaitsForADyingOwner checks that a file can be locked although another process holds its
// lock for a moment, such as a child of a server that was killed.
func TestLockFileWaitsForADyingOwner(t *testing.T) {
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
		l, err := lockFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.release(); err != nil {
			t.Error(err)
		}
	})
}
