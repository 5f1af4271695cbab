package local

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// recorder is a dispatch that records its calls and returns the replies that the test has set.
type recorder struct {
	perdure.Dispatch
	agents   []perdure.AgentClaim
	tasks    []perdure.TaskClaim
	reply    perdure.CommitReply
	refuse   error
	known    map[uuid.UUID]*perdure.Task
	entries  []perdure.Entry
	onCommit func(perdure.Commit)
	runs     map[uuid.UUID]*perdure.Execution
	away     error

	polls    []perdure.Poll
	commits  []perdure.Commit
	finishes []perdure.TaskFinish
	beats    []perdure.Heartbeat
	releases []perdure.Release
	blobs    []string
	frames   []perdure.Frame
}

func (r *recorder) PollAgents(_ context.Context, p perdure.Poll) ([]perdure.AgentClaim, error) {
	r.polls = append(r.polls, p)
	return slices.Clone(r.agents), nil
}

func (r *recorder) PollTasks(_ context.Context, p perdure.Poll) ([]perdure.TaskClaim, error) {
	r.polls = append(r.polls, p)
	return slices.Clone(r.tasks), nil
}

func (r *recorder) Commit(_ context.Context, c perdure.Commit) (perdure.CommitReply, error) {
	r.commits = append(r.commits, c)
	if r.onCommit != nil {
		r.onCommit(c)
	}
	return r.reply, r.refuse
}

func (r *recorder) FinishTask(_ context.Context, f perdure.TaskFinish) (perdure.FinishReply, error) {
	r.finishes = append(r.finishes, f)
	return perdure.FinishReply{}, nil
}

func (r *recorder) Execution(_ context.Context, id uuid.UUID) (*perdure.Execution, error) {
	if x := r.runs[id]; x != nil || r.away != nil {
		return x, r.away
	}
	return nil, perdure.Errorf(perdure.NotFound, "no execution %s", id)
}

func (r *recorder) Heartbeat(_ context.Context, h perdure.Heartbeat) (perdure.HeartbeatReply, error) {
	r.beats = append(r.beats, h)
	return perdure.HeartbeatReply{}, nil
}

func (r *recorder) Release(_ context.Context, q perdure.Release) error {
	r.releases = append(r.releases, q)
	return nil
}

func (r *recorder) Append(_ context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
	r.frames = append(r.frames, frames...)
	return make([]perdure.FrameReply, len(frames)), r.refuse
}

func (r *recorder) Tasks(_ context.Context, _ uuid.UUID, ids []uuid.UUID) ([]*perdure.Task, error) {
	found := make([]*perdure.Task, len(ids))
	for i, id := range ids {
		found[i] = r.known[id]
	}
	return found, nil
}

func (r *recorder) Entries(context.Context, perdure.EntryQuery) iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		for _, e := range r.entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (r *recorder) PutBlob(_ context.Context, _ perdure.BlobOwner, _ int64, content io.Reader) (perdure.BlobRef, error) {
	raw, err := io.ReadAll(content)
	r.blobs = append(r.blobs, string(raw))
	return perdure.BlobRef{ID: uuid.New(), Length: int64(len(raw))}, err
}

func (r *recorder) GetBlob(context.Context, uuid.UUID, uuid.UUID) (io.ReadCloser, error) {
	return nil, perdure.Errorf(perdure.NotFound, "withheld")
}

// dispatchTest is a local store, a Dispatch that uses this store and sends its calls to a recorder,
// and an execution that was claimed through the Dispatch.
type dispatchTest struct {
	*testing.T
	s     *Store
	r     *recorder
	d     *Dispatch
	id    uuid.UUID
	lease perdure.Lease
}

func newDispatchTest(t *testing.T, mode perdure.PersistenceMode) *dispatchTest {
	t.Helper()
	c := &dispatchTest{T: t, s: openStore(t, t.TempDir()), r: &recorder{known: map[uuid.UUID]*perdure.Task{}}, id: uuid.New()}
	c.d = Wrap(c.r, c.s, slog.New(slog.NewTextHandler(io.Discard, nil)))
	c.claim(&perdure.Execution{ID: c.id, PersistenceMode: mode, Input: json.RawMessage(`"the input"`)})
	return c
}

func (c *dispatchTest) claim(x *perdure.Execution, change ...func(*perdure.AgentClaim)) []perdure.AgentClaim {
	c.Helper()
	c.lease = perdure.Lease{ExecutionID: c.id, Fence: c.lease.Fence + 1, ClaimID: uuid.New()}
	claim := perdure.AgentClaim{Lease: c.lease, Execution: x}
	for _, edit := range change {
		edit(&claim)
	}
	c.r.agents = []perdure.AgentClaim{claim}
	claims, err := c.d.PollAgents(c.Context(), perdure.Poll{Slots: 1})
	if err != nil && len(claims) > 0 {
		c.Fatal(err)
	}
	return claims
}

