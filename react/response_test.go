package react_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/response"
	"github.com/perdure/perdure/internal/store/opentest"
)

// TestStreamMergeAndEntriesAreTheSame kills processes at random points, and compares four views of
// the conversation. These are a client's view of the stream (during the run and after it), the
// result of response.Merge for the same chunks, the result of response.Merge for the stored
// messages, and the stored messages themselves. All views must have the same messages with the same
// ids. Each message must belong to the response that the input of the message began or joined.
// Neither entries nor streamed data may contain a provider's placeholder id (fakeID).
//
// The environment variable PERDURE_KILL_SEED sets the seed of the first run, and PERDURE_FOLDS the
// number of runs.
func TestStreamMergeAndEntriesAreTheSame(t *testing.T) {
	longtest.Skip(t, "seconds")
	runs, seed := 8, rand.Uint64()
	if text := os.Getenv("PERDURE_FOLDS"); text != "" {
		runs, _ = strconv.Atoi(text)
	}
	if text := os.Getenv("PERDURE_KILL_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("PERDURE_KILL_SEED: %v", err)
		}
	}
	responses := 0
	t.Run("runs", func(t *testing.T) {
		w := newRunStore(t, opentest.SQLite)
		for i := range runs {
			t.Run(fmt.Sprint(seed+uint64(i)), func(t *testing.T) { responses += w.tell(t, seed+uint64(i)) })
		}
	})
	if !t.Failed() && runs >= 8 && responses <= runs {
		t.Errorf("%d runs had %d responses: none had a second", runs, responses)
	}
}

// randomPoint returns a random call or commit at which a process dies. A run may end before it
// reaches that point.
func randomPoint(r *rand.Rand) killPoint {
	rpc := []string{"Commit", "FinishTask", "Append", "Entries", "PollTasks", "PollAgents", "Execution"}
	commits := []string{"commit", "finish", "append", "claim tasks", "claim agents"}
	p := killPoint{layer: "rpc", name: rpc[r.IntN(len(rpc))], nth: 1 + r.IntN(12), how: []interruption{before, after}[r.IntN(2)], parked: 100 - 101*r.IntN(2)}
	if r.IntN(2) == 0 {
		p.layer, p.name = "store", commits[r.IntN(len(commits))]
	}
	return p
}

// tell plays a run with the given seed, checks it, and returns the number of its responses.
func (w *runStore) tell(t *testing.T, seed uint64) int {
	r := rand.New(rand.NewPCG(seed, 1))
	w.t, w.org = t, uuid.NewString()
	w.mu.Lock()
	w.starts, w.asked = map[string]int{}, map[int]int{}
	w.mu.Unlock()
	model := &randomModel{w: w, seed: seed, turns: 4 + r.IntN(5), begun: make(chan struct{})}
	w.model = model
	live := make(chan []eventlog.Item, 1)
	p := randomPoint(r)
	id, fate := w.run(p, func(id uuid.UUID, e *engine.Engine) {
		log := eventlog.New(w.store, w.store.Epoch(), e.Hints)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
		t.Cleanup(cancel)
		go func() { live <- readAll(ctx, t, log, id) }()
		model.begin(id, e)
	})
	t.Logf("%s: reached %v", p, fate.met())
	path := w.path(id)
	later := readAll(t.Context(), t, eventlog.New(w.store, w.store.Epoch(), &notify.Local{}), id)
	for name, items := range map[string][]eventlog.Item{"live": <-live, "later": later} {
		compareFold(t, name, id, items, path)
	}
	return ownership(t, later, path)
}

// readAll returns all events of an execution's log.
func readAll(ctx context.Context, t *testing.T, log *eventlog.Log, id uuid.UUID) []eventlog.Item {
	var items []eventlog.Item
	for item, err := range log.Tail(ctx, id, eventlog.From{}) {
		if err != nil {
			t.Error(err)
			return nil
		}
		if item.Event == eventlog.End {
			break
		}
		if item.Event != "" {
			items = append(items, item)
		}
	}
	return items
}

func (w *runStore) path(id uuid.UUID) []perdure.Entry {
	w.t.Helper()
	x, err := w.store.Execution(w.t.Context(), w.org, id)
	w.must(err)
	var path []perdure.Entry
	for e, err := range w.store.Path(w.t.Context(), id, *x.Leaf, nil, 0, false) {
		w.must(err)
		path = append(path, e)
	}
	return path
}

// comparedMessage is a message in the form in which the views of the conversation are compared.
type comparedMessage struct {
	ID, Response string
	Role         perdure.Role
	Parts        []perdure.Part
}

func compareFold(t *testing.T, how string, id uuid.UUID, items []eventlog.Item, path []perdure.Entry) {
	t.Helper()
	var stored, folded []comparedMessage
	var fromEntries, fromStream []response.Update
	for _, e := range path {
		m, err := e.Message()
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, comparedMessage{e.MessageID, e.ResponseID, e.Role, plain(m.Parts)})
		fromEntries = append(fromEntries, updateOf(e.ResponseID, e.MessageID, e.Role, m.Parts...))
		if text := string(e.Content) + e.MessageID + e.ResponseID; strings.Contains(text, fakeID) {
			t.Errorf("a placeholder is stored: %s", text)
		}
	}
	s, err := fold(items)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range s.messages {
		parts := m.parts
		if m.role == perdure.RoleAssistant {
			parts = m.streamed()
		}
		folded = append(folded, comparedMessage{m.id, m.response, m.role, plain(parts)})
		fromStream = append(fromStream, m.updates()...)
	}
	for _, item := range items {
		if bytes.Contains(item.Data(), []byte(fakeID)) {
			t.Errorf("a placeholder is shown: %s", item.Data())
		}
	}
	for name, got := range map[string][]comparedMessage{
		"the stream folded":  folded,
		"the entries merged": mergeAll(id, fromEntries),
		"the stream merged":  mergeAll(id, fromStream),
	} {
		if diff := cmp.Diff(stored, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s, %s (-stored +got):\n%s", how, name, diff)
		}
	}
}

