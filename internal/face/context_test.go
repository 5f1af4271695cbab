package face_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/facetest"
)

// begin starts an execution and claims it.
func (h *testServer) begin() *run {
	h.T.Helper()
	h.Start("")
	return h.Claim()
}

// compactSignals returns the values of the pending signals that ask for a compaction.
func (h *testServer) compactSignals(id uuid.UUID) (values []string) {
	h.T.Helper()
	signals, err := h.Worker.Signals(h.T.Context(), id, []string{perdure.CompactSignal}, 0, 10)
	if err != nil {
		h.T.Fatal(err)
	}
	for _, s := range signals {
		values = append(values, string(s.Value))
	}
	return values
}

// TestCompactSendsASignal checks that a request for a compaction sends a signal to the agent.
func TestCompactSendsASignal(t *testing.T) {
	h := open(t)
	r := h.begin()
	at := h.Path(r.ID, "/compact")
	var sent struct{ SignalID, Status string }
	h.Call("POST", at, "").Want(202, &sent)
	h.Call("POST", at, `{"instructions":"Keep the file names"}`).Want(202, &sent)
	if sent.SignalID == "" || sent.Status != "RUNNING" {
		t.Errorf("the reply is %+v", sent)
	}
	if diff := cmp.Diff([]string{`{}`, `{"instructions":"Keep the file names"}`}, h.compactSignals(r.ID)); diff != "" {
		t.Error(diff)
	}
	for body, field := range map[string]string{
		`{"instructions":"` + strings.Repeat("x", perdure.MaxCompactionInstructions+1) + `"}`: "instructions",
		`{"instructions":7}`:  "instructions",
		`{"Instructions":""}`: "Instructions",
		`{"model":"m"}`:       "model",
	} {
		h.Call("POST", at, body).Problem(400, perdure.InvalidArgument, field)
	}
	r.Complete()
	h.Call("POST", at, "").Problem(409, perdure.ExecutionEnded, "")
	h.Call("POST", h.Path(uuid.New(), "/compact"), "").Problem(404, perdure.NotFound, "")
}

// TestCompactNeedsAReactAgent checks that a request for a compaction is refused if the execution is
// not of the react agent. The error names the kind of the agent.
func TestCompactNeedsAReactAgent(t *testing.T) {
	h := open(t)
	var x perdure.Execution
	h.Call("POST", "/agent-executions", `{"kind":"anything"}`).Want(201, &x)
	p := h.Call("POST", h.Path(x.ID, "/compact"), "").Problem(409, perdure.Conflict, "")
	if !strings.Contains(p.Detail, "anything") || !strings.Contains(p.Detail, perdure.ReactKind) {
		t.Errorf("the error is %q", p.Detail)
	}
}

// TestCompactIsSentOncePerKey checks that a request that is repeated with its Idempotency-Key sends
// one signal. A different request with the same key is refused.
func TestCompactIsSentOncePerKey(t *testing.T) {
	h := open(t)
	r := h.begin()
	at := h.Path(r.ID, "/compact")
	var first, again struct{ SignalID string }
	h.Call("POST", at, `{"instructions":"a"}`, "Idempotency-Key", "k").Want(202, &first)
	h.Call("POST", at, ` {"instructions" : "a"} `, "Idempotency-Key", "k").Want(202, &again)
	if first != again || len(h.compactSignals(r.ID)) != 1 {
		t.Errorf("%q and %q, %d signals", first.SignalID, again.SignalID, len(h.compactSignals(r.ID)))
	}
	h.Call("POST", at, `{"instructions":"b"}`, "Idempotency-Key", "k").Problem(422, perdure.IdempotencyKeyReused, "")
	h.Call("POST", at, "", "Idempotency-Key", "k").Problem(422, perdure.IdempotencyKeyReused, "")
	other := h.Start("")
	h.Call("POST", h.Path(other.ID, "/compact"), `{"instructions":"a"}`, "Idempotency-Key", "k").Problem(422, perdure.IdempotencyKeyReused, "")
}