const marker = "what-stays-here"

func quoted(what string) json.RawMessage { return json.RawMessage(fmt.Sprintf("%q", marker+" "+what)) }

// marked returns a commit with the text of `marker` in every field that can have content.
func (c *dispatchTest) marked() perdure.Commit {
	c.Helper()
	user, err := perdure.NewMessageEntry(perdure.UserText(marker + " user"))
	if err != nil {
		c.Fatal(err)
	}
	record := perdure.Entry{
		ID: uuid.New(), Type: perdure.EntryLLMCall, ParentID: &user.ID,
		Content: json.RawMessage(`{"parts": []}`), Metadata: json.RawMessage(`{"note":` + string(quoted("metadata")) + `}`),
	}
	return perdure.Commit{
		Lease: c.lease, Number: 1, Entries: []perdure.NewEntry{{Entry: user}, {Entry: record}},
		Tasks: []perdure.NewTask{{Kind: "k", Key: "task:1", Input: perdure.Inline(quoted("task input"))}},
		Steps: []perdure.StepRecord{
			{Name: "s", Instance: marker + " instance", Key: "task:2", Result: perdure.Inline(quoted("step result"))},
			{Name: "f", Key: "task:3", Error: &perdure.TaskError{Code: "agent_failed", Message: marker + " step error"}},
		},
		Checkpoint: &perdure.NewCheckpoint{State: perdure.Inline(quoted("state"))},
		Outcome: perdure.Outcome{
			Kind: perdure.OutcomeComplete, Output: perdure.Inline(quoted("output")),
			Error: &perdure.TaskError{Code: "agent_failed", Message: marker + " error"},
		},
	}
}

func (c *dispatchTest) checkUnchanged(what string, sent any) {
	c.Helper()
	raw, err := json.Marshal(sent)
	if err != nil {
		c.Fatal(err)
	}
	if bytes.Contains(raw, []byte(marker)) {
		c.Errorf("content passed to the server in %s: %s", what, raw)
	}
}

// TestLocalContentStaysOffTheServer checks that commits, ends of tasks, heartbeats, releases and
// blobs of a LOCAL execution send no content to the server. The contents of a commit are in the
// local store before the server receives the commit.
func TestLocalContentStaysOffTheServer(t *testing.T) {
	c := newDispatchTest(t, perdure.Local)
	commit := c.marked()
	before, err := json.Marshal(commit)
	if err != nil {
		t.Fatal(err)
	}
	c.r.onCommit = func(sent perdure.Commit) {
		refs := []*perdure.BlobRef{
			sent.Entries[0].Blob, sent.Entries[1].Blob, sent.Tasks[0].Input.Blob, sent.Steps[0].Result.Blob,
			sent.Checkpoint.State.Blob, sent.Outcome.Output.Blob,
		}
		for i, what := range []string{"user", "metadata", "task input", "step result", "state", "output"} {
			content, err := c.s.Get(t.Context(), c.id, refs[i].SHA256)
			if err != nil || !strings.Contains(string(content), marker+" "+what) {
				t.Errorf("%s is not stored before the commit: %q, %v", what, content, err)
			}
			if want := perdure.ContentRef(c.id, content); *refs[i] != want {
				t.Errorf("%s has the reference %v, want %v", what, *refs[i], want)
			}
		}
	}
	if _, err := c.d.Commit(t.Context(), commit); err != nil {
		t.Fatal(err)
	}
	c.checkUnchanged("a commit", c.r.commits)
	if c.r.commits[0].Steps[1].Error.Code != "agent_failed" || c.r.commits[0].Outcome.Error.Code != "agent_failed" {
		t.Error("the code of an error did not pass")
	}
	if after, _ := json.Marshal(commit); !bytes.Equal(before, after) {
		t.Errorf("the caller's commit was changed:\n%s\n%s", before, after)
	}
	task := perdure.TaskLease{ExecutionID: c.id, TaskID: uuid.New(), Attempt: 2}
	_, err = c.d.FinishTask(t.Context(), perdure.TaskFinish{Lease: task, Result: perdure.Inline(quoted("result"))})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.d.FinishTask(t.Context(), perdure.TaskFinish{Lease: task, Error: &perdure.TaskError{Code: "x", Message: marker}})
	if err != nil {
		t.Fatal(err)
	}
	c.checkUnchanged("the end of a task", c.r.finishes)
	if _, err := c.d.Heartbeat(t.Context(), perdure.Heartbeat{Tasks: []perdure.TaskHeartbeat{{Lease: task, Progress: quoted("progress")}}}); err != nil {
		t.Fatal(err)
	}
	c.checkUnchanged("a heartbeat", c.r.beats)
	if err := c.d.Release(t.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: c.lease, Panic: marker}}}); err != nil {
		t.Fatal(err)
	}
	c.checkUnchanged("a release", c.r.releases)
	if c.r.releases[0].Agents[0].Panic == "" {
		t.Error("the panic is not told at all")
	}
	ref, err := c.d.PutBlob(t.Context(), perdure.BlobOwner{ExecutionID: c.id}, int64(len(marker)), strings.NewReader(marker))
	if err != nil || ref != perdure.ContentRef(c.id, []byte(marker)) || len(c.r.blobs) > 0 {
		t.Errorf("the blob went to the server: %v %v %v", ref, err, c.r.blobs)
	}
	for name, want := range map[string]string{
		inputName: `"the input"`, errorName: marker, taskErrorName(task.TaskID, 2): marker,
	} {
		if got, err := c.s.Named(t.Context(), c.id, name); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}

