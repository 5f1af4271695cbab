package engine

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestLocalStaysWithItsHome checks that a LOCAL execution can first be claimed by any worker that
// has its own store. After that, only the worker that claimed it first, its home worker, can claim
// it.
func TestLocalStaysWithItsHome(t *testing.T) {
	b := newBench(t)
	id := b.startLocal()
	if claims := b.claims(); len(claims) != 0 {
		t.Fatal("a worker without a store claimed a LOCAL execution")
	}
	k := b.claimLocal()
	x := b.execution(id)
	if x.HomeID == nil || *x.HomeID != b.worker {
		t.Fatalf("its home is %v, want %s", x.HomeID, b.worker)
	}
	b.must(b.d.Release(t.Context(), perdure.Release{WorkerID: b.worker, Agents: []perdure.AgentRelease{{Lease: k.claim.Lease}}}))
	b.wantStatus(id, perdure.StatusPending)
	other, err := b.d.PollAgents(t.Context(), b.localPoll(uuid.New()))
	b.must(err)
	if len(other)+len(b.claims()) != 0 {
		t.Fatal("another worker claimed it")
	}
	if again := b.claimLocal(); again.id != id {
		t.Error("its home does not claim it")
	}
	b.startLocal()
	nobody := b.localPoll(uuid.Nil)
	_, err = b.d.PollAgents(t.Context(), nobody)
	b.wantCode(err, perdure.InvalidArgument)
}

// TestLocalIsWokenForItsHome checks the reply to the end of a task that a LOCAL execution waits
// for. Only a reply to the execution's home worker contains a claim of the execution.
func TestLocalIsWokenForItsHome(t *testing.T) {
	for _, home := range []bool{true, false} {
		k := newKeeper(t)
		task := k.task(quoted("task"))
		k.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{task} })
		c := k.taskClaimed()
		k.suspend(perdure.WaitTask(perdure.TaskID(task.Key)))
		f := perdure.TaskFinish{Lease: c.Lease, WorkerID: k.worker, Parked: true, Result: k.ref(quoted("result"))}
		if !home {
			f.WorkerID = uuid.New()
		}
		reply, err := k.d.FinishTask(t.Context(), f)
		k.must(err)
		if (reply.Claim != nil) != home {
			t.Errorf("finished by its home %v, it brings the claim %v", home, reply.Claim)
		}
	}
}

// TestLocalTasksStayHome checks that tasks of a LOCAL execution are put on the queue of the worker
// that stores its contents, even if another queue was requested. No other worker can claim such a
// task in the reply to a commit.
func TestLocalTasksStayHome(t *testing.T) {
	k := newKeeper(t)
	eager := perdure.TaskOffer{WorkerID: k.worker, Kinds: []string{"work"}, Queues: []string{perdure.LocalQueue(k.worker)}, Slots: 1}
	one, two, three := k.task([]byte(`1`)), k.task([]byte(`2`)), k.task([]byte(`3`))
	one.Options.Queue, one.Options.Instance = "elsewhere", mark
	reply := k.commit(func(c *perdure.Commit) { c.Tasks, c.Offer = []perdure.NewTask{one}, eager })
	if len(reply.Claims) != 1 {
		t.Fatalf("its home claimed %d tasks eagerly", len(reply.Claims))
	}
	stored := k.bench.task(k.id, perdure.TaskID(one.Key))
	if stored.Queue != perdure.LocalQueue(k.worker) || stored.Options.Queue != stored.Queue || stored.Options.Instance != "" {
		t.Errorf("the task is stored with %q, %+v", stored.Queue, stored.Options)
	}
	eager.WorkerID = uuid.New()
	if reply := k.commit(func(c *perdure.Commit) { c.Tasks, c.Offer = []perdure.NewTask{two}, eager }); len(reply.Claims) != 0 {
		t.Error("another worker claimed a task eagerly")
	}
	k.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{three} })
	if claims := k.taskClaims(); len(claims) != 0 {
		t.Error("a poll of the execution's own queue claimed a task")
	}
}

