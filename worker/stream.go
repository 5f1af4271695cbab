package worker

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

const (
	maxFrame = 64 << 10  // bytes of text in one frame
	maxBatch = 512 << 10 // bytes of text in one batch
	maxAhead = 4 << 20   // maximum bytes that a source may be ahead of the server
)

const (
	resendAfter = 100 * time.Millisecond
	tellAfter   = 20 // consecutive failures before a log line; it may be a full disk, which needs an operator
)

// streams sends the output of all sources of a worker. One batch is in flight at a time. Output
// that arrives meanwhile is sent in the next batch, so the batches grow with the load. Continued
// text waits until the last batch is every old, because the server flushes its disk for each batch.
// All other output is sent at once, together with the waiting text.
type streams struct {
	d      perdure.Dispatch
	logger *slog.Logger
	every  time.Duration
	wake   chan struct{}
	// failures counts consecutive failed batches, and last is the time at which the newest batch
	// was sent. Only run uses them.
	failures int
	last     time.Time

	mu      sync.Mutex // guards the fields below, and all streams
	sources map[*stream]bool
}

func newStreams(d perdure.Dispatch, logger *slog.Logger, every time.Duration) *streams {
	return &streams{d: d, logger: logger, every: every, wake: make(chan struct{}, 1), sources: map[*stream]bool{}}
}

// open begins a source: a task's attempt or an execution's claim. It calls lost once if the server
// reports that the lease is over. Once ctx has ended, the source does not wait.
func (s *streams) open(ctx context.Context, task *perdure.TaskLease, claim *perdure.Lease, lost func(error)) *stream {
	st := &stream{owner: s, task: task, agent: claim, lost: lost, over: ctx.Done(), changed: make(chan struct{})}
	s.mu.Lock()
	s.sources[st] = true
	s.mu.Unlock()
	return st
}

// close ends a source and drops its unsent output.
func (s *streams) close(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sources, st)
	st.fail(errClosed)
}

func (s *streams) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run sends batches until ctx ends.
func (s *streams) run(ctx context.Context) {
	later := time.NewTimer(s.every)
	defer later.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-later.C:
		}
		wait := s.pause()
		for wait <= 0 && s.sendOnce(ctx) {
			wait = s.pause()
		}
		if wait > 0 {
			later.Reset(wait)
		}
	}
}

// pause returns how long the output has to wait.
func (s *streams) pause() time.Duration {
	wait := s.every - time.Since(s.last)
	if wait <= 0 || s.urgent() {
		return 0
	}
	return wait
}

// urgent reports whether there is output that must not wait.
func (s *streams) urgent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range s.sources {
		if !st.waits && slices.ContainsFunc(st.blocks, (*block).urgent) {
			return true
		}
	}
	return false
}

// sendOnce sends one batch. It reports whether there was anything to send.
func (s *streams) sendOnce(ctx context.Context) bool {
	frames, sent := s.collect()
	if len(frames) == 0 || ctx.Err() != nil {
		return false
	}
	s.last = time.Now()
	replies, err := s.d.Append(ctx, frames)
	defer s.settle(sent)
	if err != nil {
		if s.failures++; s.failures == tellAfter {
			s.logger.Error("the server cannot store this now; nothing is lost, trying on", "error", err)
		}
		rest(ctx, resendAfter)
		return true
	}
	s.failures = 0
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, b := range sent {
		if i < len(replies) {
			b.stream.acknowledge(b, frames[i], replies[i])
		}
	}
	return true
}

// collect returns a batch: of each block the next piece that the server does not have, with the
// blocks of one source in order.
func (s *streams) collect() ([]perdure.Frame, []*block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var frames []perdure.Frame
	var sent []*block
	size := 0
	for st := range s.sources {
		for _, b := range st.blocks {
			if size >= maxBatch || st.waits || !b.due() {
				continue
			}
			f := b.frame()
			b.sent = true
			size += len(f.Text) + len(f.Fields)
			frames, sent = append(frames, f), append(sent, b)
		}
	}
	return frames, sent
}

// settle marks the frames of a batch as no longer in flight.
func (s *streams) settle(sent []*block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range sent {
		b.sent = false
		b.stream.leaveOpen()
	}
}

