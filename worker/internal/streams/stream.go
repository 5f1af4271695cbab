package streams

import (
	"context"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// Stream is the agent.Stream of one run or attempt: it converts the output of the code to blocks
// and events for the server. The mutex owner.mu guards all fields.
type Stream struct {
	owner   *Streams
	task    *perdure.TaskLease
	agent   *perdure.Lease
	lost    func(error)
	over    <-chan struct{}
	changed chan struct{} // closed and replaced at each acknowledgement of the server

	place    perdure.Place
	next     int64    // number of the next block
	blocks   []*block // blocks that are open or not completely acknowledged, in order
	growing  *block   // the open block of text, thinking or tool arguments, or nil
	stdout   terminal
	stderr   terminal
	terminal int64 // number of bytes of terminal output that were streamed so far
	full     bool  // TerminalLimit was exceeded, and one block is marked as truncated
	ends     []perdure.BlockEnd
	failed   error

	flushing bool // whether Flush is waiting
	waits    bool // whether sending is paused
	failures int  // number of consecutive frames that the server could not store
}

// terminal is one output of a command: stdout or stderr. It contains the open block of the output,
// and the bytes of an incomplete character at the end of the output.
type terminal struct {
	block *block
	part  []byte
}

// whole returns p with each invalid byte replaced by U+FFFD. It replaces bytes one by one, so that
// the result does not depend on how the output was split into calls.
func whole(p []byte) []byte {
	if utf8.Valid(p) {
		return p
	}
	return []byte(string([]rune(string(p))))
}

var _ agent.Stream = (*Stream)(nil)

// fail ends the stream with an error and drops the blocks that are not sent. The caller has locked the
// owner's mu.
func (st *Stream) fail(err error) {
	if st.failed == nil {
		st.failed = err
	}
	st.blocks = nil
	st.signal()
}

func (st *Stream) signal() {
	close(st.changed)
	st.changed = make(chan struct{})
}

// SetPlace implements agent.Stream.
func (st *Stream) SetPlace(p perdure.Place) {
	st.owner.mu.Lock()
	defer st.owner.mu.Unlock()
	if st.place != p {
		st.endGrowing()
	}
	st.place = p
}

// Text implements agent.Stream.
func (st *Stream) Text(s string) { st.grow(perdure.EventToken, "", s) }

// Thinking implements agent.Stream.
func (st *Stream) Thinking(s string) { st.grow(perdure.EventThinking, "", s) }

// ToolArguments implements agent.Stream.
func (st *Stream) ToolArguments(toolCallID, s string) { st.grow(perdure.EventData, toolCallID, s) }

// grow appends text to the open block if that block has the same kind and tool call. Otherwise it ends the
// open block and begins a new one.
func (st *Stream) grow(kind perdure.EventType, toolCallID, s string) {
	if s == "" {
		return
	}
	st.owner.mu.Lock()
	defer st.owner.mu.Unlock()
	if g := st.growing; g == nil || g.kind != kind || g.toolCallID != toolCallID {
		st.endGrowing()
		st.growing = st.begin(&block{kind: kind, toolCallID: toolCallID})
	}
	st.push(st.growing, whole([]byte(s)))
}

// begin adds a block to the stream and returns it. The caller has locked the owner's mu.
func (st *Stream) begin(b *block) *block {
	b.stream, b.number, b.place = st, st.next, st.place
	if b.toolCallID != "" {
		b.place.ToolCallID = b.toolCallID
	}
	st.next++
	if st.failed == nil {
		st.blocks = append(st.blocks, b)
	}
	return b
}

// push appends bytes to a block. While more than maxAhead bytes of the stream are unsent, push
// waits, and unlocks the owner's mu during the wait. It drops the bytes if the stream has failed,
// or the run or attempt has ended. The caller has locked the owner's mu.
func (st *Stream) push(b *block, p []byte) {
	for st.failed == nil && st.ahead() > maxAhead {
		changed := st.changed
		st.owner.mu.Unlock()
		st.owner.nudge()
		over := false
		select {
		case <-changed:
		case <-st.over:
			over = true
		}
		st.owner.mu.Lock()
		if over {
			return
		}
	}
	if st.failed != nil {
		return
	}
	b.ahead = append(b.ahead, p...)
	st.owner.nudge()
}

func (st *Stream) ahead() int {
	n := 0
	for _, b := range st.blocks {
		n += len(b.ahead)
	}
	return n
}

// Break implements agent.Stream.
func (st *Stream) Break() {
	st.owner.mu.Lock()
	defer st.owner.mu.Unlock()
	st.endGrowing()
}

func (st *Stream) endGrowing() {
	if st.growing != nil {
		st.growing.closing = true
		st.growing = nil
		st.owner.nudge()
	}
}

// Terminal implements agent.Stream. It drops output over TerminalLimit, and marks the block that reaches
// the limit as truncated.
func (st *Stream) Terminal(name string, p []byte) {
	st.owner.mu.Lock()
	defer st.owner.mu.Unlock()
	t := &st.stdout
	if name == "stderr" {
		t = &st.stderr
	}
	text := t.complete(p)
	room := perdure.TerminalLimit - st.terminal
	cut := int64(len(text)) > room
	switch {
	case len(text) == 0 || st.full:
		return
	case room == 0 && t.block == nil: // the other output of the command has reached the limit
		st.truncate(t)
		return
	case t.block == nil:
		t.block = st.begin(&block{kind: perdure.EventTerminal, terminal: name})
	}
	if cut {
		for room > 0 && text[room]&0xC0 == 0x80 {
			room--
		}
		text = text[:room]
	}
	st.push(t.block, text)
	st.terminal += int64(len(text))
	if cut {
		st.truncate(t)
	}
}

// truncate closes a block of the command and marks it as truncated: the open block of t or, if t has none,
// the open block of the command's other output. Later terminal output is dropped. The caller has locked the
// owner's mu.
func (st *Stream) truncate(t *terminal) {
	st.full, st.terminal = true, perdure.TerminalLimit
	for _, of := range []*terminal{t, &st.stdout, &st.stderr} {
		if of.block != nil {
			of.block.closing, of.block.reason = true, perdure.BlockTruncated
			of.block = nil
			st.owner.nudge()
			return
		}
	}
}

// complete returns the characters that p completes: an incomplete character at the end of the last
// call, followed by the characters of p. Invalid bytes are replaced. An incomplete character at the
// end of p is stored for the next call.
func (t *terminal) complete(p []byte) []byte {
	p = append(t.part, p...)
	end := len(p)
	for back := 1; back <= min(utf8.UTFMax-1, len(p)); back++ {
		if c := p[len(p)-back]; utf8.RuneStart(c) {
			if !utf8.FullRune(p[len(p)-back:]) {
				end = len(p) - back
			}
			break
		}
	}
	t.part = append([]byte(nil), p[end:]...)
	return whole(p[:end])
}

// finish ends a terminal output. It replaces each byte of an incomplete last character by U+FFFD, as far as
// the limit of the output allows. The caller has locked the owner's mu.
func (st *Stream) finish(t *terminal, name string) {
	rest := whole(t.part)
	t.part = nil
	switch room := perdure.TerminalLimit - st.terminal; {
	case len(rest) == 0 || st.full:
	case int64(len(rest)) > room:
		st.truncate(t)
	default:
		if t.block == nil {
			t.block = st.begin(&block{kind: perdure.EventTerminal, terminal: name})
		}
		t.block.ahead = append(t.block.ahead, rest...)
		st.terminal += int64(len(rest))
	}
}

// Data implements agent.Stream.
func (st *Stream) Data(data any) { st.event(perdure.EventData, map[string]any{"data": data}) }

// Error implements agent.Stream.
func (st *Stream) Error(message string, code perdure.Code) {
	st.event(perdure.EventError, map[string]any{"message": message, "code": code})
}

func (st *Stream) event(kind perdure.EventType, members map[string]any) {
	raw, err := json.Marshal(members)
	if err != nil {
		logOf(st.owner.logger, st.task, st.agent).Warn("a streamed event does not encode", "error", err)
		return
	}
	st.owner.mu.Lock()
	defer st.owner.mu.Unlock()
	st.endGrowing()
	st.begin(&block{kind: kind, fields: raw})
	st.owner.nudge()
}

// Flush ends every open block, and waits until the server has received all content that was written
// before the call. It returns the final length of each block that has ended since the last Flush.
// The caller sends these lengths in a commit or with the end of the task, and the server closes the
// blocks then.
func (st *Stream) Flush(ctx context.Context) ([]perdure.BlockEnd, error) {
	st.owner.mu.Lock()
	st.endAll()
	st.flushing = true
	st.leaveOpen()
	err := st.await(ctx)
	defer st.owner.mu.Unlock()
	st.flushing = false
	if err != nil {
		return nil, err
	}
	ends := st.ends
	st.ends = nil
	return ends, st.failed
}

// Leave adds `ends`, the final lengths of blocks, to the result of the next Flush. The caller calls
// Leave if Flush has returned these lengths for a commit that the server did not store.
func (st *Stream) Leave(ends []perdure.BlockEnd) {
	st.owner.mu.Lock()
	defer st.owner.mu.Unlock()
	st.ends = slices.Concat(ends, st.ends)
}

// endAll ends every open block. The caller has locked the owner's mu.
func (st *Stream) endAll() {
	st.endGrowing()
	st.finish(&st.stdout, "stdout")
	st.finish(&st.stderr, "stderr")
	for _, t := range []*terminal{&st.stdout, &st.stderr} {
		if t.block != nil {
			t.block.closing, t.block = true, nil
		}
	}
}

// await waits until all content of the blocks begun so far is sent, the stream has failed, or ctx has
// ended; in the last case it returns the cause of ctx. The caller has locked the owner's mu; await unlocks
// it while it waits.
func (st *Stream) await(ctx context.Context) (err error) {
	for next := st.next; err == nil && st.failed == nil && len(st.blocks) > 0 && st.blocks[0].number < next; {
		changed := st.changed
		st.owner.mu.Unlock()
		st.owner.nudge()
		select {
		case <-changed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		st.owner.mu.Lock()
	}
	return err
}
