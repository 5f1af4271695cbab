package postgres

import (
	"context"
	"os"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/postgres/postgrestest"
	"github.com/perdure/perdure/internal/store/storetest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	code := postgrestest.Main(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

func migrated(ctx context.Context, url string) error {
	_, _, err := Migrate(ctx, url)
	return err
}

// emptyDatabase returns the URL of a database with tables for this test.
func emptyDatabase(t testing.TB) string {
	t.Helper()
	return postgrestest.Database(t, migrated)
}

// open opens a store and closes it when the test ends.
func open(t testing.TB, o Options) *Store {
	t.Helper()
	if o.URL == "" {
		o.URL = emptyDatabase(t)
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

// TestConformance checks that the store fulfills its contract when even single rows use the
// statements for many rows. The tests of the engine use the statements for single rows.
func TestConformance(t *testing.T) {
	longtest.Checks(t, 10, 50) // SQLite's tests check the same properties more often
	storetest.Run(t, func(t *testing.T) store.Store {
		s := open(t, Options{Committers: 2})
		s.db.grouped.Single = true
		return s
	})
}

// TestConformancePlain checks that a store without optimizations behaves like one with them.
func TestConformancePlain(t *testing.T) {
	longtest.Checks(t, 5, 20)
	storetest.RunSample(t, 4, func(t *testing.T) store.Store { return open(t, Options{Committers: 2, Plain: true}) })
}

func TestDurable(t *testing.T) {
	for _, plain := range []bool{false, true} {
		url := emptyDatabase(t)
		storetest.Durable(t, func() store.Store {
			s, err := Open(t.Context(), Options{URL: url, Plain: plain})
			if err != nil {
				t.Fatal(err)
			}
			return s
		})
	}
}
