package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sqlite/sqlitetest"
	"github.com/perdure/perdure/internal/store/storetest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place creates the file of an empty store and returns its path.
func place(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "perdure.db")
	err := sqlitetest.Place(path, func(path string) error {
		s, err := Open(context.Background(), Options{Path: path})
		if err != nil {
			return err
		}
		return s.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// open opens a store and closes it when the test ends. If o has no path, the store is empty.
func open(t *testing.T, o Options) *Store {
	t.Helper()
	if o.Path == "" {
		o.Path = place(t)
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// TestTheClockIsTheMachines checks that the time of a new store differs from the machine's clock by
// at most a second.
func TestTheClockIsTheMachines(t *testing.T) {
	s := open(t, Options{})
	before := time.Now().Add(-time.Second)
	if now := s.Now(); now.Before(before) || now.After(time.Now().Add(time.Second)) {
		t.Errorf("the store's time is %s", now)
	}
}

func TestDurable(t *testing.T) {
	for _, plain := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "perdure.db")
		storetest.Durable(t, func() store.Store {
			s, err := Open(t.Context(), Options{Path: path, Plain: plain})
			if err != nil {
				t.Fatal(err)
			}
			return s
		})
	}
}
