// Package streams sends to the server what the code of a worker streams: text as blocks that grow,
// and single events. It identifies runs and attempts only by their leases.
package streams

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
	maxFrame = 64 << 10  // maximum bytes of text in one frame
	maxBatch = 512 << 10 // approximate maximum bytes of text in one batch of frames
	maxAhead = 4 << 20   // maximum unsent bytes of a source; its code then has to wait
)

const (
	resendAfter = 100 * time.Millisecond
	// tellAfter is how many requests in a row must fail before a line is logged. An operator may
	// have to act after so many failures, for example because a disk is full.
	tellAfter = 20
)

// Streams sends the output of all sources of a worker to the server. A source is one run or
// attempt. The output is sent in batches of frames; a frame is an event, or the next piece of text
// of one block. Only one batch is sent at a time, and the output that arrives meanwhile is sent in
// the next one, so the batches grow with the load.
//
// Text that continues a block waits until textPause has passed since the last batch, because the
// server flushes its disk for each batch. All other output is sent at once, together with the text
// that waits.
type Streams struct {
	d         perdure.Dispatch
	logger    *slog.Logger
	textPause time.Duration
	// temporary reports whether the server, after it has refused output with this error, may accept
	// the output when it is sent again.
	temporary func(error) bool
	wake      chan struct{}
	// failures is the number of consecutive batches of frames that have failed until now. last is
	// the time when the newest batch was sent. Only the goroutine of Run uses these fields.
	failures int
	last     time.Time

	mu      sync.Mutex // guards the fields below and the fields of all sources
	sources map[*Stream]bool
}

// New creates a Streams. After the server has refused output with an error, `temporary` reports
// whether the server may accept the output when it is sent again. The duration textPause is the
// minimum time between two batches that only continue blocks.
func New(d perdure.Dispatch, logger *slog.Logger, textPause time.Duration, temporary func(error) bool) *Streams {
	return &Streams{d: d, logger: logger, textPause: textPause, temporary: temporary, wake: make(chan struct{}, 1), sources: map[*Stream]bool{}}
}

// Open returns the Stream of an attempt of a task or of a claim of an execution. The function
// `lost` is called if the server says that the lease is lost. If much output is unsent, the code
// that writes to the Stream waits; after the end of ctx, output is dropped instead. The caller ends
// the Stream with Close.
func (s *Streams) Open(ctx context.Context, task *perdure.TaskLease, claim *perdure.Lease, lost func(error)) *Stream {
	st := &Stream{owner: s, task: task, agent: claim, lost: lost, over: ctx.Done(), changed: make(chan struct{})}
	s.mu.Lock()
	s.sources[st] = true
	s.mu.Unlock()
	return st
}

// Close ends a source (a run or an attempt) and drops its unsent output.
func (s *Streams) Close(st *Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sources, st)
	st.fail(errClosed)
}

func (s *Streams) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run sends the output of all runs and attempts, in batches, until ctx ends.
func (s *Streams) Run(ctx context.Context) {
	later := time.NewTimer(s.textPause)
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

// pause returns how long to wait before the next batch may be sent. It returns 0 if a run or an
// attempt has output that must be sent at once.
func (s *Streams) pause() time.Duration {
	wait := s.textPause - time.Since(s.last)
	if wait <= 0 || s.urgent() {
		return 0
	}
	return wait
}

// urgent reports whether a run or an attempt has output that must be sent at once.
func (s *Streams) urgent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range s.sources {
		if !st.waits && slices.ContainsFunc(st.blocks, (*block).urgent) {
			return true
		}
	}
	return false
}

