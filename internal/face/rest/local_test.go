package rest_test

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
	"github.com/perdure/perdure/internal/face/facetest"
)

// workerContents are the contents that the worker of a LOCAL execution stores. The test acts as the
// worker.
type workerContents struct {
	mu    sync.Mutex // guards the fields below
	all   map[perdure.Hash][]byte
	spoil bool // the worker sends bytes that do not match the requested hash
}

func (s *workerContents) Content(_ context.Context, _ uuid.UUID, sum perdure.Hash) (io.ReadCloser, error) {
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

func (s *workerContents) spoiled(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoil = yes
}

// localExecution is a LOCAL execution that has contents of every kind and waits for a message.
type localExecution struct {
	*facetest.Server
	*workerContents
	id    uuid.UUID
	entry uuid.UUID
	large []byte // the result of the execution's task
}

func (l *localExecution) ref(content []byte) perdure.Payload {
	l.all[sha256.Sum256(content)] = content
	ref := perdure.ContentRef(l.id, content)
	return perdure.Payload{Blob: &ref}
}

func newLocal(t *testing.T) *localExecution {
	t.Helper()
	h := facetest.Open(t)
	l := &localExecution{Server: h, workerContents: &workerContents{all: map[perdure.Hash][]byte{}}}
	var x perdure.Execution
	h.Call("POST", "/agent-executions", `{"kind":"count","input":{"n":1},"persistenceMode":"local"}`).Want(201, &x)
	if x.PersistenceMode != perdure.Local || string(x.Input) != `{"n":1}` {
		t.Fatalf("it begins as %s with %s", x.PersistenceMode, x.Input)
	}
	l.id = x.ID
	l.ref(x.Input)
	poll := perdure.Poll{WorkerID: h.ID, Queues: []string{"default", perdure.LocalQueue(h.ID)}, Kinds: []string{"count", "work"}, Slots: 1, Local: true}
	claims, err := h.Worker.PollAgents(t.Context(), poll)
	if err != nil || len(claims) != 1 {
		t.Fatalf("claimed %d, %v", len(claims), err)
	}
	entry, err := perdure.NewMessageEntry(perdure.UserText("hello"))
	l.must(err)
	l.entry = entry.ID
	folded := entry
	folded.Metadata = json.RawMessage(`{"by":"hand"}`)
	l.must(folded.EmbedMetadata())
	entry.Content = nil
	l.large = append(append([]byte(`"`), bytes.Repeat([]byte("r"), 300<<10)...), '"')
	wait := perdure.WaitSignal(perdure.UserMessage)
	_, err = h.Worker.Commit(t.Context(), perdure.Commit{
		Lease: claims[0].Lease, Number: 1,
		Entries:    []perdure.NewEntry{{Entry: entry, Blob: l.ref(folded.Content).Blob}},
		Tasks:      []perdure.NewTask{{Kind: "work", Key: "task:1", Input: l.ref([]byte(`"in"`))}},
		Checkpoint: &perdure.NewCheckpoint{State: l.ref([]byte(`{"state":1}`))},
		Events:     []perdure.NewEvent{{Type: perdure.EventData, Fields: json.RawMessage(`{"data":{"type":"plan"}}`)}},
		Outcome:    perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait},
	})
	l.must(err)
	l.ref([]byte(`{"data":{"type":"plan"}}`))
	tasks, err := h.Worker.PollTasks(t.Context(), poll)
	if err != nil || len(tasks) != 1 {
		t.Fatalf("claimed %d tasks, %v", len(tasks), err)
	}
	_, err = h.Worker.FinishTask(t.Context(), perdure.TaskFinish{WorkerID: h.ID, Lease: tasks[0].Lease, Result: l.ref(l.large)})
	l.must(err)
	return l
}

func (l *localExecution) must(err error) {
	l.T.Helper()
	if err != nil {
		l.T.Fatal(err)
	}
}

// connect connects the worker, so that the server can request contents until the test ends or
// disconnect is called.
func (l *localExecution) connect() (disconnect func()) {
	l.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = l.Worker.ServeContents(ctx, l.Server.ID, l.workerContents) // it ends with ctx
	}()
	stop := sync.OnceFunc(func() { cancel(); <-done })
	l.T.Cleanup(stop)
	for { // until the worker is connected
		r := l.Call("GET", l.Path(l.id, "/content/"+perdure.Hash(sha256.Sum256([]byte(`"in"`))).String()), "")
		if r.Status != 503 {
			return stop
		}
	}
}

