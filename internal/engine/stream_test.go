package engine

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// source is one attempt of a task that appends frames to the log.
type source struct {
	*bench
	lease perdure.TaskLease
}

func (s source) frame(block, offset int64, text string) perdure.Frame {
	return perdure.Frame{Lease: &s.lease, Block: block, Type: perdure.EventToken, Offset: offset, Text: text}
}

func (s source) send(frames ...perdure.Frame) []perdure.FrameReply {
	s.Helper()
	replies, err := s.d.Append(s.Context(), frames)
	s.must(err)
	return replies
}

func (s source) wantHeld(want int64, f perdure.Frame) {
	s.Helper()
	if r := s.send(f)[0]; r.Err != nil || r.Held != want {
		s.Fatalf("the frame at %d answered %+v, want %d held", f.Offset, r, want)
	}
}

// text returns the text of each block, by the seq of the block.
func (s source) text() map[int64]string {
	s.Helper()
	blocks := map[int64]string{}
	for _, r := range s.log(s.lease.ExecutionID) {
		if r.Chunk != nil {
			blocks[r.Seq] += r.Chunk.Text
		}
	}
	return blocks
}

func newSource(t *testing.T, edit ...func(*perdure.TaskOptions)) (*holder, source) {
	t.Helper()
	b := newBench(t)
	h := b.started()
	_, c := h.scheduled("1", edit...)
	return h, source{b, c.Lease}
}

func TestChunksArePlacedByOffset(t *testing.T) {
	_, s := newSource(t)
	s.wantHeld(5, s.frame(0, 0, "hello"))
	s.wantHeld(5, s.frame(0, 0, "hello"))        // all bytes are stored already
	s.wantHeld(5, s.frame(0, 2, "llo"))          // all bytes are stored already
	s.wantHeld(5, s.frame(0, 7, "orld"))         // bytes are missing before this frame
	s.wantHeld(11, s.frame(0, 3, "lo world"))    // the first bytes are stored already
	s.wantHeld(13, s.frame(0, 11, "é"))          // offsets count bytes, not characters
	s.wantHeld(0, s.frame(1, 3, "out of place")) // a block that begins with a gap is not stored
	blocks := s.text()
	if len(blocks) != 1 {
		t.Fatalf("the blocks are %v", blocks)
	}
	for _, text := range blocks {
		if text != "hello worldé" {
			t.Errorf("the text is %q", text)
		}
	}
}

func TestBlocksShareTheirSeq(t *testing.T) {
	h, s := newSource(t)
	before := len(s.events(h.id))
	s.send(s.frame(0, 0, "a"), s.frame(1, 0, "b"))
	s.send(s.frame(0, 1, "a"), s.frame(1, 1, "b"))
	records := s.log(h.id)[before:]
	if len(records) != 4 || records[0].Seq != records[2].Seq || records[1].Seq != records[3].Seq || records[1].Seq != records[0].Seq+1 {
		t.Fatalf("the records are %+v", records)
	}
	for i, r := range records {
		if r.Pos != int64(before+i+1) || r.TaskID == nil || *r.TaskID != s.lease.TaskID || r.Attempt != 1 {
			t.Errorf("record %d is %+v", i, r)
		}
	}
}

func TestFramesThatAreRefused(t *testing.T) {
	_, s := newSource(t)
	bad := s.frame(0, 0, "\xff")
	kind := s.frame(0, 0, "x")
	kind.Type = perdure.EventCompleted
	event := s.frame(0, 0, "")
	event.Type, event.Fields = perdure.EventStarted, []byte(`{}`)
	nobody := s.frame(0, 0, "x")
	nobody.Lease = nil
	for i, r := range s.send(bad, kind, event, nobody, s.frame(1, 0, "fine")) {
		if i < 4 && (r.Err == nil || r.Err.Code != perdure.InvalidArgument) || i == 4 && (r.Err != nil || r.Held != 4) {
			t.Errorf("frame %d answered %+v", i, r)
		}
	}
}