// sendOnce sends one batch and processes the replies. It reports whether there was anything to
// send.
func (s *Streams) sendOnce(ctx context.Context) bool {
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
		select {
		case <-ctx.Done():
		case <-time.After(resendAfter):
		}
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

// collect returns the frames of the next batch, and the block of each frame. The batch has at most
// one frame of each block. The blocks of a run or an attempt are in the order in which they began.
func (s *Streams) collect() ([]perdure.Frame, []*block) {
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

// settle marks the blocks `sent`, whose frames have got their replies, as no longer being sent.
func (s *Streams) settle(sent []*block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range sent {
		b.sent = false
		b.stream.leaveOpen()
	}
}

// block is a part of the output of a run or an attempt: a block whose text grows, or a single
// event.
type block struct {
	stream       *Stream
	number       int64
	kind         perdure.EventType
	place        perdure.Place
	terminal     string // stdout or stderr for terminal output
	toolCallID   string
	sent         bool   // a frame of the block is being sent
	acknowledged int64  // number of bytes that the server has acknowledged
	ahead        []byte // bytes that the server has not acknowledged
	fields       json.RawMessage
	closing      bool
	reason       perdure.BlockReason
}

// due reports whether the block has something to send.
func (b *block) due() bool { return len(b.ahead) > 0 || b.closing || b.fields != nil }

// urgent reports whether the block must be sent at once: it is an event, it begins or ends, or it
// has at least maxFrame bytes of unsent text.
func (b *block) urgent() bool {
	return b.closing || b.fields != nil || len(b.ahead) >= maxFrame || len(b.ahead) > 0 && b.acknowledged == 0
}

func (b *block) frame() perdure.Frame {
	n := min(len(b.ahead), maxFrame)
	for n < len(b.ahead) && n > 0 && b.ahead[n]&0xC0 == 0x80 {
		n-- // do not split a character
	}
	return perdure.Frame{
		Lease: b.stream.task, AgentLease: b.stream.agent, Block: b.number, Type: b.kind, Place: b.place,
		Offset: b.acknowledged, Text: string(b.ahead[:n]), Stream: b.terminal, ToolCallID: b.toolCallID,
		Close: b.closing && n == len(b.ahead), Reason: b.reason, Fields: b.fields,
	}
}

func (b *block) length() int64 { return b.acknowledged + int64(len(b.ahead)) }

func (b *block) key() perdure.BlockKey {
	if b.stream.task != nil {
		return perdure.BlockKey{TaskID: b.stream.task.TaskID, Attempt: int64(b.stream.task.Attempt), Block: b.number}
	}
	return perdure.BlockKey{Attempt: b.stream.agent.Fence, Block: b.number}
}

// acknowledge applies the server's reply r to the frame f of the block b. The caller has locked the
// owner's mu.
func (st *Stream) acknowledge(b *block, f perdure.Frame, r perdure.FrameReply) {
	if r.Err != nil && st.owner.temporary(r.Err) {
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
		if r.Held < b.acknowledged || r.Held > b.length() {
			st.fail(perdure.Errorf(perdure.Conflict, "block %d is at %d bytes here and %d at the server", b.number, b.acknowledged, r.Held))
			return
		}
		b.ahead = b.ahead[r.Held-b.acknowledged:]
		b.acknowledged = r.Held
	}
	if f.Fields != nil || (f.Close && len(b.ahead) == 0) {
		st.end(b)
	}
	st.signal()
}

// end removes a block whose content is sent completely, and records its length for the next Flush. The
// caller has locked the owner's mu.
func (st *Stream) end(b *block) {
	if b.fields == nil && b.acknowledged > 0 {
		st.ends = append(st.ends, perdure.BlockEnd{Key: b.key(), Length: b.acknowledged})
	}
	st.blocks = slices.DeleteFunc(st.blocks, func(other *block) bool { return other == b })
}

// leaveOpen removes each block that only has to be closed: the server already has all its text. It
// does so only while Flush waits, because the commit with Flush's result closes these blocks. The
// caller has locked the owner's mu.
func (st *Stream) leaveOpen() {
	if !st.flushing {
		return
	}
	for _, b := range slices.Clone(st.blocks) {
		if b.closing && b.reason == "" && b.acknowledged > 0 && len(b.ahead) == 0 && !b.sent {
			st.end(b)
			st.signal()
		}
	}
}

// putOff delays the output of this Stream for the duration resendAfter, because the server could
// not store a part of it. Other Streams do not wait. The caller has locked the owner's mu.
func (st *Stream) putOff(err error) {
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

// errClosed is the error of a Stream after Streams.Close.
var errClosed = perdure.Errorf(perdure.LeaseLost, "the source is closed")

// logOf returns a logger whose lines name the execution and the attempt of the task. If task is
// nil, they name the execution and the fence of the agent's lease.
func logOf(l *slog.Logger, task *perdure.TaskLease, agent *perdure.Lease) *slog.Logger {
	if task != nil {
		return l.With("execution", task.ExecutionID, "task", task.TaskID, "attempt", task.Attempt)
	}
	return l.With("execution", agent.ExecutionID, "fence", agent.Fence)
}