// TestLocalContentIsRefused checks that a commit of a LOCAL execution is refused if it has an
// inline content, a wrong reference or metadata, and that the error names the field.
func TestLocalContentIsRefused(t *testing.T) {
	k := newKeeper(t)
	with := k.entry(user(nil, "x"))
	with.Metadata = []byte(`{}`)
	bare := user(nil, "x")
	bare.Content = nil
	wrong := perdure.ContentRef(uuid.New(), []byte("1"))
	huge := perdure.ContentRef(k.id, []byte("1"))
	huge.Length = k.e.PayloadLimit + 1
	task := k.newTask("1")
	for field, test := range map[string]struct {
		code perdure.Code
		edit func(*perdure.Commit)
	}{
		".content":             {perdure.InvalidArgument, func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{user(nil, "x")} }},
		".content: is missing": {perdure.InvalidArgument, func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{bare} }},
		".metadata":            {perdure.InvalidArgument, func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{with} }},
		".input":               {perdure.InvalidArgument, func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{task} }},
		".result": {perdure.InvalidArgument, func(c *perdure.Commit) {
			c.Steps = []perdure.StepRecord{{Name: "s", Key: "task:s", Result: perdure.Inline([]byte("1"))}}
		}},
		"checkpoint.state":       {perdure.InvalidArgument, func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Inline([]byte("1"))} }},
		"outcome.output":         {perdure.InvalidArgument, completing()},
		"checkpoint.state.blob":  {perdure.InvalidArgument, func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Payload{Blob: &wrong}} }},
		"has 1048577 bytes; the": {perdure.PayloadTooLarge, func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Payload{Blob: &huge}} }},
	} {
		_, err := k.try(test.edit)
		k.wantCode(err, test.code)
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
	k.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{k.task([]byte("1"))} })
	_, err := k.d.FinishTask(t.Context(), done(k.taskClaimed(), "1"))
	k.wantCode(err, perdure.InvalidArgument)
	// Contents with the same hash have the same length. So a reference that has a stored hash but
	// another length is refused.
	k.commit(func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{State: k.ref([]byte("1"))} })
	longer := perdure.ContentRef(k.id, []byte("1"))
	longer.Length++
	_, err = k.try(func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Payload{Blob: &longer}} })
	k.wantCode(err, perdure.InvalidArgument)
}

// TestLocalSaysNothingToTheStore checks that the texts of errors, progress and events of a LOCAL
// execution are not stored. Only error codes, and the length and hash of an event, are stored.
func TestLocalSaysNothingToTheStore(t *testing.T) {
	k := newKeeper(t)
	said := &perdure.TaskError{Code: "went_wrong", Message: mark, Permanent: true}
	task := k.task([]byte(`1`))
	event := perdure.NewEvent{Type: perdure.EventData, Fields: quotedObject("event")}
	k.commit(func(c *perdure.Commit) {
		c.Tasks, c.Events = []perdure.NewTask{task}, []perdure.NewEvent{event}
		c.Steps = []perdure.StepRecord{{Name: "s", Key: "task:s", Instance: mark, Error: said}}
	})
	claim := k.taskClaimed()
	_, err := k.d.Heartbeat(t.Context(), perdure.Heartbeat{WorkerID: k.worker, Tasks: []perdure.TaskHeartbeat{{Lease: claim.Lease, Progress: quoted("progress")}}})
	k.must(err)
	_, err = k.d.FinishTask(t.Context(), perdure.TaskFinish{Lease: claim.Lease, Error: said})
	k.must(err)
	for _, id := range []uuid.UUID{perdure.TaskID(task.Key), perdure.TaskID("task:s")} {
		stored := k.bench.task(k.id, id)
		if stored.Error == nil || stored.Error.Code != said.Code || stored.Error.Message != perdure.KeptByWorker || stored.Progress != nil || stored.Options.Instance != "" {
			t.Errorf("a task is stored with %+v, progress %s, instance %q", stored.Error, stored.Progress, stored.Options.Instance)
		}
	}
	k.commit(func(c *perdure.Commit) { c.Outcome = perdure.Outcome{Kind: perdure.OutcomeFail, Error: said} })
	x := k.wantStatus(k.id, perdure.StatusFailed)
	if *x.Error != perdure.KeptByWorker || *x.ErrorCode != said.Code {
		t.Errorf("the execution is stored with %s, %s", *x.ErrorCode, *x.Error)
	}
	ref := perdure.ContentRef(k.id, event.Fields)
	for _, r := range k.log(k.id) {
		if r.Type == perdure.EventData && string(r.Fields) != fmt.Sprintf(`{"content":"worker","length":%d,"sha256":%q}`, ref.Length, ref.SHA256) {
			t.Errorf("the event is stored as %s", r.Fields)
		}
		if bytes.Contains(r.Fields, []byte(mark)) {
			t.Errorf("the log holds %s", r.Fields)
		}
	}
}

