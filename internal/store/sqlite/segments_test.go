package sqlite

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/counttest"
	"github.com/perdure/perdure/internal/store/storetest"
)

func TestPathsCostWhatTheyReturn(t *testing.T) {
	s := open(t, Options{})
	counttest.Paths(t, s, s.Reader)
}

// unplace converts the file to one of a version without places.
const unplace = "DROP INDEX " + placesIndex + "; DELETE FROM agent_segment; UPDATE agent_entry SET segment = NULL, depth = NULL"

// trees returns the path of a file with random trees, and the check of its paths.
func trees(t *testing.T, executions, entries int) (path string, check func(s *Store)) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "perdure.db")
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	sound := storetest.Trees(t, s, executions, entries)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path, func(s *Store) { sound(s) }
}

func execAll(t *testing.T, path, queries string) {
	t.Helper()
	db := connect(t, path)
	defer db.Close()
	for _, query := range strings.Split(queries, "; ") {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
}

func placesIn(t *testing.T, path string) []string {
	t.Helper()
	db := connect(t, path)
	defer db.Close()
	return append(texts(t, db, "SELECT hex(id) || ' ' || segment || ' ' || depth FROM agent_entry ORDER BY id"),
		texts(t, db, "SELECT hex(agent_execution_id) || ' ' || segment || ' ' || base_segment || ' ' || base_depth FROM agent_segment ORDER BY 1")...)
}

// TestEntriesFromBeforeArePlaced checks that the entries of an older store get the same places as
// new entries would.
func TestEntriesFromBeforeArePlaced(t *testing.T) {
	path, check := trees(t, 7, 400)
	want := placesIn(t, path)
	execAll(t, path, unplace)
	if _, err := OpenLook(t.Context(), path); !perdure.IsCode(err, perdure.Conflict) {
		t.Errorf("a look at entries without places gives %v", err)
	}
	s := open(t, Options{Path: path})
	check(s)
	if got := placesIn(t, path); !slices.Equal(got, want) {
		t.Errorf("%d places are not the %d that were there", len(got), len(want))
	}
}

// TestPlacingGoesOnAfterAnInterruption checks that places are written a few thousand at a time, and
// that an interruption loses no more than that.
func TestPlacingGoesOnAfterAnInterruption(t *testing.T) {
	path, check := trees(t, 2, 7000)
	want := placesIn(t, path)
	execAll(t, path, unplace)
	execAll(t, path, "CREATE TRIGGER stop BEFORE UPDATE ON agent_entry WHEN NEW.number = 12500 BEGIN SELECT RAISE(ABORT, 'stopped');END")
	if s, err := Open(t.Context(), Options{Path: path}); err == nil {
		t.Fatalf("%v opens", s.Close())
	}
	db := connect(t, path)
	placed := texts(t, db, "SELECT count(*) FROM agent_entry WHERE depth IS NOT NULL")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if n := placed[0]; n != "5000" && n != "7000" && n != "10000" && n != "12000" {
		t.Errorf("%s entries are placed when the start ends, want some thousands", n)
	}
	execAll(t, path, "DROP TRIGGER stop")
	s := open(t, Options{Path: path})
	check(s)
	if got := placesIn(t, path); !slices.Equal(got, want) {
		t.Errorf("%d places are not the %d that were there", len(got), len(want))
	}
}