func TestRepeatedEventIsOne(t *testing.T) {
	h, s := newSource(t)
	event := perdure.Frame{Lease: &s.lease, Block: 3, Type: perdure.EventData, Fields: []byte(`{"data":{"n":1}}`)}
	s.send(event, event)
	s.send(event)
	if n := s.count(h.id, perdure.EventData); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

// closed returns the length and reason of each block.closed event, in order.
func (s source) closed() []string {
	s.Helper()
	var ends []string
	for _, r := range s.log(s.lease.ExecutionID) {
		if r.Type == perdure.EventBlockClosed {
			var end struct {
				BlockSeq, Length int64
				Reason           string
			}
			s.must(jsonInto(r.Fields, &end))
			ends = append(ends, fmt.Sprintf("%d bytes %s", end.Length, end.Reason))
		}
	}
	return ends
}

func (s source) wantClosed(want ...string) {
	s.Helper()
	if got := s.closed(); strings.Join(got, ", ") != strings.Join(want, ", ") {
		s.Fatalf("closed: %v, want %v", got, want)
	}
}

func TestBlocksClose(t *testing.T) {
	_, s := newSource(t)
	last := s.frame(0, 0, "all of it")
	last.Close = true
	s.wantHeld(9, last)
	s.wantHeld(9, last)                   // a repeat after a lost reply
	s.wantHeld(9, s.frame(0, 9, " late")) // nothing is added after the end
	cut := s.frame(1, 0, "too much")
	cut.Type, cut.Stream, cut.Close, cut.Reason = perdure.EventTerminal, "stdout", true, perdure.BlockTruncated
	s.wantHeld(8, cut)
	empty := s.frame(2, 0, "")
	empty.Close = true
	s.wantHeld(0, empty) // an empty block is not stored
	s.wantClosed("9 bytes done", "8 bytes truncated")
}

// TestFinishWaitsForItsBlocks checks that a worker can finish a task only when all bytes of the
// task's blocks are stored. If the finish reports a longer block than the store has, the error is
// conflict.
func TestFinishWaitsForItsBlocks(t *testing.T) {
	h, s := newSource(t)
	s.wantHeld(3, s.frame(0, 0, "one"))
	key := perdure.BlockKey{TaskID: s.lease.TaskID, Attempt: 1}
	f := perdure.TaskFinish{Lease: s.lease, Result: perdure.Inline([]byte(`1`)), Blocks: []perdure.BlockEnd{{Key: key, Length: 7}}}
	_, err := s.d.FinishTask(t.Context(), f)
	s.wantCode(err, perdure.Conflict)
	if n := s.count(h.id, perdure.EventTaskCompleted); n != 0 {
		t.Fatal("the task ended without its text")
	}
	s.wantHeld(7, s.frame(0, 3, " two"))
	s.finish(f)
	s.wantClosed("7 bytes done")
	if r := s.send(s.frame(0, 7, " late"))[0]; r.Err == nil || r.Err.Code != perdure.LeaseLost {
		t.Errorf("a chunk after the end answered %+v", r)
	}
}

// whole returns a frame that contains the whole text of a block and closes it.
func (s source) whole(block int64, t perdure.EventType, text string) perdure.Frame {
	f := s.frame(block, 0, text)
	f.Type, f.Close = t, true
	return f
}

// again has functions that end an attempt so that its task runs again. The map `fails` has
// functions that end the task itself, by a cancel or a failure.
var (
	again = map[string]func(*holder, source){
		"retried": func(_ *holder, s source) { s.finish(failed(perdure.TaskClaim{Lease: s.lease}, false)) },
		"lost":    func(h *holder, _ source) { h.lose() },
		"given back": func(_ *holder, s source) {
			s.must(s.d.Release(s.Context(), perdure.Release{Tasks: []perdure.TaskRelease{{Lease: s.lease, Started: true}}}))
		},
	}
	fails = map[string]func(*holder, source){
		"cancelled": func(h *holder, s source) {
			h.commit(func(c *perdure.Commit) { c.CancelTask = append(c.CancelTask, s.lease.TaskID) })
		},
		"failed": func(_ *holder, s source) { s.finish(failed(perdure.TaskClaim{Lease: s.lease}, true)) },
	}
)

func TestAttemptThatFailsSupersedesItsBlocks(t *testing.T) {
	for _, ends := range []map[string]func(*holder, source){again, fails} {
		for name, end := range ends {
			t.Run(name, func(t *testing.T) {
				h, s := newSource(t)
				s.wantHeld(5, s.frame(0, 0, "hello"))
				end(h, s)
				s.wantClosed("5 bytes superseded")
			})
		}
	}
}

// TestAttemptThatIsMadeAgainTakesBackWhatItHadClosed checks the blocks that an attempt had closed
// before it failed, such as thinking. These blocks are superseded (marked as no longer valid) if
// the task runs again, but not if the task has ended.
func TestAttemptThatIsMadeAgainTakesBackWhatItHadClosed(t *testing.T) {
	said := func(s source) {
		arguments, output := s.whole(1, perdure.EventData, `{"a":1}`), s.whole(2, perdure.EventTerminal, "out")
		arguments.ToolCallID, output.Stream = "c", "stdout"
		s.send(s.whole(0, perdure.EventThinking, "hm, a thought"), arguments, output, s.frame(3, 0, "hello"))
	}
	for name, end := range again {
		t.Run(name, func(t *testing.T) {
			h, s := newSource(t)
			said(s)
			end(h, s)
			s.wantClosed("13 bytes done", "7 bytes done", "3 bytes done",
				"13 bytes superseded", "7 bytes superseded", "3 bytes superseded", "5 bytes superseded")
			for seq, text := range s.text() {
				if text != "" {
					t.Errorf("block %d still says %q", seq, text)
				}
			}
		})
	}
	for name, end := range fails {
		t.Run(name, func(t *testing.T) {
			h, s := newSource(t)
			said(s)
			end(h, s)
			s.wantClosed("13 bytes done", "7 bytes done", "3 bytes done", "5 bytes superseded")
		})
	}
}

// TestLostAttemptKeepsItsOutputAlone checks a task that ends because its worker was lost. The block
// of the task's thinking is superseded (marked as no longer valid), but the block of the task's
// terminal output is kept.
func TestLostAttemptKeepsItsOutputAlone(t *testing.T) {
	h, s := newSource(t, func(o *perdure.TaskOptions) { o.OnLost = perdure.OnLostReport })
	output := s.whole(1, perdure.EventTerminal, "out")
	output.Stream = "stdout"
	s.send(s.whole(0, perdure.EventThinking, "hm"), output)
	h.lose()
	s.wantClosed("2 bytes done", "3 bytes done", "2 bytes superseded")
}

// TestBlockOfAnEntryIsNotSuperseded checks that a block to which an entry refers is not superseded
// (marked as no longer valid).
func TestBlockOfAnEntryIsNotSuperseded(t *testing.T) {
	for name, end := range again {
		if name == "lost" {
			continue // with this end, the agent that appended the entry is lost, too
		}
		h, s := newSource(t)
		s.send(s.whole(0, perdure.EventToken, "kept"), s.whole(1, perdure.EventToken, "dropped"))
		h.commit(func(c *perdure.Commit) { c.Entries = append(c.Entries, user(nil, "kept")) })
		end(h, s)
		s.wantClosed("4 bytes done", "7 bytes done", "7 bytes superseded")
		said := ""
		for _, text := range s.text() {
			said += text
		}
		if said != "kept" {
			t.Errorf("the log still says %q", said)
		}
	}
}

// TestBlocksOfOtherAttemptsStay checks that the blocks of a completed task are not superseded when
// another task fails or the execution completes.
func TestBlocksOfOtherAttemptsStay(t *testing.T) {
	h, s := newSource(t)
	_, c := h.scheduled("2")
	other := source{s.bench, c.Lease}
	s.send(s.whole(0, perdure.EventToken, "one"))
	other.send(other.whole(0, perdure.EventToken, "two"))
	s.finish(perdure.TaskFinish{Lease: s.lease, Result: perdure.Inline([]byte(`1`))})
	other.finish(failed(perdure.TaskClaim{Lease: other.lease}, false))
	s.wantClosed("3 bytes done", "3 bytes done", "3 bytes superseded")
	h.commit(completing())
	s.wantClosed("3 bytes done", "3 bytes done", "3 bytes superseded")
}

// TestTerminalOutputIsKeptAtTheEnd checks that open and closed terminal output is not superseded
// when its task fails.
func TestTerminalOutputIsKeptAtTheEnd(t *testing.T) {
	_, s := newSource(t)
	f := s.frame(0, 0, "make: error 1")
	f.Type, f.Stream = perdure.EventTerminal, "stderr"
	ended := s.whole(1, perdure.EventTerminal, "make: all of it")
	ended.Stream = "stdout"
	s.send(f, ended)
	s.finish(failed(perdure.TaskClaim{Lease: s.lease}, true))
	s.wantClosed("15 bytes done", "13 bytes done")
	for _, text := range s.text() {
		if text != "make: error 1" && text != "make: all of it" {
			t.Errorf("the output is %q", text)
		}
	}
}

func TestAgentsOwnBlocks(t *testing.T) {
	for want, end := range map[string]func(*holder) error{
		"5 bytes done": func(h *holder) error { h.commit(completing()); return nil },
		"5 bytes superseded": func(h *holder) error {
			return h.d.Release(h.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: h.claim.Lease}}})
		},
	} {
		b := newBench(t)
		h := b.started()
		s := source{b, perdure.TaskLease{ExecutionID: h.id}}
		replies := s.send(agentFrame(h.claim.Lease, "hello"), agentFrame(h.claim.Lease, "hello"))
		if replies[0].Held != 5 || replies[1].Held != 5 {
			t.Fatalf("the frames answered %+v", replies)
		}
		b.must(end(h))
		s.wantClosed(want)
	}
}

