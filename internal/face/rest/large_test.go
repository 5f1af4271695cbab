package rest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
)

// countingStore is a store that counts reads that load whole contents (the field `whole`), and
// reads of a blob with a buffer of more than 256 KiB (the field `greedy`). If the channel `seen` is
// not nil, each read of a blob stops after the first chunks and waits until that channel is closed.
type countingStore struct {
	store.Store
	whole, greedy atomic.Int64
	seen          chan struct{}
}

func (w *countingStore) Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error) {
	w.whole.Add(1)
	return w.Store.Execution(ctx, org, id)
}

func (w *countingStore) Path(ctx context.Context, execution, leaf uuid.UUID, after *uuid.UUID, newest int, lazy bool) iter.Seq2[perdure.Entry, error] {
	w.whole.Add(1)
	return w.Store.Path(ctx, execution, leaf, after, newest, lazy)
}

func (w *countingStore) Entry(ctx context.Context, execution, id uuid.UUID) (*perdure.Entry, error) {
	w.whole.Add(1)
	return w.Store.Entry(ctx, execution, id)
}

func (w *countingStore) AllEntries(ctx context.Context, execution uuid.UUID, cursor string, limit int) (store.Page[perdure.Entry], error) {
	w.whole.Add(1)
	return w.Store.AllEntries(ctx, execution, cursor, limit)
}

func (w *countingStore) Checkpoint(ctx context.Context, execution uuid.UUID, sequence int64) (*perdure.Checkpoint, error) {
	w.whole.Add(1)
	return w.Store.Checkpoint(ctx, execution, sequence)
}

func (w *countingStore) Checkpoints(ctx context.Context, execution uuid.UUID, cursor string, limit int) (store.Page[*perdure.Checkpoint], error) {
	w.whole.Add(1)
	return w.Store.Checkpoints(ctx, execution, cursor, limit)
}

func (w *countingStore) ListTasks(ctx context.Context, execution uuid.UUID, steps bool, cursor string, limit int) (store.Page[*perdure.Task], error) {
	w.whole.Add(1)
	return w.Store.ListTasks(ctx, execution, steps, cursor, limit)
}

func (w *countingStore) Blob(ctx context.Context, execution, id uuid.UUID) (io.ReadCloser, error) {
	r, err := w.Store.Blob(ctx, execution, id)
	return &countingBlob{ReadCloser: r, w: w, ctx: ctx}, err
}

type countingBlob struct {
	io.ReadCloser
	w     *countingStore
	ctx   context.Context
	given int
}

func (s *countingBlob) Read(p []byte) (int, error) {
	if len(p) > perdure.ShownLimit {
		s.w.greedy.Add(1)
	}
	if s.given > 2*perdure.BlobChunk && s.w.seen != nil {
		select {
		case <-s.w.seen:
		case <-s.ctx.Done():
			return 0, s.ctx.Err()
		}
	}
	n, err := s.ReadCloser.Read(p)
	s.given += n
	return n, err
}

// text returns a JSON string that begins with `mark` and has a length of `bytes` bytes.
func text(mark string, bytes int) json.RawMessage {
	return json.RawMessage(`"` + mark + strings.Repeat("x", bytes-2-len(mark)) + `"`)
}

// largeExecution is an execution with large contents, which the store keeps in blobs. The test acts
// as its worker.
type largeExecution struct {
	*testServer
	wary    *countingStore
	id      uuid.UUID
	lease   perdure.Lease
	commits int64
	parent  *uuid.UUID
}

func newLargeExecution(t *testing.T, input string) *largeExecution {
	t.Helper()
	h := &largeExecution{testServer: open(t)}
	var x perdure.Execution
	h.Call("POST", "/agent-executions", `{"kind":"count","input":`+input+`}`).Want(201, &x)
	h.id = x.ID
	claims, err := h.Worker.PollAgents(t.Context(), perdure.Poll{WorkerID: h.testServer.ID, Queues: []string{"default"}, Kinds: []string{"count"}, Slots: 1})
	if err != nil || len(claims) != 1 {
		t.Fatalf("claimed %d, %v", len(claims), err)
	}
	h.lease = claims[0].Lease
	h.wary = &countingStore{Store: h.Store.Store}
	h.Store.Store = h.wary
	return h
}

