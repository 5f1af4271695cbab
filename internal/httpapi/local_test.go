package httpapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// shelf is the contents of the worker that the test plays.
type shelf struct {
	mu    sync.Mutex // guards the fields below
	all   map[perdure.Hash][]byte
	spoil bool // send something else
}

func (s *shelf) Content(_ context.Context, _ uuid.UUID, sum perdure.Hash) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok := s.all[sum]
	if !ok {
		return nil, perdure.Errorf(perdure.NotFound, "none")
	}
	if s.spoil {
		content = append(bytes.Clone(content[:len(content)-1]), '!')
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

func (s *shelf) spoiled(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoil = yes
}

// local is a LOCAL execution with contents of every kind, which waits for a message.
type local struct {
	*house
	*shelf
	id    uuid.UUID
	entry uuid.UUID
	large []byte // the result of its task
}

func (l *local) ref(content []byte) perdure.Payload {
	l.all[sha256.Sum256(content)] = content
	ref := perdure.ContentRef(l.id, content)
	return perdure.Payload{Blob: &ref}
}

func newLocal(t *testing.T) *local {
	t.Helper()
	h := open(t)
	l := &local{house: h, shelf: &shelf{all: map[perdure.Hash][]byte{}}}
	var x perdure.Execution
	h.call("POST", "/agent-executions", `{"kind":"count","input":{"n":1},"persistenceMode":"local"}`).want(201, &x)
	if x.PersistenceMode != perdure.Local || string(x.Input) != `{"n":1}` {
		t.Fatalf("it begins as %s with %s", x.PersistenceMode, x.Input)
	}
	l.id = x.ID
	l.ref(x.Input)
	poll := perdure.Poll{WorkerID: h.id, Queues: []string{"default", perdure.LocalQueue(h.id)}, Kinds: []string{"count", "work"}, Slots: 1, Local: true}
	claims, err := h.worker.PollAgents(t.Context(), poll)
	if err != nil || len(claims) != 1 {
		t.Fatalf("claimed %d, %v", len(claims), err)
	}
	entry, err := perdure.NewMessageEntry(perdure.UserText("hello"))
	l.must(err)
	l.entry = entry.ID
	folded := entry
	folded.Metadata = json.RawMessage(`{"by":"hand"}`)
	l.must(folded.Fold())
	entry.Content = nil
	l.large = append(append([]byte(`"`), bytes.Repeat([]byte("r"), 300<<10)...), '"')
	wait := perdure.WaitSignal(perdure.UserMessage)
	_, err = h.worker.Commit(t.Context(), perdure.Commit{
		Lease: claims[0].Lease, Number: 1,
		Entries:    []perdure.NewEntry{{Entry: entry, Blob: l.ref(folded.Content).Blob}},
		Tasks:      []perdure.NewTask{{Kind: "work", Key: "task:1", Input: l.ref([]byte(`"in"`))}},
		Checkpoint: &perdure.NewCheckpoint{State: l.ref([]byte(`{"state":1}`))},
		Events:     []perdure.NewEvent{{Type: perdure.EventData, Fields: json.RawMessage(`{"data":{"type":"plan"}}`)}},
		Outcome:    perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait},
	})
	l.must(err)
	l.ref([]byte(`{"data":{"type":"plan"}}`))
	tasks, err := h.worker.PollTasks(t.Context(), poll)
	if err != nil || len(tasks) != 1 {
		t.Fatalf("claimed %d tasks, %v", len(tasks), err)
	}
	_, err = h.worker.FinishTask(t.Context(), perdure.TaskFinish{WorkerID: h.id, Lease: tasks[0].Lease, Result: l.ref(l.large)})
	l.must(err)
	return l
}

func (l *local) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// connect connects the worker, so that the server can request contents until the test ends or
// disconnect is called.
func (l *local) connect() (disconnect func()) {
	l.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = l.worker.ServeContents(ctx, l.house.id, l.shelf) // it ends with ctx
	}()
	stop := sync.OnceFunc(func() { cancel(); <-done })
	l.t.Cleanup(stop)
	for { // until the worker is connected
		r := l.call("GET", l.path(l.id, "/content/"+perdure.Hash(sha256.Sum256([]byte(`"in"`))).String()), "")
		if r.status != 503 {
			return stop
		}
	}
}

