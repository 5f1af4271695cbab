package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
)

// upload uploads content as a blob, with the lease in the parameter `owner`.
func (h *holder) upload(owner perdure.BlobOwner, content []byte) *perdure.BlobRef {
	h.Helper()
	ref, err := h.d.PutBlob(h.Context(), owner, int64(len(content)), bytes.NewReader(content))
	h.must(err)
	return &ref
}

func (h *holder) owner() perdure.BlobOwner {
	return perdure.BlobOwner{ExecutionID: h.id, Lease: &h.claim.Lease}
}

// badEntries returns entries with contents that CheckContent refuses.
func badEntries() map[string]perdure.Entry {
	of := func(role perdure.Role, content string) perdure.Entry {
		return perdure.Entry{ID: uuid.Must(uuid.NewV7()), Type: perdure.EntryMessage, Role: role, Content: json.RawMessage(content)}
	}
	hidden := of(perdure.RoleAssistant, `{"parts":[{"type":"toolCall","id":"c1","name":"bash"}]}`) // the toolCall part is not in Message.Calls
	call := of("", `{"model":`)
	call.Type = perdure.EntryLLMCall
	return map[string]perdure.Entry{
		"no JSON":             of(perdure.RoleUser, `{"parts":[`),
		"no UTF-8":            of(perdure.RoleUser, "{\"parts\":[{\"type\":\"text\",\"text\":\"\xff\"}]}"),
		"no parts":            of(perdure.RoleUser, `{}`),
		"an image of nothing": of(perdure.RoleUser, `{"parts":[{"type":"image","mimeType":"image/png","data":"AAAA"}]}`),
		"a call of no name":   of(perdure.RoleAssistant, `{"parts":[{"type":"toolCall","id":"c1"}]}`),
		"a hidden call":       hidden,
		"a model call":        call,
		"parts twice":         of(perdure.RoleUser, `{"parts":[{"type":"text","text":"a"}],"parts":[]}`),
		"a text twice":        of(perdure.RoleUser, `{"parts":[{"type":"text","text":"a","text":"b"}]}`),
	}
}

// TestEntryContentIsCheckedInPlaceAndByReference checks that an invalid content of an entry is
// refused with the same error if it is inline and if it is an uploaded blob. A refused commit stores
// nothing.
func TestEntryContentIsCheckedInPlaceAndByReference(t *testing.T) {
	for name, bad := range badEntries() {
		t.Run(name, func(t *testing.T) {
			h := newBench(t).started()
			_, inPlace := h.try(func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{{Entry: bad}} })
			ref := h.upload(h.owner(), bad.Content)
			moved := bad
			moved.Content = nil
			_, byReference := h.try(func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{{Entry: moved, Blob: ref}} })
			wantSameRefusal(t, perdure.InvalidTranscript, inPlace, byReference)
			if n := h.execution(h.id).EntryCount; n != 0 {
				t.Errorf("%d entries are stored", n)
			}
		})
	}
}

// TestArgumentsOfAModelMayRepeatAKey checks that a commit accepts tool call arguments that repeat a
// key, because a model wrote them.
func TestArgumentsOfAModelMayRepeatAKey(t *testing.T) {
	h := newBench(t).started()
	e := perdure.Entry{
		ID: uuid.Must(uuid.NewV7()), Type: perdure.EntryMessage, Role: perdure.RoleAssistant, Calls: []string{"c1"},
		Content: json.RawMessage(`{"parts":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"a":1,"a":{"b":1,"b":2}}}]}`),
	}
	h.commit(func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{{Entry: e}} })
}

func wantSameRefusal(t *testing.T, code perdure.Code, inPlace, byReference error) {
	t.Helper()
	if !perdure.IsCode(inPlace, code) || !perdure.IsCode(byReference, code) {
		t.Fatalf("in place: %v\nby reference: %v\nwant %s", inPlace, byReference, code)
	}
	var a, b *perdure.Error
	errors.As(inPlace, &a)
	errors.As(byReference, &b)
	if a.Message != b.Message || len(a.Fields) != 1 || len(b.Fields) != 1 || a.Fields[0] != b.Fields[0] {
		t.Errorf("in place:     %q %v\nby reference: %q %v", a.Message, a.Fields, b.Message, b.Fields)
	}
}

// payload is a field of a commit that may contain any JSON value.
type payload struct {
	field string
	put   func(c *perdure.Commit, p perdure.Payload)
}