// TestRemoteCallsAreUnchanged checks that calls about a REMOTE execution are passed on unchanged,
// and that the local store has none of its contents.
func TestRemoteCallsAreUnchanged(t *testing.T) {
	c := newDispatchTest(t, perdure.Remote)
	commit := c.marked()
	if _, err := c.d.Commit(t.Context(), commit); err != nil {
		t.Fatal(err)
	}
	finish := perdure.TaskFinish{Lease: perdure.TaskLease{ExecutionID: c.id}, Result: perdure.Inline(quoted("result"))}
	if _, err := c.d.FinishTask(t.Context(), finish); err != nil {
		t.Fatal(err)
	}
	if _, err := c.d.Append(t.Context(), []perdure.Frame{{AgentLease: &c.lease, Text: "shown"}}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]perdure.Commit{commit}, c.r.commits); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]perdure.TaskFinish{finish}, c.r.finishes); d != "" {
		t.Error(d)
	}
	if there, err := c.s.Has(t.Context(), c.id); there || err != nil {
		t.Errorf("something of it is kept: %v %v", there, err)
	}
}

// TestLocalContentsAreFilledIn checks that the worker receives entries, claims and errors of a
// LOCAL execution with their complete contents.
func TestLocalContentsAreFilledIn(t *testing.T) {
	c := newDispatchTest(t, perdure.Local)
	commit := c.marked()
	if _, err := c.d.Commit(t.Context(), commit); err != nil {
		t.Fatal(err)
	}
	sent := c.r.commits[0]
	for i := range sent.Entries {
		e := sent.Entries[i].Entry
		e.Blob = sent.Entries[i].Blob
		c.r.entries = append(c.r.entries, e)
	}
	i := 0
	for e, err := range c.d.Entries(t.Context(), perdure.EntryQuery{ExecutionID: c.id}) {
		want := commit.Entries[i].Entry
		if err != nil || !bytes.Equal(e.Content, want.Content) || !bytes.Equal(e.Metadata, want.Metadata) {
			t.Errorf("entry %d is %s %s, %v", i, e.Content, e.Metadata, err)
		}
		i++
	}
	failed := perdure.TaskError{Code: "x", Message: perdure.KeptByWorker}
	task := uuid.New()
	finish := perdure.TaskFinish{
		Lease: perdure.TaskLease{ExecutionID: c.id, TaskID: task, Attempt: 3}, Error: &perdure.TaskError{Code: "x", Message: "why"},
	}
	if _, err := c.d.FinishTask(t.Context(), finish); err != nil {
		t.Fatal(err)
	}
	claims := c.claim(&perdure.Execution{ID: c.id, PersistenceMode: perdure.Local}, func(claim *perdure.AgentClaim) {
		claim.Checkpoint = &perdure.Checkpoint{Sequence: 1, Blob: sent.Checkpoint.State.Blob}
		claim.Results = []*perdure.Task{
			{ID: task, Attempt: 3, Status: perdure.TaskFailed, Error: &failed},
			{ID: perdure.TaskID("task:2"), Step: true, Status: perdure.TaskCompleted, ResultBlob: sent.Steps[0].Result.Blob},
			{ID: perdure.TaskID("task:3"), Step: true, Status: perdure.TaskFailed, Error: &failed},
		}
	})
	if len(claims) != 1 {
		t.Fatalf("%d claims", len(claims))
	}
	got := claims[0]
	for _, part := range []struct{ what, got, want string }{
		{"the input", string(got.Execution.Input), `"the input"`},
		{"the state", string(got.Checkpoint.State), string(quoted("state"))},
		{"a task's error", got.Results[0].Error.Message, "why"},
		{"a step's result", string(got.Results[1].Result), string(quoted("step result"))},
		{"a step's error", got.Results[2].Error.Message, marker + " step error"},
	} {
		if part.got != part.want {
			t.Errorf("%s is %q, want %q", part.what, part.got, part.want)
		}
	}
	c.r.tasks = []perdure.TaskClaim{{
		Lease: perdure.TaskLease{ExecutionID: c.id},
		Task:  &perdure.Task{Queue: perdure.LocalQueue(c.s.WorkerID()), InputBlob: sent.Tasks[0].Input.Blob},
	}}
	tasks, err := c.d.PollTasks(t.Context(), perdure.Poll{Queues: []string{"default"}})
	if err != nil || len(tasks) != 1 || string(tasks[0].Task.Input) != string(quoted("task input")) {
		t.Errorf("the claimed task: %v %v", tasks, err)
	}
	if p := c.r.polls[len(c.r.polls)-1]; !p.Local || !slices.Contains(p.Queues, perdure.LocalQueue(c.s.WorkerID())) {
		t.Errorf("the poll is %+v", p)
	}
}