// TestCompactSignalsAreChecked checks that the signal that requests a compaction is checked like a
// request to .../compact, whether its value is in the request or was uploaded before.
func TestCompactSignalsAreChecked(t *testing.T) {
	h := open(t)
	x := h.Start("")
	at := h.Path(x.ID, "/signal")
	refer := func(value string) reply {
		t.Helper()
		var c struct{ BlobID uuid.UUID }
		h.Call("PUT", h.Path(x.ID, "/content"), value).Want(200, &c)
		return h.Call("POST", at, fmt.Sprintf(`{"signalName":%q,"signalValueRef":{"blobId":%q}}`, perdure.CompactSignal, c.BlobID))
	}
	for value, field := range map[string]string{
		`7`: "signalValue", `"x"`: "signalValue", `[]`: "signalValue",
		`{"instructions":7}`: "signalValue.instructions", `{"Instructions":"x"}`: "signalValue.Instructions", `{"last":"x"}`: "signalValue.last",
		`{"instructions":"` + strings.Repeat("x", perdure.MaxCompactionInstructions+1) + `"}`: "signalValue.instructions",
	} {
		h.Call("POST", at, fmt.Sprintf(`{"signalName":%q,"signalValue":%s}`, perdure.CompactSignal, value)).Problem(400, perdure.InvalidArgument, field)
		refer(value).Problem(400, perdure.InvalidArgument, field)
	}
	if got := h.compactSignals(x.ID); len(got) != 0 {
		t.Errorf("%d signals are stored", len(got))
	}
	h.Call("POST", at, fmt.Sprintf(`{"signalName":%q}`, perdure.CompactSignal)).Want(200, nil)
	refer(`{"instructions":"short"}`).Want(200, nil)
}

// contextBody is the body of the response to GET .../context.
type contextBody struct {
	LeafEntryID *uuid.UUID
	Compaction  *struct {
		Entry  perdure.Entry
		Record perdure.CompactionRecord
	}
	Entries []struct {
		EntryID     uuid.UUID
		Rewritten   bool
		ResultBytes int
		Entry       perdure.Entry
	}
	LeftOut    []perdure.LeftOut
	NextCursor *string
}

func (h *testServer) context(id uuid.UUID, query string) (c contextBody) {
	h.T.Helper()
	h.Call("GET", h.Path(id, "/context"+query), "").Want(200, &c)
	return c
}

// texts returns the texts of the entries. The text of a summary is in brackets.
func (c contextBody) texts(t *testing.T) (texts []string) {
	t.Helper()
	for _, e := range c.Entries {
		m, err := e.Entry.Message()
		if err != nil {
			t.Fatal(err)
		}
		if e.EntryID != e.Entry.ID {
			t.Errorf("entry %s is under the id %s", e.Entry.ID, e.EntryID)
		}
		text := m.PlainText()
		if e.Entry.Type == perdure.EntryCompaction {
			text = "[" + text + "]"
		}
		texts = append(texts, text)
	}
	return texts
}

// converse appends n messages of the user, each followed by an answer of the assistant. The pairs
// are numbered, beginning with `from`.
func converse(r *run, from, n int) (entries []perdure.Entry) {
	for i := range n {
		entries = append(entries, r.Say(facetest.UserText(fmt.Sprint("q", from+i))), r.Say(facetest.AssistantText(fmt.Sprint("a", from+i))))
	}
	return entries
}

