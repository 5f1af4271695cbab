package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// told creates a LOCAL execution that waits for a message and has contents of each sort: an entry,
// a task, an event, a block and a state. It returns the execution's keeper, the id of the task and
// the records that live readers got.
func told(t *testing.T) (k *keeper, task uuid.UUID, live []perdure.Record) {
	t.Helper()
	k = newKeeper(t)
	k.agentFrames("hello", ", world")
	work := k.task([]byte(`"` + strings.Repeat("7", 98) + `"`))
	folded := user(nil, "first")
	folded.Metadata = json.RawMessage(`{"by":"hand"}`)
	plain := folded.Entry
	k.must(plain.EmbedMetadata())
	folded.Metadata, folded.Content = nil, plain.Content
	k.commit(func(c *perdure.Commit) {
		c.Entries, c.Tasks = []perdure.NewEntry{k.entry(folded)}, []perdure.NewTask{work}
		c.Events = []perdure.NewEvent{{Type: perdure.EventData, Fields: k.keep(quotedObject("event"))}}
		c.Blocks = []perdure.BlockEnd{{Key: perdure.BlockKey{Attempt: k.claim.Lease.Fence}, Length: 12}}
		c.Checkpoint = &perdure.NewCheckpoint{State: k.ref(quoted("state"))}
	})
	large := append(append([]byte(`"`), bytes.Repeat([]byte("x"), 900_000)...), '"')
	_, err := k.d.FinishTask(t.Context(), perdure.TaskFinish{Lease: k.taskClaimed().Lease, Result: k.ref(large)})
	k.must(err)
	k.suspend(perdure.WaitSignal(perdure.UserMessage))
	return k, perdure.TaskID(work.Key), k.liveLog(k.id)
}

func (k *keeper) keep(content []byte) []byte {
	k.put(content)
	return content
}

// TestPromotedIsWhole checks that Promote copies all contents of a LOCAL execution to the server.
// Afterwards a worker without its own store can continue the execution, and the stored log equals
// the records that live readers got.
func TestPromotedIsWhole(t *testing.T) {
	k, task, live := told(t)
	k.serve()
	x, err := k.e.Promote(t.Context(), org, k.id)
	k.must(err)
	if x.PersistenceMode != perdure.Remote || x.HomeID != nil || x.Status != perdure.StatusWaiting {
		t.Errorf("the promoted execution is %s, home %v, %s", x.PersistenceMode, x.HomeID, x.Status)
	}
	if input := k.execution(k.id).Input; string(input) != string(quoted("input")) {
		t.Errorf("the promoted execution has the input %s", input)
	}
	// The log is read from the store, not from the server's memory.
	if diff := cmp.Diff(live, k.log(k.id)); diff != "" {
		t.Errorf("the log is another (-live +promoted):\n%s", diff)
	}
	entries := k.pathOf(x.Leaf, k.id)
	if len(entries) != 1 || string(entries[0].Metadata) != `{"by":"hand"}` || !strings.HasPrefix(string(entries[0].Content), `{"parts"`) {
		t.Errorf("the entries are %+v", entries)
	}
	if done := k.bench.task(k.id, task); len(done.Result) != 900_002 || len(done.Input) != 100 {
		t.Errorf("the task has %d bytes of input, %d of result", len(done.Input), len(done.Result))
	}
	k.signal(k.id, perdure.UserMessage, "go on")
	next := k.bench.claim().claim // a worker without its own store
	if string(next.Checkpoint.State) != string(quoted("state")) {
		t.Errorf("the next worker has the state %s", next.Checkpoint.State)
	}
	if next.Lease.ExecutionID != k.id {
		t.Error("another worker does not claim it")
	}
}