// get reads one object, or the items of a list.
func (l *local) get(rest string) []map[string]any {
	l.t.Helper()
	var raw json.RawMessage
	l.call("GET", l.path(l.id, rest), "").want(200, &raw)
	var one map[string]any
	l.must(json.Unmarshal(raw, &one))
	items, ok := one["items"].([]any)
	if !ok {
		return []map[string]any{one}
	}
	var all []map[string]any
	for _, item := range items {
		all = append(all, item.(map[string]any))
	}
	return all
}

// withheld checks that a member was replaced by the length and hash of its content.
func (l *local) withheld(what string, m map[string]any, name string, content []byte) {
	l.t.Helper()
	sum := perdure.Hash(sha256.Sum256(content)).String()
	if m[name] != "worker" || m[name+"Bytes"] != float64(len(content)) || m[name+"Sha256"] != sum {
		l.t.Errorf("%s has the %s %v of %v bytes, %v; want %d, %s", what, name, m[name], m[name+"Bytes"], m[name+"Sha256"], len(content), sum)
	}
}

func (l *local) whole(what string, m map[string]any, name, content string) {
	l.t.Helper()
	raw, err := json.Marshal(m[name])
	l.must(err)
	if string(raw) != content || m[name+"Sha256"] != nil {
		l.t.Errorf("%s has the %s %s, want %s", what, name, raw, content)
	}
}

// While the worker is disconnected, everything shows where its content is. While it is connected,
// contents are shown like those of a REMOTE execution.
func TestLocalIsReadThroughItsWorker(t *testing.T) {
	l := newLocal(t)
	folded := []byte(`{"metadata":{"by":"hand"},"parts":[{"type":"text","text":"hello"}]}`)
	entries := []string{"/entries", "/entries?all=true", "/entries/" + l.entry.String()}
	l.withheld("the execution", l.get("")[0], "input", []byte(`{"n":1}`))
	for _, path := range entries {
		l.withheld(path, l.get(path)[0], "content", folded)
	}
	for _, path := range []string{"/checkpoints", "/checkpoints/1", "/checkpoints/latest"} {
		l.withheld(path, l.get(path)[0], "state", []byte(`{"state":1}`))
	}
	l.withheld("the task", l.get("/tasks")[0], "input", []byte(`"in"`))
	l.withheld("the task", l.get("/tasks")[0], "result", l.large)

	disconnect := l.connect()
	l.whole("the execution", l.get("")[0], "input", `{"n":1}`)
	for _, path := range entries {
		e := l.get(path)[0]
		l.whole(path, e, "content", `{"parts":[{"text":"hello","type":"text"}]}`)
		l.whole(path, e, "metadata", `{"by":"hand"}`)
	}
	l.whole("the checkpoint", l.get("/checkpoints/1")[0], "state", `{"state":1}`)
	l.whole("the task", l.get("/tasks")[0], "input", `"in"`)
	l.withheld("the task", l.get("/tasks")[0], "result", l.large) // over 256 KiB
	snapshot := l.get("/snapshot")[0]
	l.whole("the snapshot", snapshot["execution"].(map[string]any), "input", `{"n":1}`)
	l.whole("the snapshot", snapshot["entries"].([]any)[0].(map[string]any), "content", `{"parts":[{"text":"hello","type":"text"}]}`)

	l.spoiled(true)
	l.call("GET", l.path(l.id, "/checkpoints/1"), "").problem(500, perdure.Internal, "")
	l.spoiled(false)
	disconnect()
	l.withheld("the checkpoint", l.get("/checkpoints/1")[0], "state", []byte(`{"state":1}`))
}

