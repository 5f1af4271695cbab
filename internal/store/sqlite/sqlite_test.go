package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a store at path and closes it when the test ends.
func open(t *testing.T, o Options) *Store {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "perdure.db")
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

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, Options{}) })
}

// TestConformanceOfWritesPutOff checks that deferred writes behave like immediate ones.
func TestConformanceOfWritesPutOff(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, Options{laterFrom: 1}) })
}

func TestDurable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perdure.db")
	storetest.Durable(t, func() store.Store {
		s, err := Open(t.Context(), Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