func (h *largeExecution) commit(edit func(c *perdure.Commit)) {
	h.T.Helper()
	h.commits++
	c := perdure.Commit{Lease: h.lease, Number: h.commits}
	edit(&c)
	if _, err := h.Worker.Commit(h.T.Context(), c); err != nil {
		h.T.Fatal(err)
	}
	h.wary.whole.Store(0)
}

// add adds a new entry with the content to a commit.
func (h *largeExecution) add(c *perdure.Commit, content json.RawMessage) uuid.UUID {
	e := perdure.Entry{ID: uuid.New(), ParentID: h.parent, Type: perdure.EntryMessage, Role: perdure.RoleUser, Content: content, Metadata: json.RawMessage(`{"a":"<&>"}`)}
	c.Entries = append(c.Entries, perdure.NewEntry{Entry: e})
	h.parent = &e.ID
	return e.ID
}

// body returns the content of a message entry. The content has a length of `bytes` bytes.
func body(mark string, bytes int) json.RawMessage {
	const around = `{"parts":[{"type":"text","text":}]}`
	return json.RawMessage(`{"parts":[{"type":"text","text":` + string(text(mark, bytes-len(around))) + `}]}`)
}

// left checks that in the object m, the length and the hash stand in place of the content of the
// named member, and that the content can be fetched by that hash.
func (h *largeExecution) left(what string, m map[string]any, name string, content []byte) {
	h.T.Helper()
	sum := perdure.Hash(sha256.Sum256(content)).String()
	if value, there := m[name]; !there || value != nil || m[name+"Bytes"] != float64(len(content)) || m[name+"Sha256"] != sum {
		h.T.Errorf("%s has the %s of %v bytes, %v; want %d, %s", what, name, m[name+"Bytes"], m[name+"Sha256"], len(content), sum)
	}
	r := h.Call("GET", h.Path(h.id, "/content/"+sum), "").Want(200, nil)
	if !bytes.Equal(r.Body, content) || r.Header.Get("Content-Length") != fmt.Sprint(len(content)) {
		h.T.Errorf("by its hash, the %s of %s has %d bytes", name, what, len(r.Body))
	}
}

func (h *largeExecution) there(what string, m map[string]any, name string, content json.RawMessage) {
	h.T.Helper()
	var want any
	if err := json.Unmarshal(content, &want); err != nil {
		h.T.Fatal(err)
	}
	if fmt.Sprint(m[name]) != fmt.Sprint(want) || m[name+"Bytes"] != nil || m[name+"Sha256"] != nil {
		h.T.Errorf("%s is not there with its %s, and %v bytes are said to be left out", what, name, m[name+"Bytes"])
	}
}

func (h *largeExecution) items(rest string) []map[string]any {
	h.T.Helper()
	var p page[map[string]any]
	h.Call("GET", h.Path(h.id, rest), "").Want(200, &p)
	return p.Items
}

func (h *largeExecution) one(rest string) map[string]any {
	h.T.Helper()
	var m map[string]any
	h.Call("GET", h.Path(h.id, rest), "").Want(200, &m)
	return m
}

