package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

// barrierText is the JSON of a compaction's barrier. The barrier says which earlier entries stay in
// the context and which are left out.
type barrierText struct {
	Pinned  []uuid.UUID       `json:"pinned"`
	LeftOut []perdure.LeftOut `json:"leftOut"`
}

// DamagedBarriers checks that an audit finds every kind of damage in the barrier of a compaction
// (see barrierText). The audit must report neither an intact barrier nor a row without a barrier.
// The function `execute` must execute an SQL statement in the store's database.
func DamagedBarriers(t *testing.T, s store.Store, execute func(query string)) {
	tr := (&fixture{T: t, s: s, ctx: t.Context()}).tree()
	chain := []uuid.UUID{tr.add(nil, perdure.EntryMessage)}
	for range 8 {
		chain = append(chain, tr.add(&chain[len(chain)-1], perdure.EntryMessage))
	}
	branch := tr.add(&chain[2], perdure.EntryMessage)
	compaction := tr.compact(chain[8], perdure.CompactionRange{Last: chain[5], KeepFrom: &chain[6], Pinned: []uuid.UUID{chain[0], chain[3]}})
	tr.must(tr.append(s, true, compaction))
	left := func(first, last uuid.UUID, n int) perdure.LeftOut {
		return perdure.LeftOut{First: first, Last: last, Entries: n, Why: perdure.LeftOutByCompaction, EntryID: compaction.ID}
	}
	whole := func(change func(*barrierText)) string {
		b := barrierText{
			Pinned:  []uuid.UUID{chain[0], chain[3]},
			LeftOut: []perdure.LeftOut{left(chain[1], chain[2], 2), left(chain[4], chain[5], 2)},
		}
		change(&b)
		text, err := json.Marshal(b)
		tr.must(err)
		return "'" + string(text) + "'"
	}
	same := func(*barrierText) {}
	for name, c := range map[string]struct {
		segment, depth, text, want string
	}{
		"whole":                    {"0", "7", whole(same), ""},
		"none":                     {"NULL", "NULL", "NULL", ""},
		"no text":                  {"0", "7", "NULL", "does not decode"},
		"cut text":                 {"0", "7", `'{"pinned":['`, "does not decode"},
		"no place":                 {"NULL", "NULL", whole(same), "not on its path"},
		"a place that is not":      {"0", "70", whole(same), "not on its path"},
		"the place of a branch":    {"1", "4", whole(same), "not on its path"},
		"a later place":            {"0", "8", whole(same), "there are 3"},
		"an earlier place":         {"0", "6", whole(same), "leaves out"},
		"a pinned entry too few":   {"0", "7", whole(func(b *barrierText) { b.Pinned = b.Pinned[:1] }), "leaves out"},
		"another pinned entry":     {"0", "7", whole(func(b *barrierText) { b.Pinned[1] = uuid.New() }), "is not on its path"},
		"a pinned one of a branch": {"0", "7", whole(func(b *barrierText) { b.Pinned[1] = branch }), "is not on its path"},
		"pinned out of order":      {"0", "7", whole(func(b *barrierText) { b.Pinned[0], b.Pinned[1] = b.Pinned[1], b.Pinned[0] }), "barrier"},
		"another pinned on the path": {"0", "7", whole(func(b *barrierText) {
			b.Pinned[1], b.LeftOut[0], b.LeftOut[1] = chain[2], left(chain[1], chain[1], 1), left(chain[3], chain[5], 3)
		}), "the record of the compaction"},
		"all pinned":         {"0", "1", `'{"pinned":[],"leftOut":[]}'`, "the record of the compaction"},
		"a range too few":    {"0", "7", whole(func(b *barrierText) { b.LeftOut = b.LeftOut[:1] }), "neither pinned nor left out"},
		"a range too many":   {"0", "7", whole(func(b *barrierText) { b.LeftOut = append(b.LeftOut, b.LeftOut[0]) }), "more than it covers"},
		"another count":      {"0", "7", whole(func(b *barrierText) { b.LeftOut[1].Entries = 3 }), "leaves out 3 entries"},
		"another compaction": {"0", "7", whole(func(b *barrierText) { b.LeftOut[1].EntryID = uuid.New() }), "leaves out"},
		"another first":      {"0", "7", whole(func(b *barrierText) { b.LeftOut[0].First = branch }), "are not the entries"},
		"another last":       {"0", "7", whole(func(b *barrierText) { b.LeftOut[0].Last = chain[1] }), "are not the entries"},
	} {
		execute(fmt.Sprintf("UPDATE agent_entry SET keep_segment = %s, keep_depth = %s, barrier = %s WHERE entry_type = 'compaction'", c.segment, c.depth, c.text))
		found, err := invariants.AuditorOf(s).AuditTree(t.Context(), tr.id)
		tr.must(err)
		text := strings.Join(found, "; ")
		if (c.want == "") != (text == "") || !strings.Contains(text, c.want) || c.want != "" && !strings.Contains(text, compaction.ID.String()) {
			t.Errorf("%s: the audit finds %q, want %q", name, text, c.want)
		}
	}
	execute(fmt.Sprintf("UPDATE agent_entry SET keep_segment = 0, keep_depth = 7, barrier = %s WHERE entry_type = 'compaction'", whole(same)))
}
