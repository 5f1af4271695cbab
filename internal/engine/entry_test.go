package engine

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

func (h *holder) append(entries ...perdure.NewEntry) perdure.CommitReply {
	h.Helper()
	return h.commit(func(c *perdure.Commit) { c.Entries = entries })
}

func (h *holder) refuse(code perdure.Code, entries ...perdure.NewEntry) *perdure.Error {
	h.Helper()
	_, err := h.try(func(c *perdure.Commit) { c.Entries = entries })
	h.wantCode(err, code)
	coded, ok := err.(*perdure.Error)
	if !ok {
		h.Fatalf("the error is a %T", err)
	}
	return coded
}

func TestEntryKeyIsAppendedOnce(t *testing.T) {
	b := newBench(t)
	h := b.started()
	first := user(nil, "hello")
	first.Key = "signal:s1"
	h.append(first)
	// The function is entered again and appends the same message with a new id. The entry that is
	// stored with the same key is used instead, also as the parent of the next entry.
	again := user(&first.ID, "hello")
	again.Key = "signal:s1"
	next := calling(&again.ID)
	reply := h.append(again, next)
	if reply.Adopted[again.ID] != first.ID {
		t.Errorf("adopted: %v, want %s for %s", reply.Adopted, first.ID, again.ID)
	}
	path := b.pathOf(b.execution(h.id).Leaf, h.id)
	if len(path) != 2 || path[0].ID != first.ID || path[1].ID != next.ID {
		t.Errorf("the path is %+v", path)
	}
	// If two entries of one commit have the same key, only the first is stored.
	one, two := user(&next.ID, "x"), user(&next.ID, "x")
	one.Key, two.Key = "k", "k"
	if reply = h.append(one, two); reply.Adopted[two.ID] != one.ID {
		t.Errorf("adopted: %v", reply.Adopted)
	}
	if n := b.count(h.id, perdure.EventEntry); n != 3 {
		t.Errorf("%d entries, want 3", n)
	}
}

func TestSameIDIsTheSameEntryOrAnError(t *testing.T) {
	b := newBench(t)
	h := b.started()
	e := user(nil, "hello")
	keyed := user(&e.ID, "keyed")
	keyed.Key = "k"
	h.append(e, keyed)
	h.append(e) // a repeat changes nothing
	if n := b.count(h.id, perdure.EventEntry); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
	for _, stored := range []perdure.NewEntry{e, keyed} {
		other := user(stored.ParentID, "something else")
		other.ID, other.Key = stored.ID, stored.Key
		h.refuse(perdure.AlreadyExists, other)
		role := calling(stored.ParentID)
		role.ID, role.Content, role.Key = stored.ID, stored.Content, stored.Key
		h.refuse(perdure.AlreadyExists, role)
	}
}

func TestParentMustBeInTheExecution(t *testing.T) {
	b := newBench(t)
	other := b.started()
	foreign := user(nil, "of another execution")
	other.append(foreign)
	h := b.started()
	if err := h.refuse(perdure.InvalidArgument, user(&foreign.ID, "hello")); len(err.Fields) != 1 || !strings.HasSuffix(err.Fields[0].Location, ".parentId") {
		t.Errorf("the error names %+v", err.Fields)
	}
	// An entry's parent may come earlier in the same commit, but not later.
	one, self := user(nil, "one"), user(nil, "self")
	two := calling(&one.ID)
	h.refuse(perdure.InvalidArgument, two, one)
	self.ParentID = &self.ID
	h.refuse(perdure.InvalidArgument, self)
	h.append(one, two)
	h.refuse(perdure.InvalidArgument, user(nil, "a second root"))
	// An entry may have the same id as an entry of another execution.
	foreign.ParentID = &two.ID
	h.append(foreign)
	other.commit(completing())
}

