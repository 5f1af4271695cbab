package counttest

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/read"
)

// Contexts checks that reading the context of a conversation of 20,000 entries takes as many
// statements, rows and bytes as for 1,000 entries, if the newest compaction keeps the same number
// of entries. It reads the context at two leaves: the newest one, and an older one, after which the
// test has added a branch and a second compaction.
func Contexts(t *testing.T, s store.Store, r read.Reader) {
	const kept = 40
	var before []contextCost
	for _, length := range []int{1000, 20_000} {
		c := conversation{T: t, s: s, id: begin(t, s)}
		for c.grow(500); len(c.all) < length; {
			c.append(ptr(c.leaf()), 500)
		}
		c.compact(kept)
		old := c.leaf()
		c.append(&old, kept)
		c.branch(len(c.all) - 5)
		c.append(ptr(c.leaf()), kept)
		c.compact(kept)
		costs := []contextCost{c.context(r, c.leaf(), 2+kept), c.context(r, old, 2+kept)}
		if before != nil && !slices.Equal(costs, before) {
			t.Errorf("a context after %d entries costs %v, after fewer ones %v", length, costs, before)
		}
		before = costs
	}
}

func ptr[T any](v T) *T { return &v }

// contextCost is the cost of reading a context. Bytes is the size of the entries that were read.
type contextCost struct {
	Reads
	Bytes int
}

// compact appends a compaction that keeps the newest n entries. Its field Pinned contains the first
// entry of the conversation, so the context contains this entry in addition to the newest n
// entries.
func (c *conversation) compact(n int) {
	c.Helper()
	from := len(c.all) - n
	record := perdure.CompactionRecord{Last: c.all[from-1], KeepFrom: &c.all[from], Pinned: []uuid.UUID{c.all[0]}, Reason: perdure.CompactionManual}
	metadata, err := json.Marshal(record)
	if err != nil {
		c.Fatal(err)
	}
	_, err = c.s.Do(c.Context(), store.Command{Name: "test", Org: "org", Execution: c.id, Decide: func(st *store.State) (*store.Changes, error) {
		covers := record.Range()
		e := perdure.Entry{
			ID: uuid.New(), ParentID: ptr(c.leaf()), Type: perdure.EntryCompaction, Role: perdure.RoleUser, Metadata: metadata,
			Content: json.RawMessage(`{"parts":[]}`), CreatedAt: st.Now,
		}
		st.Execution.EntryCount++
		st.Execution.Leaf = &e.ID
		c.all = append(c.all, e.ID)
		return &store.Changes{Execution: st.Execution, Entries: []store.Entry{{Entry: e, Covers: &covers}}}, nil
	}})
	if err != nil {
		c.Fatal(err)
	}
}

// context reads the context at a leaf, and the entries that are left out of it. It checks that the
// context has `want` entries, and that the number of rows read is little more than that. It returns
// the cost.
func (c *conversation) context(r read.Reader, leaf uuid.UUID, want int) (cost contextCost) {
	c.Helper()
	counting, reads := Of(r)
	n := 0
	for e, err := range counting.ContextPath(c.Context(), c.id, leaf, nil, false) {
		if err != nil {
			c.Fatal(err)
		}
		n++
		cost.Bytes += len(e.Content) + len(e.Metadata)
	}
	left, err := counting.LeftOut(c.Context(), c.id, leaf)
	if err != nil || len(left) != 1 {
		c.Errorf("%v is left out: %v", left, err)
	}
	if cost.Reads = *reads; n != want || reads.Rows > want+20 || reads.Statements > 20 {
		c.Errorf("a context of %d entries, want %d, costs %+v", n, want, *reads)
	}
	return cost
}
