package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Texts checks that a query finds the same executions whether their texts are indexed or not. The
// store must examine at most 40 executions for each page. The function `fill` must index all texts
// that can be indexed, and nothing else may index texts. Texts returns the ids of the executions
// that it has created, oldest first.
func Texts(t *testing.T, s store.Store, fill func()) []uuid.UUID {
	f := &fixture{T: t, s: s, ctx: t.Context()}
	var all []uuid.UUID
	known := map[string]uuid.UUID{}
	for i := range 600 {
		id := f.start(func(x *perdure.Execution) {
			x.CreatedAt, x.Kind = milestone(int64(i)), "agent"
			x.Input = json.RawMessage(fmt.Sprintf(`{"userPrompt":"Plain text %d"}`, i))
			switch i {
			case 10, 300, 590:
				x.Input = json.RawMessage(`{"userPrompt":"a NEEDLE, \"Grüße\""}`)
			case 20:
				x.PersistenceMode, x.Input = perdure.Local, json.RawMessage(`"a needle"`)
			case 30:
				x.Org, x.Input = "other", json.RawMessage(`"a needle"`)
			case 40:
				x.Kind = "Needles"
			case 50:
				x.Input = append([]byte(`"`), append(slices.Repeat([]byte("j"), 40_000), ` a needle"`...)...)
			case 60:
				x.Input = append([]byte(`"first words `), append(slices.Repeat([]byte("j"), 40_000), '"')...)
			}
		})
		known[fmt.Sprint(i)] = id
		all = append(all, id)
	}
	check := func(when string, most int) {
		t.Helper()
		for query, want := range map[string][]string{
			"needle": {"590", "300", "40", "10"}, `"grüße"`: {"590", "300", "10"}, "edles": {"40"}, "first words j": {"60"}, "text 77\"": {"77"},
			known["123"].String(): {"123"}, known["123"].String()[9:23]: {"123"}, "nobody says so": nil,
		} {
			n := 0
			var got []uuid.UUID
			for _, x := range pages(f, 20, func(cursor string, limit int) (store.Page[*perdure.Execution], error) {
				n++
				return s.Executions(f.ctx, org, store.ExecutionFilter{Query: query, Cursor: cursor, Limit: limit})
			}) {
				got = append(got, x.ID)
			}
			f.equal(fmt.Sprintf("%s, the list by %q", when, query), names(known, got), want)
			if n > most {
				t.Errorf("%s, the list by %q has %d pages, want at most %d", when, query, n, most)
			}
		}
	}
	check("not indexed", 50)
	fill()
	check("indexed", 26) // only full blocks of 256 executions are indexed, so up to 255 are not
	return all
}

// Prune deletes executions like a sweep of a server. It first marks all of the executions as
// deleted, and then deletes their rows.
func Prune(t *testing.T, s store.Store, ids ...uuid.UUID) {
	f := &fixture{T: t, s: s, ctx: t.Context()}
	for _, p := range []store.Prune{{Execution: true}, {Rows: 1000}} {
		for _, id := range ids {
			f.change(id, func(*store.State) *store.Changes { return &store.Changes{Prune: &p} })
		}
	}
}