func TestBlobs(t *testing.T) {
	b := newBench(t)
	h := b.started()
	content := bytes.Repeat([]byte("0123456789"), 20_000) // four chunks
	owner := perdure.BlobOwner{ExecutionID: h.id, Lease: &h.claim.Lease}
	put := func(length int64, content []byte) (perdure.BlobRef, error) {
		return b.d.PutBlob(t.Context(), owner, length, bytes.NewReader(content))
	}
	for name, length := range map[string]int64{"shorter": int64(len(content)) + 1, "longer": int64(len(content)) - 1} {
		if _, err := put(length, content); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("content that is %s than announced gave %v", name, err)
		}
	}
	_, err := put(b.e.PayloadLimit+1, nil)
	b.wantCode(err, perdure.PayloadTooLarge)

	state := append(append([]byte(`"`), content...), '"')
	ref, err := put(int64(len(state)), state)
	b.must(err)
	wrong := ref
	wrong.SHA256[0] ^= 1
	for _, bad := range []perdure.BlobRef{wrong, {ID: ref.ID, Length: ref.Length - 1, SHA256: ref.SHA256}} {
		_, err := h.try(func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Payload{Blob: &bad}} })
		b.wantCode(err, perdure.Conflict)
	}
	h.commit(func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Payload{Blob: &ref}} })
	c, err := b.s.Checkpoint(t.Context(), h.id, 0)
	b.must(err)
	if !bytes.Equal(c.State, state) {
		t.Errorf("the state came back with %d bytes, want %d", len(c.State), len(state))
	}
}

func TestLooseBlobsAreSwept(t *testing.T) {
	b := newBench(t)
	h := b.started()
	owner := perdure.BlobOwner{ExecutionID: h.id, Lease: &h.claim.Lease}
	put := func() perdure.BlobRef {
		ref, err := b.d.PutBlob(t.Context(), owner, 4, strings.NewReader("1234"))
		b.must(err)
		return ref
	}
	kept, loose := put(), put()
	h.commit(func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Payload{Blob: &kept}} })
	there := func(ref perdure.BlobRef) bool {
		r, err := b.d.GetBlob(t.Context(), h.id, ref.ID)
		if err == nil {
			b.must(r.Close())
		}
		return err == nil
	}
	b.clock.advance(59 * time.Minute)
	b.sweep()
	if !there(loose) {
		t.Fatal("it was swept before its hour was over")
	}
	b.clock.advance(2 * time.Minute)
	b.sweep()
	if there(loose) || !there(kept) {
		t.Errorf("after the hour: loose there %v, kept there %v", there(loose), there(kept))
	}
}