// payloads returns the payload fields of a commit. A commit with the last of them ends the
// execution.
func payloads(h *holder) []payload {
	task, step := h.newTask("1"), perdure.CallerTaskKey(h.id, "s", "k")
	return []payload{
		{"tasks." + task.Key + ".input", func(c *perdure.Commit, p perdure.Payload) {
			task.Input = p
			c.Tasks = []perdure.NewTask{task}
		}},
		{"steps." + step + ".result", func(c *perdure.Commit, p perdure.Payload) {
			c.Steps = []perdure.StepRecord{{Key: step, Name: "s", Result: p}}
		}},
		{"checkpoint.state", func(c *perdure.Commit, p perdure.Payload) { c.Checkpoint = &perdure.NewCheckpoint{State: p} }},
		{"outcome.output", func(c *perdure.Commit, p perdure.Payload) {
			c.Outcome = perdure.Outcome{Kind: perdure.OutcomeComplete, Output: p}
		}},
	}
}

// TestPayloadsAreJSONInPlaceAndByReference checks that the input of a task, the result of a step, a
// state and an output must be JSON, inline and by reference. The error names the field.
func TestPayloadsAreJSONInPlaceAndByReference(t *testing.T) {
	for _, bad := range []string{"{", `{"a":1} 2`, "\"\xff\"", "nil"} {
		h := newBench(t).started()
		for _, p := range payloads(h) {
			_, inPlace := h.try(func(c *perdure.Commit) { p.put(c, perdure.Inline([]byte(bad))) })
			ref := h.upload(h.owner(), []byte(bad))
			_, byReference := h.try(func(c *perdure.Commit) { p.put(c, perdure.Payload{Blob: ref}) })
			wantSameRefusal(t, perdure.InvalidArgument, inPlace, byReference)
			wantField(t, byReference, p.field)
		}
		x := h.execution(h.id)
		if x.Status != perdure.StatusRunning || x.CheckpointSeq != 0 || x.LastCommit.Number != 0 {
			t.Errorf("after %q it is %s at checkpoint %d, commit %d", bad, x.Status, x.CheckpointSeq, x.LastCommit.Number)
		}
		for _, p := range payloads(h) {
			h.commit(func(c *perdure.Commit) { p.put(c, perdure.Payload{Blob: h.upload(h.owner(), []byte(`{"a":1}`))}) })
		}
	}
}

func wantField(t *testing.T, err error, field string) {
	t.Helper()
	var e *perdure.Error
	if !errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Location != field {
		t.Errorf("the error is %v, want one of %s", err, field)
	}
}

// TestResultsAreJSONInPlaceAndByReference checks that the result of a task must be JSON, inline and
// by reference. After a refusal, the same attempt can send a valid result.
func TestResultsAreJSONInPlaceAndByReference(t *testing.T) {
	b := newBench(t)
	h := b.started()
	id := h.schedule("1")[0]
	h.suspend(perdure.WaitTask(id))
	claim := b.taskClaim()
	_, inPlace := b.d.FinishTask(t.Context(), done(claim, "{"))
	ref := h.upload(perdure.BlobOwner{ExecutionID: h.id, TaskLease: &claim.Lease}, []byte("{"))
	_, byReference := b.d.FinishTask(t.Context(), perdure.TaskFinish{Lease: claim.Lease, Result: perdure.Payload{Blob: ref}})
	wantSameRefusal(t, perdure.InvalidArgument, inPlace, byReference)
	wantField(t, byReference, "result")
	b.finish(done(claim, `{"ok":true}`))
}

// counted is a store that counts the blobs that are open at the same time.
type counted struct {
	store.Store
	open, most int
}

func (c *counted) Blob(ctx context.Context, execution, id uuid.UUID) (io.ReadCloser, error) {
	content, err := c.Store.Blob(ctx, execution, id)
	if err == nil {
		c.open++
		c.most = max(c.most, c.open)
		content = &countedContent{content, c}
	}
	return content, err
}

type countedContent struct {
	io.ReadCloser
	c *counted
}

func (r *countedContent) Close() error { r.c.open--; return r.ReadCloser.Close() }

// TestContentsByReferenceAreReadOneAtATime checks that a commit opens its referenced contents one
// at a time, so that only the largest one must fit in memory.
func TestContentsByReferenceAreReadOneAtATime(t *testing.T) {
	longtest.Skip(t, "seconds")
	b := newBench(t)
	h := b.started()
	spy := &counted{Store: b.s}
	const largeContent = 4 << 20
	b.use(spy, func(c *Config) { c.PayloadLimit, c.Plain = 2*largeContent, true }) // without Plain, contents are checked during the upload
	large := []byte(`"` + strings.Repeat("x", largeContent) + `"`)
	var steps []perdure.StepRecord
	for _, name := range []string{"a", "b", "c"} {
		steps = append(steps, perdure.StepRecord{
			Key: perdure.CallerTaskKey(h.id, "s", name), Name: "s", Result: perdure.Payload{Blob: h.upload(h.owner(), large)},
		})
	}
	h.commit(func(c *perdure.Commit) { c.Steps = steps })
	if spy.most != 1 || spy.open != 0 {
		t.Errorf("%d contents were open at once, %d still are", spy.most, spy.open)
	}
}