// get reads a part of the execution: one object, or the items of a list.
func (l *localExecution) get(rest string) []map[string]any {
	l.T.Helper()
	var raw json.RawMessage
	l.Call("GET", l.Path(l.id, rest), "").Want(200, &raw)
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

// withheld checks that in the object m, the named member has the value "worker" instead of the
// content, and that m has the content's length and hash.
func (l *localExecution) withheld(what string, m map[string]any, name string, content []byte) {
	l.T.Helper()
	sum := perdure.Hash(sha256.Sum256(content)).String()
	if m[name] != "worker" || m[name+"Bytes"] != float64(len(content)) || m[name+"Sha256"] != sum {
		l.T.Errorf("%s has the %s %v of %v bytes, %v; want %d, %s", what, name, m[name], m[name+"Bytes"], m[name+"Sha256"], len(content), sum)
	}
}

func (l *localExecution) whole(what string, m map[string]any, name, content string) {
	l.T.Helper()
	raw, err := json.Marshal(m[name])
	l.must(err)
	if string(raw) != content || m[name+"Sha256"] != nil {
		l.T.Errorf("%s has the %s %s, want %s", what, name, raw, content)
	}
}

// TestLocalIsReadThroughItsWorker checks the contents in responses about a LOCAL execution. While
// the execution's worker is disconnected, the contents are replaced by their lengths and hashes.
// While the worker is connected, contents up to 256 KiB are returned. Content that does not match
// its hash is an error.
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
	// If a signal was sent to a LOCAL execution, responses do not contain its value, although the
	// server stores the value until the signal is consumed.
	l.Call("POST", l.Path(l.id, "/signal"), `{"signalName":"s","signalValue":{"secret":1}}`).Want(200, nil)
	l.whole("the signal", l.get("/signals")[0], "signalValue", `"worker"`)

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
	l.Call("GET", l.Path(l.id, "/checkpoints/1"), "").Problem(500, perdure.Internal, "")
	l.spoiled(false)
	disconnect()
	l.withheld("the checkpoint", l.get("/checkpoints/1")[0], "state", []byte(`{"state":1}`))
}

// TestContentByItsHash checks that contents of a LOCAL execution can be fetched by their hashes
// while the worker is connected. While the worker is disconnected, the error names the worker.
// Content that does not match its hash is an error.
func TestContentByItsHash(t *testing.T) {
	l := newLocal(t)
	at := func(content []byte) string {
		return l.Path(l.id, "/content/"+perdure.Hash(sha256.Sum256(content)).String())
	}
	p := l.Call("GET", at(l.large), "").Problem(503, perdure.Unavailable, "")
	if !strings.Contains(p.Detail, l.Server.ID.String()) {
		t.Errorf("%q does not name the worker", p.Detail)
	}
	disconnect := l.connect()
	for _, content := range [][]byte{l.large, []byte(`"in"`), []byte(`{"n":1}`), []byte(`{"data":{"type":"plan"}}`)} {
		r := l.Call("GET", at(content), "").Want(200, nil)
		if !bytes.Equal(r.Body, content) || r.Header.Get("Content-Length") != fmt.Sprint(len(content)) ||
			!strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("got %d bytes, %v; want %d", len(r.Body), r.Header, len(content))
		}
	}
	l.Call("GET", at([]byte("never seen")), "").Problem(404, perdure.NotFound, "")
	l.Call("GET", l.Path(l.id, "/content/nonsense"), "").Problem(404, perdure.NotFound, "")
	l.spoiled(true)
	l.Call("GET", at(l.large), "").Problem(500, perdure.Internal, "")
	l.spoiled(false)
	disconnect()
	p = l.Call("GET", at(l.large), "").Problem(503, perdure.Unavailable, "")
	if !strings.Contains(p.Detail, "since") {
		t.Errorf("%q does not say since when", p.Detail)
	}
}

// TestLocalLogSaysWhereItIs checks that in the log of a LOCAL execution, the event of an entry has
// the length and hash of the content. The event of type data has its content, which is still in the
// server's memory.
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

// TestPromote checks that the contents of a promoted execution can be read without its worker. The
// promotion itself needs the worker, and cannot be repeated.
func TestPromote(t *testing.T) {
	l := newLocal(t)
	promote := l.Path(l.id, "/promote")
	l.Call("POST", promote, "").Problem(503, perdure.Unavailable, "")
	disconnect := l.connect()
	var x perdure.Execution
	l.Call("POST", promote, "").Want(200, &x)
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
	r := l.Call("GET", l.Path(l.id, "/content/"+perdure.Hash(sha256.Sum256(l.large)).String()), "").Want(200, nil)
	if !bytes.Equal(r.Body, l.large) {
		t.Errorf("its content has %d bytes", len(r.Body))
	}
	l.Call("POST", promote, "").Problem(409, perdure.Conflict, "")
	l.Call("POST", l.Path(uuid.New(), "/promote"), "").Problem(404, perdure.NotFound, "")
}

// TestLocalReportsThatItsWorkerIsAway checks that a LOCAL execution that is ready to run while its
// worker is disconnected has workerAway set.
func TestLocalReportsThatItsWorkerIsAway(t *testing.T) {
	l := newLocal(t)
	disconnect := l.connect()
	l.Call("POST", l.Path(l.id, "/signal"), `{"signalName":"userMessage","signalValue":{"text":"hi"}}`).Want(200, nil)
	if x := l.get("")[0]; x["status"] != "PENDING" || x["workerAway"] != nil || x["homeWorkerId"] != l.Server.ID.String() {
		t.Errorf("with its home there it is %v, away %v, home %v", x["status"], x["workerAway"], x["homeWorkerId"])
	}
	disconnect()
	away, _ := l.get("")[0]["workerAway"].(map[string]any)
	if away["workerId"] != l.Server.ID.String() || away["since"] == nil {
		t.Errorf("without its home it says %v", away)
	}
	var page facetest.Page[map[string]any]
	l.Call("GET", "/agent-executions", "").Want(200, &page)
	if page.Items[0]["workerAway"] == nil {
		t.Error("the list does not say it")
	}
}