func TestTranscriptIsAlwaysValid(t *testing.T) {
	b := newBench(t)
	h := b.started()
	hello := user(nil, "hello")
	calls := calling(&hello.ID, "c1", "c2")
	h.append(hello, calls)
	twice := answering(&calls.ID, "c1")
	record := perdure.NewEntry{Entry: perdure.Entry{ID: uuid.New(), ParentID: &calls.ID, Type: perdure.EntryLLMCall, Metadata: []byte(`{}`)}}
	for name, entries := range map[string][]perdure.NewEntry{
		"a message before the answers": {user(&calls.ID, "hey")},
		"an assistant before them":     {calling(&calls.ID)},
		"an answer to nothing":         {answering(&calls.ID, "c3")},
		"an answer given twice":        {twice, answering(&twice.ID, "c1")},
		"an unknown role":              {message(&calls.ID, perdure.Message{Role: "wizard", Content: perdure.Content{Parts: []perdure.Part{}}})},
		"a user that calls tools":      {message(&hello.ID, perdure.Message{Role: perdure.RoleUser, Content: contentOf(t, calling(nil, "x"))})},
		"two calls of one id":          {calling(&hello.ID, "x", "x")},
		"a child of a record":          {record, user(&record.ID, "hey")},
		"content that is none":         {func() perdure.NewEntry { e := user(&hello.ID, ""); e.Content = []byte(`"text"`); return e }()},
		"no content":                   {func() perdure.NewEntry { e := user(&hello.ID, ""); e.Content = nil; return e }()},
		"a call inside a result": {message(&calls.ID, perdure.Message{Role: perdure.RoleToolResult, Content: perdure.Content{Parts: []perdure.Part{
			{Type: perdure.PartToolResult, ToolCallID: "c1", Parts: contentOf(t, calling(nil, "x")).Parts},
		}}})},
		"calls that the content has not": {func() perdure.NewEntry { e := calling(&hello.ID); e.Calls = []string{"z"}; return e }()},
	} {
		err := h.refuse(perdure.InvalidTranscript, entries...)
		culprit := entries[len(entries)-1].ID.String()
		if len(err.Fields) != 1 || !strings.HasPrefix(err.Fields[0].Location, "entries."+culprit) || !strings.Contains(err.Message, culprit) {
			t.Errorf("%s: the error does not name the entry %s: %+v", name, culprit, err)
		}
	}
	// Results may come in any order. An entry that records a model call is not on the path.
	a2 := answering(&calls.ID, "c2")
	a1 := answering(&a2.ID, "c1")
	h.append(record, a2, a1, user(&a1.ID, "thanks"))
	// An entry with a parent before the calls begins a branch, on which there are no open calls.
	h.append(user(&hello.ID, "another way"))
}

func contentOf(t *testing.T, e perdure.NewEntry) perdure.Content {
	t.Helper()
	m, err := e.Message()
	if err != nil {
		t.Fatal(err)
	}
	return m.Content
}