func quotedObject(what string) []byte {
	return []byte(`{"type":"x","said":"` + mark + " " + what + `"}`)
}

// TestLocalPanicIsNotStored checks that the text of a panic in a LOCAL execution is not stored.
func TestLocalPanicIsNotStored(t *testing.T) {
	k := newKeeper(t)
	for range panicsToFail {
		k.must(k.d.Release(t.Context(), perdure.Release{WorkerID: k.worker, Agents: []perdure.AgentRelease{{Lease: k.claim.Lease, Panic: mark}}}))
		if k.execution(k.id).Status == perdure.StatusPending {
			k.clock.advance(maxPause)
			k.again()
		}
	}
	if x := k.wantStatus(k.id, perdure.StatusFailed); *x.Error != perdure.KeptByWorker || *x.ErrorCode != "panic" {
		t.Errorf("the execution is stored with %s, %s", *x.ErrorCode, *x.Error)
	}
}

// TestLocalBlocksPassThrough checks that live readers get every byte of the blocks and events of a
// LOCAL execution, and that the store contains none of the text. The stored log has the pos, offset
// and length of each chunk, and the hash of the block.
func TestLocalBlocksPassThrough(t *testing.T) {
	k := newKeeper(t)
	k.agentFrames(mark, " and more")
	event := quotedObject("event")
	f := agentFrame(k.claim.Lease, "")
	f.Block, f.Type, f.Fields = 1, perdure.EventData, event
	_, err := k.d.Append(t.Context(), []perdure.Frame{f})
	k.must(err)
	open, _, err := k.e.Read().OpenBlocks(t.Context(), k.id)
	k.must(err)
	if len(open) != 1 || open[0].Content != mark+" and more" || open[0].Pieces != nil {
		t.Errorf("the open block is %+v", open)
	}
	k.commit(func(c *perdure.Commit) {
		c.Blocks = []perdure.BlockEnd{{Key: perdure.BlockKey{Attempt: k.claim.Lease.Fence}, Length: int64(len(mark + " and more"))}}
	})
	var text strings.Builder
	var fields string
	for _, r := range k.liveLog(k.id) {
		if r.Chunk != nil {
			if r.Chunk.Offset != int64(text.Len()) || r.Chunk.Length != 0 {
				t.Errorf("a live chunk is %+v", r.Chunk)
			}
			text.WriteString(r.Chunk.Text)
		}
		if r.Type == perdure.EventData {
			fields = string(r.Fields)
		}
	}
	if text.String() != mark+" and more" || fields != string(event) {
		t.Errorf("live readers have %q and %s", text.String(), fields)
	}
	at := int64(0)
	for i, r := range k.log(k.id) {
		if r.Pos != int64(i+1) {
			t.Errorf("pos %d is at %d", r.Pos, i+1)
		}
		if r.Chunk != nil {
			if r.Chunk.Text != "" || r.Chunk.Offset != at {
				t.Errorf("the store has the chunk %+v, want one at %d", r.Chunk, at)
			}
			at += r.Chunk.Length
		}
		if r.Type == perdure.EventBlockClosed {
			ref := perdure.ContentRef(k.id, []byte(mark+" and more"))
			if !strings.Contains(string(r.Fields), ref.SHA256.String()) || at != ref.Length {
				t.Errorf("the block ends with %s after %d bytes", r.Fields, at)
			}
		}
	}
}