// TestContextIsWhatTheModelSees checks the context of a conversation. Before a compaction, it has
// all entries. After a compaction, it has the earlier entries that the compaction names as Pinned,
// the summary, the entries from KeepFrom to the compaction, and the later entries.
func TestContextIsWhatTheModelSees(t *testing.T) {
	h := open(t)
	r := h.begin()
	said := converse(r, 1, 3)
	before := h.context(r.ID, "")
	if diff := cmp.Diff([]string{"q1", "a1", "q2", "a2", "q3", "a3"}, before.texts(t)); diff != "" || before.Compaction != nil || len(before.LeftOut) != 0 {
		t.Errorf("%s%+v", diff, before)
	}
	compacted := r.Compact(perdure.CompactionRecord{
		Last: said[3].ID, KeepFrom: &said[4].ID, Pinned: []uuid.UUID{said[0].ID}, ResultBytes: 100,
		Reason: perdure.CompactionManual, Messages: 3, TokensBefore: 1000, TokensAfter: 100,
	}, "we talked")
	converse(r, 4, 1)
	c := h.context(r.ID, "")
	if diff := cmp.Diff([]string{"q1", "[we talked]", "q3", "a3", "q4", "a4"}, c.texts(t)); diff != "" {
		t.Error(diff)
	}
	if c.LeafEntryID == nil || *c.LeafEntryID != *r.Leaf || c.NextCursor != nil {
		t.Errorf("the leaf is %v, the cursor %v", c.LeafEntryID, c.NextCursor)
	}
	if diff := cmp.Diff([]perdure.LeftOut{{First: said[1].ID, Last: said[3].ID, Entries: 3, Why: "compaction", EntryID: compacted.ID}}, c.LeftOut); diff != "" {
		t.Error(diff)
	}
	if c.Compaction == nil || c.Compaction.Entry.ID != compacted.ID || c.Compaction.Record.TokensBefore != 1000 {
		t.Fatalf("the compaction is %+v", c.Compaction)
	}
	for i, want := range []bool{false, false, true, true, false, false} {
		if e := c.Entries[i]; e.Rewritten != want || want != (e.ResultBytes == 100) {
			t.Errorf("entry %d: rewritten %v, result bytes %d", i, e.Rewritten, e.ResultBytes)
		}
	}
}

// TestContextComesInPages checks that the pages together are the context at the time when the first
// page was read.
func TestContextComesInPages(t *testing.T) {
	h := open(t)
	r := h.begin()
	said := converse(r, 1, 4)
	r.Compact(perdure.CompactionRecord{Last: said[1].ID, KeepFrom: &said[2].ID, Reason: perdure.CompactionAutomatic}, "sum")
	var got []string
	c := h.context(r.ID, "?limit=3")
	first := *c.NextCursor
	converse(r, 5, 1)
	for got = c.texts(t); c.NextCursor != nil; got = append(got, c.texts(t)...) {
		c = h.context(r.ID, "?limit=3&cursor="+*c.NextCursor)
	}
	if diff := cmp.Diff([]string{"[sum]", "q2", "a2", "q3", "a3", "q4", "a4"}, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"x", uuid.NewString(), uuid.NewString() + "." + uuid.NewString(), r.Leaf.String() + "." + said[0].ID.String()} {
		h.Call("GET", h.Path(r.ID, "/context?cursor="+bad), "").Problem(400, perdure.InvalidArgument, "cursor")
	}
	other := h.Start("")
	h.Call("GET", h.Path(other.ID, "/context?cursor="+first), "").Problem(400, perdure.InvalidArgument, "cursor")
	if empty := h.context(other.ID, ""); empty.LeafEntryID != nil || len(empty.Entries) != 0 {
		t.Errorf("the context of an execution without entries is %+v", empty)
	}
}

// TestContextLeavesOutLargeContents checks that the context leaves out large contents, as the list
// of entries does.
func TestContextLeavesOutLargeContents(t *testing.T) {
	h := open(t)
	r := h.begin()
	r.Say(facetest.UserText(strings.Repeat("x", perdure.ShownLimit+1)))
	r.Say(facetest.AssistantText("short"))
	var listed page[json.RawMessage]
	h.Call("GET", h.Path(r.ID, "/entries"), "").Want(200, &listed)
	var c struct {
		Entries []struct{ Entry json.RawMessage }
	}
	h.Call("GET", h.Path(r.ID, "/context"), "").Want(200, &c)
	for i, e := range c.Entries {
		if string(e.Entry) != string(listed.Items[i]) {
			t.Errorf("entry %d is %s, want %s", i, e.Entry, listed.Items[i])
		}
	}
	if len(c.Entries) != 2 || len(c.Entries[0].Entry) > 1000 {
		t.Errorf("%d entries", len(c.Entries))
	}
}