// updates returns the chunks of a message, in the order in which they arrived.
func (m *shownMessage) updates() []response.Update {
	if m.role != perdure.RoleAssistant {
		return []response.Update{updateOf(m.response, m.id, m.role, m.parts...)}
	}
	var all []response.Update
	for _, p := range m.pieces {
		part := perdure.Part{Type: perdure.PartToolCall, ID: p.call.Call.ID, Name: p.call.Call.Name, RawArguments: p.text}
		switch p.kind {
		case perdure.EventToken:
			part = perdure.Text(p.text)
		case perdure.EventThinking:
			part = perdure.Part{Type: perdure.PartThinking, Thinking: p.text}
		}
		all = append(all, updateOf(m.response, m.id, m.role, part))
	}
	return all
}

func updateOf(responseID, messageID string, role perdure.Role, parts ...perdure.Part) response.Update {
	u := response.Update{ResponseID: responseID, MessageID: messageID, Role: role}
	for _, p := range parts {
		u.Contents = append(u.Contents, response.Content{Part: p})
	}
	return u
}

// mergeAll passes the updates of each response to response.Merge, and returns the messages in the
// order of the responses.
func mergeAll(execution uuid.UUID, updates []response.Update) []comparedMessage {
	var order []string
	of := map[string][]response.Update{}
	for _, u := range updates {
		if of[u.ResponseID] == nil {
			order = append(order, u.ResponseID)
		}
		of[u.ResponseID] = append(of[u.ResponseID], u)
	}
	var all []comparedMessage
	for _, id := range order {
		for _, m := range response.Merge(response.Identity{Execution: execution, Response: id}, of[id]).Messages {
			all = append(all, comparedMessage{m.ID, id, m.Role, plain(m.Parts())})
		}
	}
	return all
}

// plain returns the parts without data that is not streamed: signatures, providers' ids of calls,
// and the boundaries between texts.
func plain(parts []perdure.Part) []perdure.Part {
	var all []perdure.Part
	for _, p := range parts {
		p.ThinkingSignature, p.TextSignature, p.ProviderID, p.Arguments, p.Native = "", "", "", nil, nil
		n := len(all) - 1
		switch {
		case n >= 0 && p.Type == perdure.PartText && all[n].Type == p.Type:
			all[n].Text += p.Text
		case n >= 0 && p.Type == perdure.PartThinking && all[n].Type == p.Type:
			all[n].Thinking += p.Thinking
		default:
			all = append(all, p)
		}
	}
	return all
}

// ownership checks to which response each message belongs, and returns the number of responses. A
// user message after an answer begins a response, whose id is that of the user's signal. Every
// other message belongs to the response of the message before it.
func ownership(t *testing.T, items []eventlog.Item, path []perdure.Entry) int {
	t.Helper()
	given := map[string]string{}
	running := ""
	for _, item := range items {
		var e event
		if err := json.Unmarshal(item.Data(), &e); err != nil {
			t.Fatal(err)
		}
		switch item.Event {
		case perdure.EventCreated:
			running = e.ResponseID
		case perdure.EventSignal:
			given["signal:"+e.SignalID] = e.ResponseID
		case perdure.EventCompleted:
			if last := path[len(path)-1].ResponseID; e.ResponseID != last {
				t.Errorf("the end belongs to %q, the last message to %q", e.ResponseID, last)
			}
		}
		if e.ResponseID == "" {
			t.Errorf("%s belongs to no response", item.Event)
		}
	}
	responses, over := 1, false
	for _, e := range path {
		if over && e.Role == perdure.RoleUser {
			running = given[e.Key]
			responses++
		}
		if e.ResponseID != running || !strings.HasPrefix(running, "resp_") {
			t.Errorf("message %s of the %s belongs to %q, want %q", e.MessageID, e.Role, e.ResponseID, running)
		}
		over = e.Role == perdure.RoleAssistant && len(e.Calls) == 0
	}
	return responses
}

// TestRetryKeepsTheResponse checks that the retry of a failed turn belongs to the same response as
// the failed try, even on another worker.
func TestRetryKeepsTheResponse(t *testing.T) {
	s := emptyWorkerPool(t, "turn\n  fail auth no such key\n")
	stop := s.work(100)
	id := s.start(engine.StartRequest{UserPrompt: "go"})
	began := s.idle(id, 0).ResponseID
	stop()
	s.play("s", "turn\n  text Done.\n")
	s.work(-1)
	_, err := s.engine.Signal(t.Context(), "default", id, engine.SignalRequest{Name: "retry"})
	if err != nil {
		t.Fatal(err)
	}
	x := s.until(id, func(x *perdure.Execution) bool {
		return x.Status == perdure.StatusWaiting && x.WaitReason == "signal" && x.EntryCount > 2
	})
	if x.ResponseID != began {
		t.Errorf("%q began, %q ended", began, x.ResponseID)
	}
	for _, r := range s.log(id) {
		if r.Type != perdure.EventSignal && r.Place.ResponseID != began {
			t.Errorf("%s belongs to %q, want %q", r.Type, r.Place.ResponseID, began)
		}
	}
}