// Any content can be fetched by its hash through the worker. Without the worker, the error names
// it. Wrong content is never returned.
func TestContentByItsHash(t *testing.T) {
	l := newLocal(t)
	at := func(content []byte) string {
		return l.path(l.id, "/content/"+perdure.Hash(sha256.Sum256(content)).String())
	}
	p := l.call("GET", at(l.large), "").problem(503, perdure.Unavailable, "")
	if !strings.Contains(p.Detail, l.house.id.String()) {
		t.Errorf("%q does not name the worker", p.Detail)
	}
	disconnect := l.connect()
	for _, content := range [][]byte{l.large, []byte(`"in"`), []byte(`{"n":1}`), []byte(`{"data":{"type":"plan"}}`)} {
		r := l.call("GET", at(content), "").want(200, nil)
		if !bytes.Equal(r.body, content) || r.header.Get("Content-Length") != fmt.Sprint(len(content)) ||
			!strings.HasPrefix(r.header.Get("Content-Type"), "text/plain") {
			t.Errorf("got %d bytes, %v; want %d", len(r.body), r.header, len(content))
		}
	}
	l.call("GET", at([]byte("never seen")), "").problem(404, perdure.NotFound, "")
	l.call("GET", l.path(l.id, "/content/nonsense"), "").problem(404, perdure.NotFound, "")
	l.spoiled(true)
	l.call("GET", at(l.large), "").problem(500, perdure.Internal, "")
	l.spoiled(false)
	disconnect()
	p = l.call("GET", at(l.large), "").problem(503, perdure.Unavailable, "")
	if !strings.Contains(p.Detail, "since") {
		t.Errorf("%q does not say since when", p.Detail)
	}
}

// The log shows the offsets and lengths of texts that the worker stores, and the snapshot does so
// for open blocks.
func TestLocalLogSaysWhereItIs(t *testing.T) {
	l := newLocal(t)
	found := 0
	for _, item := range l.get("/events?limit=100") {
		data := item["data"].(map[string]any)
		switch item["event"] {
		case "data": // still in this server's memory
			l.whole("the event", data, "data", `{"type":"plan"}`)
			found++
		case "entry.appended":
			if data["content"] != "worker" || data["contentSha256"] == nil || data["contentBytes"] == nil {
				t.Errorf("the entry's event is %v", data)
			}
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d of 2 events were found", found)
	}
}

// A promoted execution is read without its worker.
func TestPromote(t *testing.T) {
	l := newLocal(t)
	promote := l.path(l.id, "/promote")
	l.call("POST", promote, "").problem(503, perdure.Unavailable, "")
	disconnect := l.connect()
	var x perdure.Execution
	l.call("POST", promote, "").want(200, &x)
	if x.PersistenceMode != perdure.Remote || x.ID != l.id || x.HomeID != nil || string(x.Input) != `{"n":1}` {
		t.Errorf("it is %s, home %v, input %s", x.PersistenceMode, x.HomeID, x.Input)
	}
	disconnect()
	l.whole("the checkpoint", l.get("/checkpoints/1")[0], "state", `{"state":1}`)
	l.whole("the entry", l.get("/entries")[0], "metadata", `{"by":"hand"}`)
	task := l.get("/tasks")[0]
	l.whole("the task", task, "input", `"in"`)
	sum := perdure.Hash(sha256.Sum256(l.large)).String()
	if task["result"] != nil || task["resultBytes"] != float64(len(l.large)) || task["resultSha256"] != sum {
		t.Errorf("the task has a result of %v bytes, %v", task["resultBytes"], task["resultSha256"])
	}
	r := l.call("GET", l.path(l.id, "/content/"+perdure.Hash(sha256.Sum256(l.large)).String()), "").want(200, nil)
	if !bytes.Equal(r.body, l.large) {
		t.Errorf("its content has %d bytes", len(r.body))
	}
	l.call("POST", promote, "").problem(409, perdure.Conflict, "")
	l.call("POST", l.path(uuid.New(), "/promote"), "").problem(404, perdure.NotFound, "")
}

// An execution that waits for a disconnected worker says so.
func TestLocalSaysThatItsHomeIsAway(t *testing.T) {
	l := newLocal(t)
	disconnect := l.connect()
	l.call("POST", l.path(l.id, "/signal"), `{"signalName":"userMessage","signalValue":{"text":"hi"}}`).want(200, nil)
	if x := l.get("")[0]; x["status"] != "PENDING" || x["workerAway"] != nil || x["homeWorkerId"] != l.house.id.String() {
		t.Errorf("with its home there it is %v, away %v, home %v", x["status"], x["workerAway"], x["homeWorkerId"])
	}
	disconnect()
	away, _ := l.get("")[0]["workerAway"].(map[string]any)
	if away["workerId"] != l.house.id.String() || away["since"] == nil {
		t.Errorf("without its home it says %v", away)
	}
	var page page[map[string]any]
	l.call("GET", "/agent-executions", "").want(200, &page)
	if page.Items[0]["workerAway"] == nil {
		t.Error("the list does not say it")
	}
}