// TestLocalBlocksAreForgotten checks that readers get the offset and length of a chunk when its
// content is no longer in memory.
func TestLocalBlocksAreForgotten(t *testing.T) {
	k := newKeeper(t)
	k.e.live.Each = 300 // room for two records of ten bytes
	k.agentFrames("0123456789", "abcdefghij", "ABCDEFGHIJ")
	var texts []string
	var lengths []int64
	for _, r := range k.liveLog(k.id) {
		if r.Chunk != nil {
			texts, lengths = append(texts, r.Chunk.Text), append(lengths, r.Chunk.Length)
		}
	}
	if len(texts) != 3 || texts[0] != "" || lengths[0] != 10 || texts[1] != "abcdefghij" || texts[2] != "ABCDEFGHIJ" {
		t.Errorf("live readers have %q, withheld %d", texts, lengths)
	}
	open, _, err := k.e.Read().OpenBlocks(t.Context(), k.id)
	k.must(err)
	if open[0].Content != "" || open[0].Length != 30 || len(open[0].Pieces) != 3 {
		t.Errorf("the open block is %+v", open[0])
	}
}

// TestLocalContentIsNeverAtRest checks that the store's files never contain a byte of a LOCAL
// execution's content: after a sweep, after the end of the execution and after Close.
func TestLocalContentIsNeverAtRest(t *testing.T) {
	k := newKeeper(t)
	large := append(append([]byte(`"`+mark), bytes.Repeat([]byte(" large"+mark), 20_000)...), '"')
	task := k.task(large)
	entry := k.entry(user(nil, mark))
	k.agentFrames(mark, strings.Repeat(" streamed "+mark, 1000))
	k.commit(func(c *perdure.Commit) {
		c.Tasks, c.Entries = []perdure.NewTask{task}, []perdure.NewEntry{entry}
		c.Events = []perdure.NewEvent{{Type: perdure.EventData, Fields: quotedObject("event")}}
		c.Checkpoint = &perdure.NewCheckpoint{State: k.ref(quoted("state"))}
	})
	if x := k.execution(k.id); x.Input != nil || x.InputBlob == nil || *x.InputBlob != perdure.ContentRef(k.id, quoted("input")) {
		t.Errorf("after the first commit the input is %s, %v", x.Input, x.InputBlob)
	}
	_, err := k.d.FinishTask(t.Context(), perdure.TaskFinish{Lease: k.taskClaimed().Lease, Result: k.ref(quoted("result"))})
	k.must(err)
	for i, value := range [][]byte{quoted("signal"), large} {
		_, err := k.e.Signal(t.Context(), org, k.id, SignalRequest{Name: "note", ID: string(rune('a' + i)), Value: value})
		k.must(err)
	}
	for _, r := range k.log(k.id) {
		if r.Type == perdure.EventSignal && bytes.Contains(r.Fields, []byte("signalValue")) {
			t.Errorf("the log has the value of a signal: %s", r.Fields)
		}
	}
	k.commit(func(c *perdure.Commit) { c.Take = []string{"a", "b"} })
	if again, err := k.s.TakenSignals(t.Context(), k.id); err != nil || string(again[1].Value) != string(large) {
		t.Fatalf("a signal that was taken is lost before the checkpoint: %v", err)
	}
	k.commit(func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{State: k.ref(quoted("state 2"))} })
	k.sweep()
	k.atRest("after a sweep")
	// No worker reads a signal that is pending at the end. The signal's value is erased at the end
	// of the execution.
	_, err = k.e.Signal(t.Context(), org, k.id, SignalRequest{Name: "late", Value: large})
	k.must(err)
	k.commit(func(c *perdure.Commit) {
		c.Outcome = perdure.Outcome{Kind: perdure.OutcomeComplete, Output: k.ref(quoted("output"))}
	})
	k.sweep()
	k.atRest("after the end")
	k.must(k.s.Close())
	k.atRest("after Close")
	k.open()
}

