package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/counttest"
	"github.com/perdure/perdure/internal/store/opentest"
)

// TestStorePlainReachesTheStore checks a server on SQLite and on PostgreSQL. With StorePlain each
// command has its own transaction, and the server logs a warning. Without it, ten commands share one
// transaction.
func TestStorePlainReachesTheStore(t *testing.T) {
	longtest.Skip(t, "seconds")
	const n = 10
	for name, url := range map[string]string{"SQLite": "", "PostgreSQL": opentest.URL(t)} {
		for plain, want := range map[bool]int{true: n, false: 1} {
			var logged bytes.Buffer
			c := Config{Data: t.TempDir(), Store: url, StorePlain: plain, Logger: slog.New(slog.NewTextHandler(&logged, nil))}
			got := counttest.Transactions(t, n, func(o *store.Observer) store.Store {
				s, err := openStore(t.Context(), c, o, func(err error) { t.Error(err) })
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				})
				return s
			})
			if got != want {
				t.Errorf("%s, plain %t: %d commands were committed by %d transactions, want %d", name, plain, n, got, want)
			}
			if strings.Contains(logged.String(), "without its optimizations") != plain {
				t.Errorf("%s, plain %t: the server logs %q", name, plain, logged.String())
			}
		}
	}
}
