package admin

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// TestKeysAreListed checks that the list of keys shows the limits and the usage of each key. A key's
// name cannot control the terminal.
func TestKeysAreListed(t *testing.T) {
	var out bytes.Buffer
	a := &setup.App{Streams: terminal.Streams{Stdout: terminal.NewScreen(&out)}}
	at := perdure.Time{Time: time.Date(2026, 3, 4, 5, 6, 0, 0, time.Local)}
	id := uuid.Must(uuid.NewV7())
	keys := []*perdure.APIKey{
		{ID: id, Name: "shop\x1b[2J", Role: perdure.KeyClient, CreatedAt: at, Limits: perdure.KeyLimits{RequestsPerSecond: 20, MaxRunning: 5}, Use: &perdure.KeyUse{Running: 3}},
		{ID: id, Name: "old one", Role: perdure.KeyWorker, CreatedAt: at, RevokedAt: &at},
	}
	if err := printKeys(a, keys); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	when := at.Local().Format(terminal.TimeFormat)
	for i, want := range [][]string{
		{"ID", "ROLE", "MADE", "REVOKED", "REQUESTS/S", "RUNNING", "STORED", "NAME"},
		{id.String(), "client", when, "-", "20", "3 of 5", "shop"},
		{id.String(), "worker", when, when, "any", "0", "old one"},
	} {
		for _, word := range want {
			if !strings.Contains(lines[i], word) {
				t.Errorf("line %d lacks %q: %s", i, word, lines[i])
			}
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("a name controls the terminal: %q", out.String())
	}
}