// TestLargeContentsAreLeftOut checks that contents over 256 KiB are replaced by their length and
// hash, except in the responses for one entry and for one content. A content of exactly 256 KiB is
// returned whole. While the server answers these requests, it reads large contents only in pieces.
func TestLargeContentsAreLeftOut(t *testing.T) {
	longtest.Skip(t, "seconds")
	const large = 1 << 20
	input := `{"n":1,"pad":` + string(text("in", large)) + `}`
	h := newLargeExecution(t, input)
	entry, state, asked := body("e", large), text("s", large), text("t", large)
	fits := body("fits", perdure.ShownLimit)
	var id, second uuid.UUID
	h.commit(func(c *perdure.Commit) {
		id, second = h.add(c, entry), h.add(c, fits)
		c.Tasks = []perdure.NewTask{{Kind: "work", Key: "task:1", Input: perdure.Inline(asked)}, {Kind: "work", Key: "task:2", Input: perdure.Inline(text("f", perdure.ShownLimit))}}
		c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Inline(state)}
	})
	tasks, err := h.Worker.PollTasks(t.Context(), perdure.Poll{WorkerID: h.testServer.ID, Queues: []string{"default"}, Kinds: []string{"work"}, Slots: 1})
	if err != nil || len(tasks) != 1 {
		t.Fatalf("claimed %d tasks, %v", len(tasks), err)
	}
	value := text("v", large)
	h.Call("POST", h.Path(h.id, "/signal"), `{"signalName":"large","signalValue":`+string(value)+`}`).Want(200, nil)
	result, output := text("r", large), text("o", large)
	if _, err := h.Worker.FinishTask(t.Context(), perdure.TaskFinish{WorkerID: h.testServer.ID, Lease: tasks[0].Lease, Result: perdure.Inline(result)}); err != nil {
		t.Fatal(err)
	}
	h.commit(func(c *perdure.Commit) {
		c.Outcome = perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Inline(output)}
	})
	h.wary.greedy.Store(0) // the worker in this process receives whole contents

	snapshot := h.one("/snapshot")
	for what, x := range map[string]any{"the execution": h.one(""), "the snapshot": snapshot["execution"]} {
		h.left(what, x.(map[string]any), "input", []byte(input))
		h.left(what, x.(map[string]any), "output", output)
	}
	h.left("the snapshot", snapshot["entries"].([]any)[0].(map[string]any), "content", entry)
	for _, list := range []string{"/entries", "/entries?all=true"} {
		h.left(list, h.items(list)[0], "content", entry)
		h.there(list, h.items(list)[1], "content", fits)
	}
	h.left("the task", h.items("/tasks")[0], "input", asked)
	h.left("the task", h.items("/tasks")[0], "result", result)
	h.there("the other task", h.items("/tasks")[1], "input", text("f", perdure.ShownLimit))
	h.left("the signal", h.items("/signals")[0], "signalValue", value)
	h.left("the checkpoints", h.items("/checkpoints")[0], "state", state)
	h.left("the checkpoint", h.one("/checkpoints/1"), "state", state)
	h.left("the newest checkpoint", h.one("/checkpoints/latest"), "state", state)
	for which, content := range map[uuid.UUID]json.RawMessage{id: entry, second: fits} {
		e := h.one("/entries/" + which.String())
		h.there("the entry", e, "content", content)
		if e["id"] != which.String() || fmt.Sprint(e["metadata"]) != "map[a:<&>]" || e["createdAt"] == nil {
			t.Errorf("around its content the entry is %v, %v, %v", e["id"], e["metadata"], e["createdAt"])
		}
	}
	if head := h.Call("HEAD", h.Path(h.id, "/entries/"+id.String()), ""); head.Status != 200 || len(head.Body) > 0 {
		t.Errorf("HEAD gives %d with %d bytes", head.Status, len(head.Body))
	}
	h.Call("GET", h.Path(h.id, "/content/"+perdure.Hash(sha256.Sum256(nil)).String()), "").Problem(404, perdure.NotFound, "")
	other := h.Start("")
	h.Call("GET", h.Path(other.ID, "/content/"+perdure.Hash(sha256.Sum256(entry)).String()), "").Problem(404, perdure.NotFound, "")
	if whole, greedy := h.wary.whole.Load(), h.wary.greedy.Load(); whole > 1 || greedy > 0 { // the start of the execution loads one for its own response
		t.Errorf("%d reads loaded everything, %d more than a piece", whole, greedy)
	}
}

