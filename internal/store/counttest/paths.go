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

// Paths checks that reading some entries of a path takes as many statements and rows for a path of
// 3000 entries as for one of 300. Each path has a branch.
func Paths(t *testing.T, s store.Store, r read.Reader) {
	var before []Reads
	for _, length := range []int{300, 3000} {
		c := conversation{T: t, s: s, id: begin(t, s)}
		c.grow(length)
		c.branch(length / 2) // the path has two segments
		costs := c.costs(r)
		if before != nil && !slices.Equal(costs, before) {
			t.Errorf("a path ten times as long costs %v, the short one %v", costs, before)
		}
		before = costs
		c.whole(r, 3*length/2)
	}
}

func begin(t *testing.T, s store.Store) uuid.UUID {
	t.Helper()
	id := uuid.New()
	_, err := s.Do(t.Context(), store.Command{Name: "test", Org: "org", Execution: id, Decide: func(st *store.State) (*store.Changes, error) {
		x := perdure.Execution{
			ID: id, Org: "org", Kind: "agent", Status: perdure.StatusPending, WakeReason: perdure.WakeStart, PersistenceMode: perdure.Remote,
			Queue: "default", Input: json.RawMessage(`{}`), Version: 1, CreatedAt: st.Now, UpdatedAt: st.Now, ReadyAt: st.Now,
		}
		head := st.Head
		head.Epoch = 7
		return &store.Changes{Execution: &x, Head: &head}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// conversation is an execution with the ids of the entries on its path, root first.
type conversation struct {
	*testing.T
	s   store.Store
	id  uuid.UUID
	all []uuid.UUID // ids of the entries on the path
}

// append stores n entries, the first one below `parent` and each other one below the previous one.
// It makes several commits: on a busy machine, one commit of thousands of entries takes so long that
// PostgreSQL ends the idle transaction.
func (c *conversation) append(parent *uuid.UUID, n int) {
	c.Helper()
	const most = 500
	for ; n > most; n -= most {
		c.commit(parent, most)
		last := c.leaf()
		parent = &last
	}
	c.commit(parent, n)
}

// commit stores n entries like append, in one commit. Below each third entry it also stores an LLM
// call entry, which is not on the path.
func (c *conversation) commit(parent *uuid.UUID, n int) {
	c.Helper()
	_, err := c.s.Do(c.Context(), store.Command{Name: "test", Org: "org", Execution: c.id, Decide: func(st *store.State) (*store.Changes, error) {
		ch, at := &store.Changes{Execution: st.Execution}, parent
		for i := range n {
			e := perdure.Entry{ID: uuid.New(), ParentID: at, Type: perdure.EntryMessage, Role: perdure.RoleUser, Content: json.RawMessage(`{"parts":[]}`), CreatedAt: st.Now}
			at = &e.ID
			ch.Entries = append(ch.Entries, store.Entry{Entry: e})
			c.all = append(c.all, e.ID)
			if i%3 == 0 {
				call := perdure.Entry{ID: uuid.New(), ParentID: at, Type: perdure.EntryLLMCall, Content: json.RawMessage(`{}`), CreatedAt: st.Now}
				ch.Entries = append(ch.Entries, store.Entry{Entry: call})
			}
		}
		st.Execution.EntryCount += int64(len(ch.Entries))
		st.Execution.Leaf = at
		return ch, nil
	}})
	if err != nil {
		c.Fatal(err)
	}
}

func (c *conversation) grow(n int) { c.append(nil, n) }

// branch appends as many entries as the path has, below the path's entry with the number `at`,
// counted from 1. The new entries become the end of the path.
func (c *conversation) branch(at int) {
	parent, n := c.all[at-1], len(c.all)
	c.all = c.all[:at]
	c.append(&parent, n)
}

func (c *conversation) leaf() uuid.UUID { return c.all[len(c.all)-1] }

// costs makes several reads: some entries, the length of the path and a common ancestor. It returns
// the cost of each read. It also checks the result of each read, and that the cost does not exceed
// a maximum.
func (c *conversation) costs(r read.Reader) (all []Reads) {
	c.Helper()
	for _, ask := range []struct {
		after  *uuid.UUID
		newest int
		want   int
	}{
		{newest: 10, want: 10}, {newest: 100, want: 100}, {want: 20}, {after: &c.all[40], want: 20}, {after: &c.all[len(c.all)-9], want: 8},
	} {
		counting, reads := Of(r)
		n := 0
		for _, err := range counting.Path(c.Context(), c.id, c.leaf(), ask.after, ask.newest, true) {
			if err != nil {
				c.Fatal(err)
			}
			if n++; n == ask.want {
				break
			}
		}
		if n != ask.want || reads.Rows > 2*ask.want+20 {
			c.Errorf("%d entries of a path cost %+v", n, *reads)
		}
		all = append(all, *reads)
	}
	counting, reads := Of(r)
	n, err := counting.PathLength(c.Context(), c.id, c.leaf())
	if err != nil || n != int64(len(c.all)) || reads.Rows != 1 {
		c.Errorf("a path of %d is counted as %d with %+v: %v", len(c.all), n, *reads, err)
	}
	counting, also := Of(r)
	if common, err := counting.CommonAncestor(c.Context(), c.id, c.leaf(), c.all[5]); err != nil || *common != c.all[5] || also.Rows > 8 {
		c.Errorf("the common ancestor is %v with %+v: %v", common, *also, err)
	}
	return append(all, *reads, *also)
}

// whole reads the whole path. It must have `want` entries, and reading it must take little more
// than `want` rows, with about 100 rows per statement.
func (c *conversation) whole(r read.Reader, want int) {
	c.Helper()
	counting, reads := Of(r)
	n := 0
	for _, err := range counting.Path(c.Context(), c.id, c.leaf(), nil, 0, true) {
		if err != nil {
			c.Fatal(err)
		}
		n++
	}
	if n != want || reads.Rows > want+20 || reads.Statements > 12+want/100 {
		c.Errorf("a path of %d entries costs %+v", n, *reads)
	}
}