// TestPromotionGoesOnWhereItStopped checks that contents that Promote has copied are not visible
// before the final commit of Promote. A second call of Promote does not request these contents from
// the worker again.
func TestPromotionGoesOnWhereItStopped(t *testing.T) {
	k, _, _ := told(t)
	k.serve()
	all := k.all
	lost := perdure.Hash(sha256.Sum256(quoted("state")))
	k.mu.Lock()
	delete(all, lost)
	k.mu.Unlock()
	before := k.snapshot(k.id)
	for range 2 {
		_, err := k.e.Promote(t.Context(), org, k.id)
		k.wantCode(err, perdure.NotFound)
	}
	if after := k.snapshot(k.id); after != before {
		t.Errorf("a promotion that did not end is seen:\n%s\n%s", before, after)
	}
	x := k.execution(k.id)
	k.put(quoted("state"))
	k.must(k.e.copyAll(t.Context(), x, withheldBlobs(k)))
	asked := k.asked
	_, err := k.e.Promote(t.Context(), org, k.id)
	k.must(err)
	if k.asked != asked {
		t.Errorf("contents that were copied were asked for again: %d times", k.asked-asked)
	}
}

// TestPromotionGivesWayToASignal checks that Promote fails with conflict if a signal arrives while
// Promote copies contents. The execution's worker then gets the signal.
func TestPromotionGivesWayToASignal(t *testing.T) {
	k, _, _ := told(t)
	k.serve()
	once := sync.OnceFunc(func() { k.signal(k.id, perdure.UserMessage, "hello") })
	k.change = func(content []byte) []byte { once(); return content }
	_, err := k.e.Promote(t.Context(), org, k.id)
	k.wantCode(err, perdure.Conflict)
	x := k.wantStatus(k.id, perdure.StatusPending)
	if x.PersistenceMode != perdure.Local {
		t.Errorf("it is %s", x.PersistenceMode)
	}
	k.again()
	if len(k.claim.Signals) != 1 || k.claim.Signals[0].ID != "hello" {
		t.Errorf("its home is given the signals %+v", k.claim.Signals)
	}
}

// TestPromotionsThatAreRefused checks the conditions of Promote: the execution waits for a signal
// and has no running task, and its worker is connected and sends the right bytes. If a condition is
// not met, the error says which.
func TestPromotionsThatAreRefused(t *testing.T) {
	refused := func(k *keeper, code perdure.Code, says string) {
		t.Helper()
		_, err := k.e.Promote(t.Context(), org, k.id)
		k.wantCode(err, code)
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
	k := newKeeper(t)
	disconnect := k.serve()
	refused(k, perdure.Conflict, "RUNNING")
	task := k.task([]byte(`1`))
	k.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{task} })
	claim := k.taskClaimed()
	k.suspend(perdure.WaitTask(perdure.TaskID(task.Key)))
	refused(k, perdure.Conflict, "waits for a task")
	_, err := k.d.FinishTask(t.Context(), perdure.TaskFinish{Lease: claim.Lease, Result: k.ref([]byte(`2`))})
	k.must(err)
	refused(k, perdure.Conflict, "PENDING")
	k.again()
	k.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{k.task([]byte(`3`))} })
	k.suspend(perdure.WaitSignal("x"))
	refused(k, perdure.Conflict, "still runs")
	_, err = k.d.FinishTask(t.Context(), perdure.TaskFinish{Lease: k.taskClaimed().Lease, Result: k.ref([]byte(`4`))})
	k.must(err)
	disconnect()
	refused(k, perdure.Unavailable, "not connected since")
	k.serve()
	k.change = func(content []byte) []byte { return append(bytes.Clone(content), 'x') }
	refused(k, perdure.Internal, "something else")
	k.change = nil
	_, err = k.e.Promote(t.Context(), org, k.id)
	k.must(err)
	refused(k, perdure.Conflict, "REMOTE already")
	_, err = k.e.Promote(t.Context(), "other", k.id)
	k.wantCode(err, perdure.NotFound)
}

// TestPromotionClosesOpenBlocks checks that Promote copies an open block, and closes it.
func TestPromotionClosesOpenBlocks(t *testing.T) {
	k := newKeeper(t)
	k.serve()
	k.agentFrames("left ", "open")
	k.suspend(perdure.WaitSignal("x"))
	_, err := k.e.Promote(t.Context(), org, k.id)
	k.must(err)
	var text string
	for _, r := range k.log(k.id) {
		if r.Chunk != nil {
			text += r.Chunk.Text
		}
	}
	if text != "left open" || k.count(k.id, perdure.EventBlockClosed) != 1 {
		t.Errorf("the log has %q and %v", text, k.events(k.id))
	}
}