// TestAnEntryIsPassedOnAsItIsRead checks that the client receives the first 64 KiB of a large
// content while the server cannot yet read more from the store.
func TestAnEntryIsPassedOnAsItIsRead(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := newLargeExecution(t, `{"n":1}`)
	content := body("e", 3<<20)
	var id uuid.UUID
	h.commit(func(c *perdure.Commit) { id = h.add(c, content) })
	for _, path := range []string{"/entries/" + id.String(), "/content/" + perdure.Hash(sha256.Sum256(content)).String()} {
		h.wary.seen = make(chan struct{})
		res, err := http.DefaultTransport.RoundTrip(h.Request("GET", h.Path(h.id, path), ""))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		first := make([]byte, perdure.BlobChunk)
		if _, err := io.ReadFull(res.Body, first); err != nil {
			t.Fatal(err)
		}
		close(h.wary.seen)
		rest, err := io.ReadAll(res.Body)
		if got := append(first, rest...); err != nil || !bytes.Contains(got, content) {
			t.Errorf("%s gives %d bytes, %v", path, len(got), err)
		}
	}
}

// TestPagesAreBoundedInBytes checks that lists of more than 8 MiB come in two pages, which together
// contain every item once. A snapshot contains the newest entries that fit.
func TestPagesAreBoundedInBytes(t *testing.T) {
	longtest.Skip(t, "seconds")
	const count, size = store.PageBytes/perdure.ShownLimit + 1, perdure.ShownLimit
	h := newLargeExecution(t, `{"n":1}`)
	var ids []string
	h.commit(func(c *perdure.Commit) {
		for i := range count {
			mark := fmt.Sprint(i, ".")
			ids = append(ids, h.add(c, body(mark, size)).String())
			c.Tasks = append(c.Tasks, perdure.NewTask{Kind: "work", Key: "task:" + mark, Input: perdure.Inline(text(mark, size))})
		}
	})
	for i := range count {
		h.commit(func(c *perdure.Commit) {
			c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Inline(text(fmt.Sprint(i, "."), size))}
		})
		h.Call("POST", h.Path(h.id, "/signal"), `{"signalName":"s","signalValue":`+string(text(fmt.Sprint(i, "."), size))+`}`).Want(200, nil)
	}
	for list, name := range map[string]string{"/signals?": "signalValue", "/entries?": "content", "/entries?all=true": "content", "/tasks?": "input", "/checkpoints?": "state"} {
		var got []map[string]any
		pages := 0
		for cursor := ""; ; pages++ {
			var p page[map[string]any]
			r := h.Call("GET", h.Path(h.id, list+"&limit=100&cursor="+cursor), "").Want(200, &p)
			if len(r.Body) > store.PageBytes+1<<20 {
				t.Errorf("a page of %s has %d bytes", list, len(r.Body))
			}
			got = append(got, p.Items...)
			if p.NextCursor == nil {
				break
			}
			cursor = *p.NextCursor
		}
		if pages != 1 || len(got) != count {
			t.Errorf("%s: %d items come in %d pages", list, len(got), pages+1)
		}
		for i, item := range got {
			if !strings.Contains(fmt.Sprint(item[name]), fmt.Sprint(i, ".xx")) {
				t.Errorf("%s: item %d is another, or without its %s", list, i, name)
			}
		}
	}
	snapshot := h.one("/snapshot")
	var newest []string
	for _, e := range snapshot["entries"].([]any) {
		newest = append(newest, e.(map[string]any)["id"].(string))
	}
	if before := int(snapshot["entriesBefore"].(float64)); before == 0 || !slices.Equal(newest, ids[before:]) {
		t.Errorf("the snapshot has %d entries after %v", len(newest), before)
	}
}