// TestStepOfALostCommitIsFoundAndSentAgain checks a step whose commit did not reach the server. The
// step is found by its key. All commits include its record until the server has received one of
// them.
func TestStepOfALostCommitIsFoundAndSentAgain(t *testing.T) {
	c := newDispatchTest(t, perdure.Local)
	c.r.refuse = perdure.Errorf(perdure.LeaseLost, "planned")
	if _, err := c.d.Commit(t.Context(), c.marked()); !perdure.IsCode(err, perdure.LeaseLost) {
		t.Fatal(err)
	}
	c.r.refuse = nil
	c.claim(&perdure.Execution{ID: c.id, PersistenceMode: perdure.Local})
	ids := []uuid.UUID{perdure.TaskID("task:2"), perdure.TaskID("task:3"), perdure.TaskID("task:4")}
	for range 2 {
		found, err := c.d.Tasks(t.Context(), c.id, ids)
		if err != nil {
			t.Fatal(err)
		}
		if found[0] == nil || string(found[0].Result) != string(quoted("step result")) || found[0].Status != perdure.TaskCompleted {
			t.Errorf("the step is %+v", found[0])
		}
		if found[1] == nil || found[1].Status != perdure.TaskFailed || found[1].Error.Message != marker+" step error" {
			t.Errorf("the failed step is %+v", found[1])
		}
		if found[2] != nil {
			t.Errorf("a step that never was is %+v", found[2])
		}
	}
	for n, want := range []int{2, 2, 0} {
		c.r.refuse = []error{perdure.Errorf(perdure.Unavailable, "planned"), nil, nil}[n]
		_, err := c.d.Commit(t.Context(), perdure.Commit{Lease: c.lease, Number: 1})
		if perdure.CodeOf(err) != perdure.CodeOf(c.r.refuse) {
			t.Fatal(err)
		}
		sent := c.r.commits[len(c.r.commits)-1]
		if len(sent.Steps) != want {
			t.Errorf("commit %d has %d steps, want %d", n, len(sent.Steps), want)
		}
		c.checkUnchanged("a step sent again", sent)
	}
}

