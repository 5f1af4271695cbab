// Package migrationtest checks rules for the migrations of a store.
package migrationtest

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// Unchanged checks that the migrations in `files` have not changed. The file at the path `sums` has
// a line for each migration: its SHA-256 and its name, as sha256sum prints them. A released
// migration may have run on a store, so it must never change. To change the tables, add a
// migration, and a line for it.
func Unchanged(t *testing.T, files fs.FS, sums string) {
	t.Helper()
	text, err := os.ReadFile(sums)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if sum, name, found := strings.Cut(strings.TrimSpace(line), "  "); found {
			want[name] = sum
		}
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d migrations: %v", len(names), err)
	}
	for _, name := range names {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		switch got := hex.EncodeToString(sum[:]); {
		case want[name] == "":
			t.Errorf("%s has no line in %s; its line is\n%s  %s", name, sums, got, name)
		case want[name] != got:
			t.Errorf("%s has changed since it landed; undo that, and add another migration", name)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is in %s, and there is no such migration", name, sums)
	}
}