// TestEveryEndClosesTheTranscript checks that every end of an execution appends a result for each
// open call, in the order of the calls.
func TestEveryEndClosesTheTranscript(t *testing.T) {
	longtest.Skip(t, "seconds")
	ends := map[string]struct {
		end    func(*holder)
		status perdure.Status
		says   string
	}{
		"complete": {func(h *holder) { h.commit(completing()) }, perdure.StatusCompleted, "failed"},
		"fail":     {func(h *holder) { h.commit(func(c *perdure.Commit) { c.Outcome.Kind = perdure.OutcomeFail }) }, perdure.StatusFailed, "failed"},
		"cancelled": {
			func(h *holder) { h.commit(func(c *perdure.Commit) { c.Outcome.Kind = perdure.OutcomeCancelled }) }, perdure.StatusCancelled, "cancelled",
		},
		"cancel while it waits": {func(h *holder) {
			h.suspend(perdure.WaitSignal("x"))
			h.cancel()
		}, perdure.StatusCancelled, "cancelled"},
		"cancel overdue": {func(h *holder) {
			h.cancel()
			h.clock.advance(h.e.CancelGrace)
			h.sweep()
		}, perdure.StatusCancelled, "cancelled"},
		"panics": {func(h *holder) {
			for range 3 {
				h.must(h.d.Release(h.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: h.claim.Lease, Panic: "boom"}}}))
				if h.execution(h.id).Status == perdure.StatusPending {
					h = h.rests()
				}
			}
		}, perdure.StatusFailed, "failed"},
		"crash loop": {func(h *holder) { h.crash(10) }, perdure.StatusFailed, "failed"},
		"cancel while it is pending": {func(h *holder) {
			h.must(h.d.Release(h.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: h.claim.Lease}}}))
			h.cancel()
		}, perdure.StatusCancelled, "cancelled"},
		"cancelled, then given back": {func(h *holder) {
			h.cancel()
			h.must(h.d.Release(h.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: h.claim.Lease}}}))
		}, perdure.StatusCancelled, "cancelled"},
		"cancelled, then lost": {func(h *holder) {
			h.cancel()
			h.crash(1)
		}, perdure.StatusCancelled, "cancelled"},
		"cancelled, then its process ends": {func(h *holder) {
			h.cancel()
			h.must(h.e.ReturnEmbedded(h.Context()))
		}, perdure.StatusCancelled, "cancelled"},
		"complete while cancelling": {func(h *holder) {
			h.cancel()
			h.commit(completing())
		}, perdure.StatusCancelled, "cancelled"},
	}
	for name, test := range ends {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.d = b.e.Dispatch(org, true)
			h := b.started()
			hello := user(nil, "hello")
			calls := calling(&hello.ID, "c1", "c2", "c3")
			answer := answering(&calls.ID, "c2")
			h.commit(func(c *perdure.Commit) {
				c.Entries = []perdure.NewEntry{hello, calls, answer}
				c.Tasks = []perdure.NewTask{h.newTask("1")}
			})
			test.end(h)
			x := b.wantStatus(h.id, test.status)
			path := b.pathOf(x.Leaf, h.id)
			var answered []string
			for _, e := range path {
				if e.Role == perdure.RoleToolResult {
					answered = append(answered, e.Answers)
				}
			}
			if !slices.Equal(answered, []string{"c2", "c1", "c3"}) {
				t.Errorf("answered: %v", answered)
			}
			if !bytes.Contains(path[len(path)-1].Content, []byte(test.says)) {
				t.Errorf("the last answer is %s, want it to say %q", path[len(path)-1].Content, test.says)
			}
			// The commit that ends the execution also stores an event for each of these results.
			var told []string
			for _, r := range b.log(h.id) {
				if r.Type == perdure.EventData && r.CreatedAt == *x.CompletedAt && strings.Contains(string(r.Fields), `"type":"tool_call_end"`) {
					told = append(told, r.Place.ToolCallID)
				}
			}
			if !slices.Equal(told, []string{"c1", "c3"}) {
				t.Errorf("the log tells of the ends of %v", told)
			}
		})
	}
}

// TestIDsBelongToTheirExecution checks that ids and keys of entries, and ids of signals, can be the
// same in two executions.
func TestIDsBelongToTheirExecution(t *testing.T) {
	b := newBench(t)
	one, two := b.started(), b.started()
	for text, h := range map[string]*holder{"of the first": one, "of the second": two} {
		e := user(nil, text)
		e.ID, e.Key = uuid.UUID{1}, "k"
		if reply := h.append(e); len(reply.Adopted) != 0 {
			t.Errorf("the entry %s was taken for another's: %v", text, reply.Adopted)
		}
		b.signal(h.id, "m", "s1")
	}
	for text, h := range map[string]*holder{"of the first": one, "of the second": two} {
		path := b.pathOf(b.execution(h.id).Leaf, h.id)
		if len(path) != 1 || !strings.Contains(string(path[0].Content), text) {
			t.Errorf("the path %s is %+v", text, path)
		}
		if n := b.count(h.id, perdure.EventSignal); n != 1 {
			t.Errorf("%d signals %s", n, text)
		}
	}
	one.commit(func(c *perdure.Commit) { c.Take = []string{"s1"} })
	signals, err := b.d.Signals(t.Context(), two.id, nil, 0, 10)
	b.must(err)
	wantIDs(t, "the second's signals", signals, "s1")
}

// TestEntryHangsOnAnAdoptedOneThatIsNoLeaf checks that a stored entry replaces a new entry with the
// same key. The next new entry becomes a child of the stored entry, even if that is not the leaf of
// the conversation.
func TestEntryHangsOnAnAdoptedOneThatIsNoLeaf(t *testing.T) {
	b := newBench(t)
	h := b.started()
	first := user(nil, "first")
	first.Key = "input"
	second := user(&first.ID, "second")
	h.commit(func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{first, second} })
	again := user(nil, "first")
	again.Key = "input"
	other := user(&again.ID, "other")
	reply := h.commit(func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{again, other} })
	if reply.Adopted[again.ID] != first.ID {
		t.Errorf("adopted: %v", reply.Adopted)
	}
	path := b.pathOf(b.execution(h.id).Leaf, h.id)
	if len(path) != 2 || path[0].ID != first.ID || path[1].ID != other.ID {
		t.Errorf("the path is %v", path)
	}
}
