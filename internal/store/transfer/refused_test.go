package transfer

import (
	"context"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/postgres"
	"github.com/perdure/perdure/internal/store/sqlite"
)

// TestADifferenceIsFound checks that a copy fails if a row of the target is changed, missing or
// additional. Servers must then be able to open the source, but not the target.
func TestADifferenceIsFound(t *testing.T) {
	for name, query := range map[string]string{
		"a changed byte": "UPDATE agent_entry SET content = content || '\\x00'::bytea WHERE content IS NOT NULL",
		"a lost row":     "DELETE FROM log_record WHERE pos = (SELECT max(pos) FROM log_record)",
		"a row too many": "INSERT INTO retention (org_id, executions, checkpoints, logs) VALUES ('another', 0, 0, 0)",
	} {
		t.Run(name, func(t *testing.T) {
			from, to := filled(t), target(t)
			o, spoiled := options(from, to), false
			o.Told = func(p Progress) {
				// The comparison reports its first progress after all rows were copied.
				if p.Step == StepCompare && !spoiled {
					spoiled = true
					run(t, to, query)
				}
			}
			_, err := Copy(t.Context(), o)
			wantCode(t, err, perdure.Internal, "are not those of the source")
			_, err = postgres.Open(t.Context(), postgres.Options{URL: to})
			wantCode(t, err, perdure.Conflict, "not finished")
			epochOf(t, from) // a server can open the source
		})
	}
}

func TestCopiesThatAreRefused(t *testing.T) {
	t.Run("the source is in use", func(t *testing.T) {
		from := filled(t)
		s, err := sqlite.Open(t.Context(), sqlite.Options{Path: from})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, err = Copy(t.Context(), options(from, target(t)))
		wantCode(t, err, perdure.Unavailable, "in use")
	})
	t.Run("something is stored in the target", func(t *testing.T) {
		to := target(t)
		run(t, to, "INSERT INTO retention (org_id, executions, checkpoints, logs) VALUES ('o', 0, 0, 0)")
		from := filled(t)
		_, err := Copy(t.Context(), options(from, to))
		wantCode(t, err, perdure.Conflict, "something is stored")
		epochOf(t, from) // a server can open the source
	})
	t.Run("a server uses the target", func(t *testing.T) {
		to := target(t)
		u, err := url.Parse(to) // the URL may set the application name
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set("application_name", "perdure-prod")
		u.RawQuery = q.Encode()
		s, err := postgres.Open(t.Context(), postgres.Options{URL: u.String()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.AnyKey(t.Context()); err != nil { // this read opens a connection
			t.Fatal(err)
		}
		_, err = Copy(t.Context(), options(filled(t), to))
		wantCode(t, err, perdure.Conflict, "a server uses this database")
	})
	t.Run("another copy is under way", func(t *testing.T) {
		to := target(t)
		o, asked := options(filled(t), to), false
		o.Told = func(p Progress) {
			if p.Step == StepCompare && !asked {
				asked = true
				_, err := Copy(t.Context(), options(filled(t), to))
				wantCode(t, err, perdure.Conflict, "another copy")
			}
		}
		if _, err := Copy(t.Context(), o); err != nil {
			t.Error(err)
		}
	})
	t.Run("an unfinished copy of another store is there", func(t *testing.T) {
		to := target(t)
		ctx, cancel := context.WithCancel(t.Context())
		first := filled(t)
		alter(t, first, "UPDATE store SET created_at = 4711")
		o := options(first, to)
		o.Told = func(Progress) { cancel() }
		if _, err := Copy(ctx, o); err == nil {
			t.Fatal("the copy was not interrupted")
		}
		_, err := Copy(t.Context(), options(filled(t), to))
		wantCode(t, err, perdure.Conflict, "another store")
	})
	t.Run("a text that PostgreSQL cannot hold", func(t *testing.T) {
		from := filled(t)
		alter(t, from, "UPDATE durable_stream SET path = 'a' || char(0) || 'b' WHERE length(path) > 0")
		_, err := Copy(t.Context(), options(from, target(t)))
		wantCode(t, err, perdure.InvalidArgument, "the row of durable_stream with number 1 has a zero byte")
		epochOf(t, from) // a server can open the source
	})
	t.Run("no database", func(t *testing.T) {
		_, err := Copy(t.Context(), options(filepath.Join(t.TempDir(), "x.db"), "postgres://x@127.0.0.1:1/x"))
		wantCode(t, err, perdure.Unavailable, "cannot be reached")
	})
}
