package postgres_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/internal/store/postgres"
)

// called returns the URL of a database with an application name and a lock timeout of 100 ms.
func called(t *testing.T, name string) string {
	t.Helper()
	u, err := url.Parse(opentest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("application_name", name)
	q.Set("lock_timeout", "100ms")
	u.RawQuery = q.Encode()
	return u.String()
}

// TestCopiesAndServersKeepEachOtherOut checks that a copy is refused while a server uses the
// database, and a server during a copy, even if the URL sets the application name.
func TestCopiesAndServersKeepEachOtherOut(t *testing.T) {
	to := called(t, "perdure-prod")
	s, err := postgres.Open(t.Context(), postgres.Options{URL: to})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AnyKey(t.Context()); err != nil { // this read opens a connection
		t.Fatal(err)
	}
	if _, err := postgres.OpenTarget(t.Context(), to); !perdure.IsCode(err, perdure.Conflict) || !strings.Contains(err.Error(), "a server uses this database") {
		t.Errorf("a copy beside a server gave %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var copying *postgres.Target
	unlocked(t, "a server uses", func() error { copying, err = postgres.OpenTarget(t.Context(), to); return err })
	late, err := postgres.Open(t.Context(), postgres.Options{URL: to})
	if err == nil { // a store may open its connections only with its first query
		_, err = late.AnyKey(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "a copy into this database is under way") {
		t.Errorf("a server beside a copy gave %v", err)
	}
	if err := copying.Close(); err != nil {
		t.Fatal(err)
	}
	if late != nil {
		unlocked(t, "a copy into", func() error { _, err := late.AnyKey(t.Context()); return err })
		if err := late.Close(); err != nil {
			t.Error(err)
		}
	}
}

// unlocked calls `do` until it succeeds, because the database notices only after a while that a
// connection was closed. An error of `do` without the text `says` fails the test.
func unlocked(t *testing.T, says string, do func() error) {
	t.Helper()
	for {
		err := do()
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), says) {
			t.Fatal(err)
		}
	}
}