// block is a growing block of a source, or an event.
type block struct {
	stream     *stream
	number     int64
	kind       perdure.EventType
	place      perdure.Place
	terminal   string // stdout or stderr
	toolCallID string
	sent       bool   // a frame of it is in flight
	held       int64  // bytes that the server has
	ahead      []byte // bytes that the server does not have
	fields     json.RawMessage
	closing    bool
	reason     perdure.BlockReason
}

// due reports whether there is something to send.
func (b *block) due() bool { return len(b.ahead) > 0 || b.closing || b.fields != nil }

// urgent reports whether a block must be sent at once: it begins, ends, is an event, or a frame is
// full.
func (b *block) urgent() bool {
	return b.closing || b.fields != nil || len(b.ahead) >= maxFrame || len(b.ahead) > 0 && b.held == 0
}

func (b *block) frame() perdure.Frame {
	n := min(len(b.ahead), maxFrame)
	for n < len(b.ahead) && n > 0 && b.ahead[n]&0xC0 == 0x80 {
		n-- // never split a character
	}
	return perdure.Frame{
		Lease: b.stream.task, AgentLease: b.stream.agent, Block: b.number, Type: b.kind, Place: b.place,
		Offset: b.held, Text: string(b.ahead[:n]), Stream: b.terminal, ToolCallID: b.toolCallID,
		Close: b.closing && n == len(b.ahead), Reason: b.reason, Fields: b.fields,
	}
}

func (b *block) length() int64 { return b.held + int64(len(b.ahead)) }

func (b *block) key() perdure.BlockKey {
	if b.stream.task != nil {
		return perdure.BlockKey{TaskID: b.stream.task.TaskID, Attempt: int64(b.stream.task.Attempt), Block: b.number}
	}
	return perdure.BlockKey{Attempt: b.stream.agent.Fence, Block: b.number}
}

// acknowledge processes the server's reply to a frame; the owner's mu is held.
func (st *stream) acknowledge(b *block, f perdure.Frame, r perdure.FrameReply) {
	if r.Err != nil && forNow(r.Err) {
		st.putOff(r.Err)
		return
	}
	if r.Err != nil {
		st.fail(r.Err)
		if r.Err.Code == perdure.LeaseLost {
			st.lost(r.Err)
		} else {
			logOf(st.owner.logger, st.task, st.agent).Error("the server refused streamed content", "error", r.Err)
		}
		return
	}
	st.failures = 0
	if f.Fields == nil {
		if r.Held < b.held || r.Held > b.length() {
			st.fail(perdure.Errorf(perdure.Conflict, "block %d is at %d bytes here and %d at the server", b.number, b.held, r.Held))
			return
		}
		b.ahead = b.ahead[r.Held-b.held:]
		b.held = r.Held
	}
	if f.Fields != nil || (f.Close && len(b.ahead) == 0) {
		st.end(b)
	}
	st.signal()
}

// end removes a block that is sent completely; the owner's mu is held.
func (st *stream) end(b *block) {
	if b.fields == nil && b.held > 0 {
		st.ends = append(st.ends, perdure.BlockEnd{Key: b.key(), Length: b.held})
	}
	st.blocks = slices.DeleteFunc(st.blocks, func(other *block) bool { return other == b })
}

// leaveOpen removes the blocks that only need to be closed, while flush waits. The commit that
// carries flush's result closes them. The owner's mu is held.
func (st *stream) leaveOpen() {
	if !st.flushing {
		return
	}
	for _, b := range slices.Clone(st.blocks) {
		if b.closing && b.reason == "" && b.held > 0 && len(b.ahead) == 0 && !b.sent {
			st.end(b)
			st.signal()
		}
	}
}

// putOff delays a source whose frame the server could not store now, while others continue. The
// bytes of the frame are sent again. The owner's mu is held.
func (st *stream) putOff(err error) {
	if st.waits {
		return
	}
	if st.failures++; st.failures == tellAfter {
		logOf(st.owner.logger, st.task, st.agent).Error("the server cannot store this now; nothing is lost, trying on", "error", err)
	}
	st.waits = true
	time.AfterFunc(resendAfter, func() {
		st.owner.mu.Lock()
		defer st.owner.mu.Unlock()
		st.waits = false
		st.owner.nudge()
	})
}

// errClosed is the error of a closed source.
var errClosed = perdure.Errorf(perdure.LeaseLost, "the source is closed")