// TestLocalInputIsErasedOnceItIsKept checks that at the end of a LOCAL execution the server erases
// the input only if a worker has claimed the execution. Without a claim, the server has the only
// copy of the input.
func TestLocalInputIsErasedOnceItIsKept(t *testing.T) {
	k := newKeeper(t)
	k.must(k.d.Release(t.Context(), perdure.Release{WorkerID: k.worker, Agents: []perdure.AgentRelease{{Lease: k.claim.Lease}}}))
	k.again()
	if string(k.claim.Execution.Input) != string(quoted("input")) {
		t.Fatal("a claim before the first commit brings no input")
	}
	_, _, err := k.e.Cancel(t.Context(), org, k.id)
	k.must(err)
	k.commit(func(c *perdure.Commit) { c.Outcome.Kind = perdure.OutcomeCancelled })
	if x := k.execution(k.id); x.Input != nil {
		t.Error("the end leaves the input")
	}
	id := k.startLocal()
	_, _, err = k.e.Cancel(t.Context(), org, id)
	k.must(err)
	if x := k.execution(id); string(x.Input) != string(quoted("input")) {
		t.Errorf("the input of an execution that nobody claimed is %s", x.Input)
	}
}

// TestLocalBlockComesWithItsHash checks that the server refuses a frame (one write to a block) of a
// LOCAL execution without the hash of the block. The server must not compute the hash itself: the
// state of an incomplete hash, which it would have to store, contains the last bytes in clear text.
func TestLocalBlockComesWithItsHash(t *testing.T) {
	k := newKeeper(t)
	replies, err := k.d.Append(t.Context(), []perdure.Frame{agentFrame(k.claim.Lease, "text")})
	k.must(err)
	if replies[0].Err == nil || replies[0].Err.Code != perdure.InvalidArgument || !strings.Contains(replies[0].Err.Message, "sha256") || replies[0].Held != 0 {
		t.Errorf("a frame without a hash answers %+v", replies[0])
	}
	k.agentFrames("text")
}

// TestLocalBlockOutlivesTheServer checks that a block can grow after a restart of the server. The
// new server does not have the text from before the restart, but the hash at the end is that of the
// whole text.
func TestLocalBlockOutlivesTheServer(t *testing.T) {
	k := newKeeper(t)
	k.agentFrames("before ")
	k.must(k.s.Close())
	k.open()
	f := agentFrame(k.claim.Lease, "after")
	f.Offset, f.Sum = 7, k.put([]byte("before after"))
	_, err := k.d.Append(t.Context(), []perdure.Frame{f})
	k.must(err)
	k.commit(func(c *perdure.Commit) {
		c.Blocks = []perdure.BlockEnd{{Key: perdure.BlockKey{Attempt: k.claim.Lease.Fence}, Length: 12}}
	})
	sum := perdure.ContentRef(k.id, []byte("before after")).SHA256.String()
	records := k.liveLog(k.id)
	if last := records[len(records)-1]; last.Type != perdure.EventBlockClosed || !strings.Contains(string(last.Fields), sum) {
		t.Errorf("the block ends with %s, want the hash %s", last.Fields, sum)
	}
	if first := records[len(records)-3].Chunk; first.Text != "" || first.Length != 7 {
		t.Errorf("what was before is given as %+v", first)
	}
}