// TestLostContentGivesTheExecutionBackWithTheReason checks an execution whose contents the local
// store has lost. The Dispatch releases the execution with a reason that names the execution. A
// commit then returns lease_lost, and a task without its input ends with an error.
func TestLostContentGivesTheExecutionBackWithTheReason(t *testing.T) {
	for name, damage := range map[string]string{"lost": "DELETE FROM contents", "damaged": "UPDATE chunks SET bytes = zeroblob(length(bytes))"} {
		t.Run(name, func(t *testing.T) {
			c := newDispatchTest(t, perdure.Local)
			if _, err := c.d.Commit(t.Context(), c.marked()); err != nil {
				t.Fatal(err)
			}
			state := c.r.commits[0].Checkpoint.State.Blob
			alter(t, c.s.dir, damage)
			claims := c.claim(&perdure.Execution{ID: c.id, PersistenceMode: perdure.Local, Input: json.RawMessage("1")}, func(claim *perdure.AgentClaim) {
				claim.Checkpoint = &perdure.Checkpoint{Blob: state}
			})
			if len(claims) != 0 || len(c.r.releases) != 1 {
				t.Fatalf("%d claims, %d releases", len(claims), len(c.r.releases))
			}
			why := c.r.releases[0].Agents[0].Panic
			if !strings.Contains(why, c.id.String()) || name == "lost" && !strings.Contains(why, c.s.WorkerID().String()) {
				t.Errorf("the reason is %q", why)
			}
			c.r.reply = perdure.CommitReply{Tasks: []*perdure.Task{{Status: perdure.TaskCompleted, ResultBlob: state}}}
			if _, err := c.d.Commit(t.Context(), perdure.Commit{Lease: c.lease, Number: 1}); !perdure.IsCode(err, perdure.LeaseLost) {
				t.Errorf("a run goes on without a result: %v", err)
			}
			c.r.tasks = []perdure.TaskClaim{{
				Lease: perdure.TaskLease{ExecutionID: c.id}, Task: &perdure.Task{Queue: perdure.LocalQueue(c.s.WorkerID()), InputBlob: state},
			}}
			tasks, err := c.d.PollTasks(t.Context(), perdure.Poll{})
			if err != nil || len(tasks) != 0 || len(c.r.finishes) != 1 || c.r.finishes[0].Error == nil {
				t.Errorf("a task without input: %v %v %v", tasks, err, c.r.finishes)
			}
		})
	}
}

// TestShownContentIsKept checks that the text of streamed blocks up to the end of each chunk is
// found in the local store by its hash, even if chunks were repeated. After the blocks are closed,
// none of their states is in memory.
func TestShownContentIsKept(t *testing.T) {
	c := newDispatchTest(t, perdure.Local)
	task := &perdure.TaskLease{ExecutionID: c.id, TaskID: uuid.New(), Attempt: 1}
	fields := json.RawMessage(`{"data":{"type":"plan"}}`)
	show := func(frames ...perdure.Frame) {
		t.Helper()
		for i := range frames {
			frames[i].AgentLease = &c.lease
			if frames[i].Block > 9 {
				frames[i].AgentLease, frames[i].Lease = nil, task
			}
		}
		if _, err := c.d.Append(t.Context(), frames); perdure.CodeOf(err) != perdure.CodeOf(c.r.refuse) {
			t.Fatal(err)
		}
	}
	c.r.refuse = perdure.Errorf(perdure.Unavailable, "planned")
	show(perdure.Frame{Block: 0, Text: "agent "}, perdure.Frame{Block: 10, Text: "task "})
	c.r.refuse = nil
	show(perdure.Frame{Block: 0, Text: "agent says"}, perdure.Frame{Block: 10, Text: "task "}, perdure.Frame{Block: 10, Offset: 5, Text: "says"})
	show(perdure.Frame{Block: 0, Offset: 10, Close: true}, perdure.Frame{Block: 11, Fields: fields}, perdure.Frame{Block: 10, Offset: 9, Text: ".", Close: true})
	for _, text := range []string{"agent ", "agent says", "task ", "task says", "task says.", string(fields)} {
		got, err := c.s.Get(t.Context(), c.id, perdure.ContentRef(c.id, []byte(text)).SHA256)
		if err != nil || string(got) != text {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if n := len(c.d.of(c.id).blocks); n != 0 {
		t.Errorf("%d closed blocks are remembered", n)
	}
	if len(c.r.frames) != 8 {
		t.Errorf("%d frames passed", len(c.r.frames))
	}
}

// TestPromotedExecutionCommitsUnchanged checks that commits of an execution that has been changed
// from LOCAL to REMOTE are passed on unchanged.
func TestPromotedExecutionCommitsUnchanged(t *testing.T) {
	c := newDispatchTest(t, perdure.Local)
	c.claim(&perdure.Execution{ID: c.id, PersistenceMode: perdure.Remote})
	commit := c.marked()
	if _, err := c.d.Commit(t.Context(), commit); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]perdure.Commit{commit}, c.r.commits); d != "" {
		t.Error(d)
	}
}

// TestInvalidContentIsRefusedBeforeItIsStored checks that the Dispatch refuses an invalid message
// of a LOCAL execution and does not send the commit. The server could not check the message.
func TestInvalidContentIsRefusedBeforeItIsStored(t *testing.T) {
	c := newDispatchTest(t, perdure.Local)
	commit := c.marked()
	commit.Entries[0].Content = json.RawMessage(`{"parts": [{"type": "toolCall", "id": "1", "name": "x"}]}`)
	if _, err := c.d.Commit(t.Context(), commit); !perdure.IsCode(err, perdure.InvalidTranscript) || len(c.r.commits) > 0 {
		t.Errorf("%v, %d commits passed", err, len(c.r.commits))
	}
}
