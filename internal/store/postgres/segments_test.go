package postgres

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/counttest"
	"github.com/perdure/perdure/internal/store/storetest"
)

func TestPathsCostWhatTheyReturn(t *testing.T) {
	s := open(t, Options{URL: emptyDatabase(t)})
	counttest.Paths(t, s, s.Reader)
}

func placesIn(t *testing.T, url string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	rows, err := conn.Query(t.Context(), "SELECT concat_ws(' ', id, segment, depth) FROM agent_entry"+
		" UNION ALL SELECT concat_ws(' ', agent_execution_id, segment, base_segment, base_depth) FROM agent_segment ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	places, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return places
}

// TestEntriesFromBeforeArePlaced checks that the entries of an older database get the same places
// as new entries would. One of several servers that start at once computes them, also after an
// interruption.
func TestEntriesFromBeforeArePlaced(t *testing.T) {
	url := bare(t)
	s := open(t, Options{URL: url})
	check := storetest.Trees(t, s, 6, 600)
	want := placesIn(t, url)
	for what, before := range map[string]func(){
		"a version before":            func() { back(t, url, 42) },
		"an interruption in between":  func() { execute(t, url, interrupted) },
		"an interruption at the end":  func() { execute(t, url, "ALTER INDEX "+placesIndex+" RENAME TO "+placingIndex) },
		"nothing that has to be done": func() {},
	} {
		before()
		if look, err := OpenLook(t.Context(), url); what != "nothing that has to be done" && !perdure.IsCode(err, perdure.Conflict) {
			t.Errorf("%s: a look gives %v, %v", what, look, err)
		} else if err == nil {
			_ = look.Close()
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, _, err := Migrate(t.Context(), url); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		wg.Wait()
		if got := placesIn(t, url); !slices.Equal(got, want) {
			t.Fatalf("%s: %d places are not the %d that were there", what, len(got), len(want))
		}
	}
	s.pool.Reset()
	check(s)
}

// interrupted removes the places of one execution.
const interrupted = "ALTER INDEX " + placesIndex + " RENAME TO " + placingIndex + ";" +
	" UPDATE agent_entry SET segment = NULL, depth = NULL WHERE agent_execution_id = (SELECT min(id::text)::uuid FROM agent_execution);" +
	" DELETE FROM agent_segment WHERE agent_execution_id = (SELECT min(id::text)::uuid FROM agent_execution)"

// TestOlderServersInsertEntriesWithPlaces checks that entries that a server of the previous version
// inserts without places get them.
func TestOlderServersInsertEntriesWithPlaces(t *testing.T) {
	url := emptyDatabase(t)
	s := open(t, Options{URL: url})
	check := storetest.Trees(t, s, 3, 300)
	want := placesIn(t, url)
	execute(t, url, `DO $$ DECLARE columns TEXT; BEGIN
		CREATE TEMP TABLE made AS SELECT * FROM agent_entry ORDER BY number;
		DELETE FROM agent_entry; DELETE FROM agent_segment;
		SELECT string_agg(column_name, ', ') INTO columns FROM information_schema.columns
			WHERE table_schema = 'public' AND table_name = 'agent_entry' AND column_name NOT IN ('segment', 'depth');
		EXECUTE format('INSERT INTO agent_entry (%s) SELECT %s FROM made ORDER BY number', columns, columns);
	END $$`)
	if got := placesIn(t, url); !slices.Equal(got, want) {
		t.Errorf("%d places are not the %d that a new server gave", len(got), len(want))
	}
	check(s)
}