// TestLargeContentIsPromoted checks that a content of several pieces is copied. A content that does
// not match its hash is never stored completely.
func TestLargeContentIsPromoted(t *testing.T) {
	k := newKeeper(t)
	k.use(k.s, func(c *Config) { c.PayloadLimit = 64 << 20 })
	k.serve()
	large := append(append([]byte(`"`), bytes.Repeat([]byte("y"), 5<<20)...), '"')
	k.commit(func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{State: k.ref(large)} })
	k.suspend(perdure.WaitSignal("x"))
	k.change = func(content []byte) []byte {
		wrong := bytes.Clone(content)
		wrong[len(wrong)-2] = 'z'
		return wrong
	}
	_, err := k.e.Promote(t.Context(), org, k.id)
	k.wantCode(err, perdure.Internal)
	for _, b := range withheldBlobs(k) {
		if b.Staged == b.Length {
			t.Error("a wrong content is staged whole")
		}
	}
	k.change = nil
	_, err = k.e.Promote(t.Context(), org, k.id)
	k.must(err)
	c, err := k.s.Checkpoint(t.Context(), k.id, 0)
	k.must(err)
	if !bytes.Equal(c.State, large) {
		t.Errorf("the state has %d bytes", len(c.State))
	}
}

// TestContentByHash checks that a content of a LOCAL execution can be read by its hash while the
// execution's worker is connected. The error is internal if the worker sends wrong bytes, and
// not_found if the hash is unknown.
func TestContentByHash(t *testing.T) {
	k, _, _ := told(t)
	sum := func(content []byte) perdure.Hash { return sha256.Sum256(content) }
	read := func(content []byte) ([]byte, error) {
		r, length, err := k.e.Homes().Content(t.Context(), org, k.id, sum(content))
		if err != nil {
			return nil, err
		}
		got, err := io.ReadAll(r)
		if length != int64(len(content)) {
			t.Errorf("its length is %d, want %d", length, len(content))
		}
		return got, errors.Join(err, r.Close())
	}
	_, err := read(quoted("state"))
	k.wantCode(err, perdure.Unavailable)
	if !strings.Contains(err.Error(), k.worker.String()) {
		t.Errorf("%v does not name the worker", err)
	}
	k.serve()
	for _, content := range [][]byte{quoted("state"), quoted("input"), quotedObject("event"), []byte("hello, world")} {
		if got, err := read(content); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s gives %s, %v", content, got, err)
		}
	}
	_, err = read([]byte("never seen"))
	k.wantCode(err, perdure.NotFound)
	k.change = func([]byte) []byte { return []byte("something else") }
	_, err = read(quoted("state"))
	k.wantCode(err, perdure.Internal)
	_, _, err = k.e.Homes().Content(t.Context(), "other", k.id, sum(quoted("state")))
	k.wantCode(err, perdure.NotFound)
}

// TestAwayIsTold checks Away of a PENDING LOCAL execution. If the execution's worker is not
// connected, Away names that worker. Away also has the time of the worker's last contact, if this
// server knows that time.
func TestAwayIsTold(t *testing.T) {
	k := newKeeper(t)
	away := func() *perdure.WorkerAway {
		t.Helper()
		x, err := k.e.Read().Execution(t.Context(), org, k.id)
		k.must(err)
		page, err := k.e.Read().Executions(t.Context(), org, listAll)
		k.must(err)
		if diff := cmp.Diff(x.Away, page.Items[0].Away); diff != "" {
			t.Errorf("the list says otherwise: %s", diff)
		}
		return x.Away
	}
	if away() != nil {
		t.Error("a RUNNING execution says that its home is away")
	}
	disconnect := k.serve()
	k.must(k.d.Release(t.Context(), perdure.Release{WorkerID: k.worker, Agents: []perdure.AgentRelease{{Lease: k.claim.Lease}}}))
	if away() != nil {
		t.Error("a home that is connected is told to be away")
	}
	k.clock.advance(testLease)
	disconnect()
	since := k.s.Now()
	k.clock.advance(testLease)
	if a := away(); a == nil || a.WorkerID != k.worker || a.Since == nil || !a.Since.Equal(since.Time) {
		t.Errorf("the home is away: %+v, want since %s", a, since)
	}
	k.use(k.s) // as after a restart of the server
	if a := away(); a == nil || a.Since != nil {
		t.Errorf("the home is away: %+v", a)
	}
}
