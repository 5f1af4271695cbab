package grpcapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
	"github.com/perdure/perdure/api/perdure/v1/pbconv/pbconvtest"
	"github.com/perdure/perdure/internal/longtest"
	"google.golang.org/protobuf/proto"
)

// roomy is the maximum size of a message in bytes in these tests: half of gRPC's limit of 4 MiB.
const roomy = 2 << 20

func jsonOf(size int) json.RawMessage {
	return json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`)
}

func TestTenThousandEntriesArrive(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	execution := uuid.New()
	entries := make([]perdure.Entry, 10_000)
	for i := range entries {
		entries[i] = perdure.Entry{ID: uuid.New(), Type: perdure.EntryMessage, Role: perdure.RoleUser, Content: fmt.Appendf(nil, `{"n":%d}`, i)}
	}
	entries[5000].Content = jsonOf(5 << 20)
	entries[6000].Content = jsonOf(perdure.InlineLimit + 1)
	// The entry has only a reference; the server must read the entry's content from the blob.
	ref := w.fake.keep(jsonOf(300_000))
	entries[7000].Content, entries[7000].Blob = nil, &ref
	w.fake.entries = each(entries)
	want := slices.Clone(entries)
	want[7000].Content = jsonOf(300_000)
	n := 0
	for entry, err := range c.Entries(t.Context(), perdure.EntryQuery{ExecutionID: execution, Leaf: entries[9999].ID}) {
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("entry %d", n), want[n], entry)
		n++
	}
	if n != len(entries) {
		t.Fatalf("%d of %d entries arrived", n, len(entries))
	}
}

func TestAReaderOfEntriesMayStop(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	w.fake.entries = each(pbconvtest.Fill[[]perdure.Entry](full))
	for _, err := range c.Entries(t.Context(), perdure.EntryQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
}

func TestAnErrorInTheMiddleOfEntriesArrives(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	entry := pbconvtest.Fill[perdure.Entry](full)
	w.fake.entries = func(yield func(perdure.Entry, error) bool) {
		_ = yield(entry, nil) && yield(perdure.Entry{}, perdure.Errorf(perdure.NotFound, "no such leaf"))
	}
	var got []error
	for _, err := range c.Entries(t.Context(), perdure.EntryQuery{}) {
		got = append(got, err)
	}
	if len(got) != 2 || got[0] != nil || !perdure.IsCode(got[1], perdure.NotFound) {
		t.Fatalf("the entries gave %v", got)
	}
}

// bulky returns a claim with many contents. Some are too large for a message, and some are also
// stored as blobs.
func bulky(f *fake) perdure.AgentClaim {
	execution := uuid.New()
	claim := perdure.AgentClaim{
		Lease:      perdure.Lease{ExecutionID: execution, Fence: 1, ClaimID: uuid.New()},
		Execution:  &perdure.Execution{ID: execution, Input: jsonOf(5 << 20)},
		Checkpoint: &perdure.Checkpoint{Sequence: 1, State: jsonOf(100_000)},
	}
	stored := jsonOf(70_000)
	ref := f.keep(stored)
	for i := range 60 {
		claim.Results = append(claim.Results, &perdure.Task{ID: uuid.New(), ExecutionID: execution, Kind: "bash", Result: jsonOf(30_000 + i)})
		claim.Again = append(claim.Again, perdure.Signal{ID: fmt.Sprint("again", i), Value: jsonOf(20_000 + i)})
	}
	claim.Results[3].Result, claim.Results[3].ResultBlob = stored, &ref
	claim.Results[4].Result = jsonOf(3 << 20)
	claim.Signals = []perdure.Signal{{ID: "s", Name: perdure.UserMessage, Value: stored, Blob: &ref}}
	return claim
}

// fillTasks returns a function that answers the calls of a fake. The reply to a poll has all
// claims, the reply to a finish has the first claim, and reads of tasks get the tasks of the
// claims.
func fillTasks(claims []perdure.AgentClaim) func(string, any) (any, error) {
	tasks := map[uuid.UUID]*perdure.Task{}
	for _, claim := range claims {
		for _, task := range claim.Results {
			tasks[task.ID] = task
		}
	}
	return func(call string, asked any) (any, error) {
		switch call {
		case "PollAgents":
			return claims, nil
		case "FinishTask":
			return perdure.FinishReply{Claim: &claims[0]}, nil
		case "Tasks":
			var found []*perdure.Task
			for _, id := range asked.(args)[1].([]uuid.UUID) {
				found = append(found, tasks[id])
			}
			return found, nil
		}
		return nil, nil
	}
}

func TestABulkyClaimIsTheSameAsInProcess(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	claims := []perdure.AgentClaim{bulky(w.fake), bulky(w.fake)}
	w.fake.answer = fillTasks(claims)
	got, err := c.PollAgents(t.Context(), perdure.Poll{Slots: 2})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the claims", claims, got)
	finished, err := c.FinishTask(t.Context(), perdure.TaskFinish{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the claim of the woken execution", &claims[0], finished.Claim)
}

func TestNoAnswerComesNearTheLimit(t *testing.T) {
	w := start(t)
	claims := []perdure.AgentClaim{bulky(w.fake), bulky(w.fake), bulky(w.fake)}
	w.fake.answer = fillTasks(claims)
	ctx, conn := w.raw(t, "worker")
	polled, err := perdurev1.NewAgentDispatchClient(conn).PollAgent(ctx, &perdurev1.PollAgentRequest{Slots: 3})
	if err != nil {
		t.Fatal(err)
	}
	if size := proto.Size(polled); size > roomy {
		t.Errorf("the answer to a poll has %d bytes", size)
	}
	finished, err := perdurev1.NewWorkerDispatchClient(conn).FinishTask(ctx, &perdurev1.FinishTaskRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if size := proto.Size(finished); size > roomy {
		t.Errorf("the answer to a finish has %d bytes", size)
	}
}

// TestWhatIsStoredAndCannotBeAnsweredIsAskedAgain checks responses that are larger than a message,
// so that the server stores parts of them in blobs. Storing the first part of each response fails.
// The commit or finish must then return either the whole response or unavailable, after which the
// worker repeats the call.
func TestWhatIsStoredAndCannotBeAnsweredIsAskedAgain(t *testing.T) {
	longtest.Skip(t, "seconds")
	w := start(t)
	c := w.dial(t, "worker")
	refused := map[string]bool{} // calls for which storing a part of the response has already failed once
	call := ""
	reply := perdure.CommitReply{Signals: []perdure.Signal{{ID: "s", Value: jsonOf(5 << 20)}}}
	claim := bulky(w.fake)
	w.fake.answer = func(what string, asked any) (any, error) {
		switch what {
		case "Commit":
			call = what
			return reply, nil
		case "FinishTask":
			call = what
			return perdure.FinishReply{Claim: &claim}, nil
		case "PutBlob":
			if !refused[call] {
				refused[call] = true
				return nil, perdure.Errorf(perdure.PayloadTooLarge, "no room")
			}
			return nil, nil
		}
		return fillTasks([]perdure.AgentClaim{claim})(what, asked)
	}
	committed, err := c.Commit(t.Context(), perdure.Commit{Lease: perdure.Lease{ExecutionID: uuid.New()}})
	if err == nil {
		same(t, "the answer of the commit", reply, committed)
	} else if !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("the commit that is stored gives %v", err)
	}
	finished, err := c.FinishTask(t.Context(), perdure.TaskFinish{})
	if err == nil {
		same(t, "the answer of the finish", &claim, finished.Claim)
	} else if !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("the finish that is stored gives %v", err)
	}
	if !refused["Commit"] || !refused["FinishTask"] {
		t.Errorf("only %v had answers without a place", refused)
	}
}

func TestContentsByReferenceAloneAreFilledIn(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	content := jsonOf(5 << 20)
	ref := w.fake.keep(content)
	execution := uuid.New()
	lease := perdure.TaskLease{ExecutionID: execution, TaskID: uuid.New(), Attempt: 1, ClaimID: uuid.New()}
	reply := perdure.CommitReply{
		Signals: []perdure.Signal{{ID: "s", Blob: &ref}},
		Tasks:   []*perdure.Task{{ID: uuid.New(), ExecutionID: execution, InputBlob: &ref, ResultBlob: &ref}},
		Claims:  []perdure.TaskClaim{{Lease: lease, Task: &perdure.Task{ID: lease.TaskID, ExecutionID: execution, InputBlob: &ref}}},
	}
	w.fake.answer = func(string, any) (any, error) { return reply, nil }
	got, err := c.Commit(t.Context(), perdure.Commit{Lease: perdure.Lease{ExecutionID: execution}})
	if err != nil {
		t.Fatal(err)
	}
	for what, b := range map[string][]byte{
		"signal": got.Signals[0].Value, "input": got.Tasks[0].Input, "result": got.Tasks[0].Result, "claim": got.Claims[0].Task.Input,
	} {
		if !bytes.Equal(b, content) {
			t.Errorf("the %s has %d bytes of %d", what, len(b), len(content))
		}
	}
}

func TestAClaimThatCannotBeFilledIsGivenBack(t *testing.T) {
	w := start(t)
	w.fake.released = make(chan perdure.Release, 1)
	c := w.dial(t, "worker")
	lost := perdure.BlobRef{ID: uuid.New(), Length: 40_000}
	good := perdure.TaskClaim{Lease: perdure.TaskLease{TaskID: uuid.New()}}
	bad := perdure.TaskClaim{
		Lease: perdure.TaskLease{ExecutionID: uuid.New(), TaskID: uuid.New(), Attempt: 1, ClaimID: uuid.New()},
		Task:  &perdure.Task{ID: uuid.New(), InputBlob: &lost},
	}
	w.fake.answer = func(string, any) (any, error) { return []perdure.TaskClaim{bad, good}, nil }
	got, err := c.PollTasks(t.Context(), perdure.Poll{WorkerID: uuid.New()})
	if err != nil || len(got) != 1 || got[0].Lease != good.Lease {
		t.Fatalf("the poll gave %+v, %v", got, err)
	}
	same(t, "what is given back", []perdure.TaskRelease{{Lease: bad.Lease}}, (<-w.fake.released).Tasks)
}

func TestADamagedBlobIsNoticed(t *testing.T) {
	w := start(t)
	w.fake.released = make(chan perdure.Release, 1)
	c := w.dial(t, "worker")
	ref := w.fake.keep(jsonOf(40_000))
	w.fake.blobs[ref.ID] = jsonOf(40_001)[1:]
	w.fake.answer = func(string, any) (any, error) {
		return []perdure.TaskClaim{{Task: &perdure.Task{ID: uuid.New(), InputBlob: &ref}}}, nil
	}
	if got, err := c.PollTasks(t.Context(), perdure.Poll{}); !perdure.IsCode(err, perdure.Internal) {
		t.Fatalf("a damaged input came as %v, %v", got, err)
	}
}

func TestLargeContentsOfACommitGoAhead(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	commit := perdure.Commit{Lease: perdure.Lease{ExecutionID: uuid.New(), Fence: 3, ClaimID: uuid.New()}, Number: 1}
	for i := range 200 {
		entry := perdure.NewEntry{Entry: perdure.Entry{ID: uuid.New(), Type: perdure.EntryMessage, Content: jsonOf(30_000 + i)}}
		commit.Entries = append(commit.Entries, entry)
	}
	large := jsonOf(5 << 20)
	commit.Tasks = []perdure.NewTask{{Kind: "bash", Input: perdure.Inline(large)}}
	commit.Steps = []perdure.StepRecord{{Name: "s", Result: perdure.Inline(jsonOf(50_000))}}
	commit.Checkpoint = &perdure.NewCheckpoint{State: perdure.Inline(jsonOf(40_000))}
	commit.Outcome = perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Inline(jsonOf(60_000))}
	if _, err := c.Commit(t.Context(), commit); err != nil {
		t.Fatal(err)
	}
	got := w.fake.last(t).(perdure.Commit)
	if size := proto.Size(pbconv.CommitToProto(got)); size > roomy {
		t.Errorf("the commit travelled with %d bytes", size)
	}
	for i := range got.Entries {
		content := resolve(t, w.fake, perdure.Payload{Bytes: got.Entries[i].Content, Blob: got.Entries[i].Blob})
		same(t, "an entry's content", []byte(commit.Entries[i].Content), content)
	}
	same(t, "the input", []byte(large), resolve(t, w.fake, got.Tasks[0].Input))
	same(t, "the step", []byte(jsonOf(50_000)), resolve(t, w.fake, got.Steps[0].Result))
	same(t, "the state", []byte(jsonOf(40_000)), resolve(t, w.fake, got.Checkpoint.State))
	same(t, "the output", []byte(jsonOf(60_000)), resolve(t, w.fake, got.Outcome.Output))
}

// resolve returns the content of a payload, inline or from its blob. A payload with both fails the
// test.
func resolve(t *testing.T, f *fake, p perdure.Payload) []byte {
	t.Helper()
	if p.Blob == nil {
		return p.Bytes
	}
	if p.Bytes != nil {
		t.Error("a payload came in place and by reference")
	}
	content, err := f.GetBlob(t.Context(), uuid.Nil, p.Blob.ID)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAnUploadFailsWithItsContent(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	want := errors.New("the disk is gone")
	content := io.MultiReader(bytes.NewReader(make([]byte, perdure.BlobChunk+1)), failingReader{want})
	if _, err := c.PutBlob(t.Context(), perdure.BlobOwner{}, 1<<20, content); !errors.Is(err, want) {
		t.Fatalf("the upload gave %v", err)
	}
}

// TestAnUploadThatDidNotArriveWholeIsSentAgain checks the error of an upload that arrived
// incompletely. The code is unavailable if the client has sent the whole content, so that the client
// retries. The code is invalid_argument if the content is shorter than the client has announced.
func TestAnUploadThatDidNotArriveWholeIsSentAgain(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	const length = perdure.BlobChunk + 1
	w.fake.answer = func(string, any) (any, error) {
		return nil, perdure.FieldErrorf("length", "the content ended after %d of %d bytes", perdure.BlobChunk, length)
	}
	for size, want := range map[int]perdure.Code{length: perdure.Unavailable, perdure.BlobChunk - 1: perdure.InvalidArgument} {
		_, err := c.PutBlob(t.Context(), perdure.BlobOwner{}, length, bytes.NewReader(make([]byte, size)))
		if code := perdure.CodeOf(err); code != want {
			t.Errorf("with %d bytes of %d it is %s, want %s", size, length, code, want)
		}
	}
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }
