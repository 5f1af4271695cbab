package engine

import (
	"crypto/sha256"
	"encoding"
	"hash"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
)

// draft collects the changes of one decision.
type draft struct {
	s     *store.State
	x     *perdure.Execution
	c     store.Changes
	hints []string
	freed []freed
	shown []shown            // for live readers
	seen  []func(Observer)   // calls of the observer, made after the commit
	tasks map[uuid.UUID]bool // the tasks that are in c.Tasks already
	refs  checkedRefs        // the contents by reference that were checked
	woken *woken             // set if the decision makes a claim; done sets its execution
}

func begin(s *store.State) *draft {
	return &draft{s: s, x: s.Execution, tasks: map[uuid.UUID]bool{}}
}

// done completes the draft with the execution's row, the log's head and the hints.
func (d *draft) done(value any) *store.Changes {
	if len(d.c.Records) > 0 {
		head := d.s.Head
		d.c.Head = &head
		d.x.MaxSeq = head.LastSeq
		d.hint(notify.Log(d.x.ID))
	}
	d.x.UpdatedAt = d.s.Now
	d.x.Version++
	d.c.Execution = d.x
	if d.woken != nil {
		d.woken.execution = *d.x
	}
	d.c.Answer = &decided{value: value, hints: d.hints, freed: d.freed, shown: d.shown, seen: d.seen, woken: d.woken}
	return &d.c
}

// doneLog completes a draft that changed the log only, not the execution's row.
func (d *draft) doneLog(value any) *store.Changes {
	answer := &decided{value: value, shown: d.shown}
	if len(d.c.Records) > 0 {
		head := d.s.Head
		d.c.Head = &head
		d.hint(notify.Log(d.x.ID))
		answer.growth = d.growth()
	}
	answer.hints = d.hints
	d.c.Answer = answer
	return &d.c
}

// growth returns the additions to the log if they are only pieces of text that a reader of the
// store would get in the same form. Otherwise it returns nil.
func (d *draft) growth() *Growth {
	if d.local() {
		return nil
	}
	for _, r := range d.c.Records {
		if r.Chunk == nil || r.Chunk.ToolCallID != "" {
			return nil
		}
	}
	return &Growth{Execution: d.x.ID, Head: d.s.Head, Records: d.c.Records}
}

func (d *draft) hint(topic string) { d.hints = append(d.hints, topic) }

// event appends an event of the execution to the log.
func (d *draft) event(t perdure.EventType, place perdure.Place, members map[string]any) {
	d.record(perdure.Record{Type: t, Place: place, Fields: fields(members)})
}

// taskEvent appends an event of a task's attempt to the log.
func (d *draft) taskEvent(t perdure.EventType, task *perdure.Task, members map[string]any) {
	all := map[string]any{"kind": task.Kind}
	for k, v := range members {
		all[k] = v
	}
	id := task.ID
	d.record(perdure.Record{Type: t, Place: task.Place, TaskID: &id, Attempt: task.Attempt, Fields: fields(all)})
}

// record assigns the next seq and pos to an event and appends it to the log.
func (d *draft) record(r perdure.Record) int64 {
	d.s.Head.LastSeq++
	d.s.Head.LastPos++
	d.s.Head.Nonce = d.s.Nonce
	r.Seq, r.Pos, r.Nonce, r.CreatedAt = d.s.Head.LastSeq, d.s.Head.LastPos, d.s.Nonce, d.s.Now
	d.c.Records = append(d.c.Records, r)
	return r.Seq
}

// task adds a task's row to the changes, once.
func (d *draft) task(t *perdure.Task) {
	if !d.tasks[t.ID] {
		d.tasks[t.ID] = true
		d.c.Tasks = append(d.c.Tasks, t)
	}
	d.s.Tasks[t.ID] = t
}

// chunk appends text to an open block, as a record that has the block's seq.
func (d *draft) chunk(b *store.Block, text, toolCallID string, sum perdure.Hash) error {
	d.s.Head.LastPos++
	d.s.Head.Nonce = d.s.Nonce
	pos := d.s.Head.LastPos
	if b.Length == 0 && b.FirstPos == 0 {
		d.s.Head.LastSeq++
		b.Seq, b.FirstPos = d.s.Head.LastSeq, pos
	}
	id, attempt := blockSource(b.Key)
	chunk := &perdure.Chunk{Offset: b.Length, Text: text, Stream: b.Stream, ToolCallID: toolCallID}
	if d.local() {
		d.show([]byte(text))
		chunk.Text, chunk.Length = "", int64(len(text))
	}
	d.c.Records = append(d.c.Records, perdure.Record{
		Pos: pos, Seq: b.Seq, Nonce: d.s.Nonce, Type: b.Type, CreatedAt: d.s.Now, Place: b.Place, TaskID: id, Attempt: attempt, Chunk: chunk,
	})
	d.c.ChunkKeys = append(d.c.ChunkKeys, b.Key)
	b.Length += int64(len(text))
	b.LastPos = pos
	return d.hash(b, text, sum)
}

// hash adds a block's text to its digest. A running SHA-256 contains the last bytes in clear text.
// For a block of a LOCAL execution, the sum that the worker reported is therefore stored instead.
func (d *draft) hash(b *store.Block, text string, sum perdure.Hash) error {
	if d.local() {
		b.Digest = sum[:]
		return nil
	}
	h, err := digest(b.Digest)
	if err != nil {
		return err
	}
	h.Write([]byte(text))
	b.Digest, err = h.(encoding.BinaryMarshaler).MarshalBinary()
	return err
}

// sumOf returns the SHA-256 of a block.
func (d *draft) sumOf(b *store.Block) (sum perdure.Hash, err error) {
	if d.local() {
		copy(sum[:], b.Digest)
		return sum, nil
	}
	h, err := digest(b.Digest)
	if err == nil {
		h.Sum(sum[:0])
	}
	return sum, err
}

// closeBlock closes an open block and records that in the log.
func (d *draft) closeBlock(b *store.Block, reason perdure.BlockReason) error {
	if !b.Open {
		return nil
	}
	sum, err := d.sumOf(b)
	if err != nil {
		return err
	}
	b.Open, b.Reason, b.Digest, b.SHA256 = false, reason, nil, sum
	if d.local() && reason != perdure.BlockSuperseded {
		b.Content = &perdure.BlobRef{ID: perdure.ContentID(d.x.ID, sum), Length: b.Length, SHA256: sum}
		d.c.Withhold = append(d.c.Withhold, *b.Content)
	}
	d.sayClosed(b)
	return nil
}

// takeBack marks the closed blocks of an attempt as superseded, because the attempt is repeated or
// its worker is lost. Blocks that an entry refers to are not changed, nor is terminal output if
// keepTerminal is set. The state must hold the attempt's blocks.
func (d *draft) takeBack(t *perdure.Task, keepTerminal bool) {
	for _, b := range sortedBlocks(d.s.Blocks) {
		if b.Key.TaskID != t.ID || b.Open || b.Event || b.Named || b.Reason == perdure.BlockSuperseded {
			continue
		}
		if keepTerminal && b.Type == perdure.EventTerminal {
			continue
		}
		b.Reason = perdure.BlockSuperseded
		d.sayClosed(b)
	}
}

// sayClosed adds a closed block's row and its block.closed event to the changes.
func (d *draft) sayClosed(b *store.Block) {
	id, attempt := blockSource(b.Key)
	d.record(perdure.Record{
		Type: perdure.EventBlockClosed, Place: b.Place, TaskID: id, Attempt: attempt,
		Fields: fields(map[string]any{"blockSeq": b.Seq, "length": b.Length, "sha256": b.SHA256, "reason": b.Reason}),
	})
	d.putBlock(b)
}

// putBlock adds a block's row to the changes, once.
func (d *draft) putBlock(b *store.Block) {
	for i := range d.c.Blocks {
		if d.c.Blocks[i].Key == b.Key {
			d.c.Blocks[i] = *b
			return
		}
	}
	d.c.Blocks = append(d.c.Blocks, *b)
}

// digest restores a running SHA-256 from its stored state.
func digest(state []byte) (hash.Hash, error) {
	h := sha256.New()
	if state == nil {
		return h, nil
	}
	if err := h.(encoding.BinaryUnmarshaler).UnmarshalBinary(state); err != nil {
		return nil, &perdure.Error{Code: perdure.Internal, Message: "a block's digest does not restore", Err: err}
	}
	return h, nil
}

// blockSource returns the task and the attempt that a block comes from, nil and 0 if it comes from
// the agent.
func blockSource(key perdure.BlockKey) (*uuid.UUID, int) {
	if key.TaskID == uuid.Nil {
		return nil, 0
	}
	id := key.TaskID
	return &id, int(key.Attempt)
}

// derive returns an id that depends only on another id and a label, so that a repeated decision or
// request returns the same id.
func derive(from uuid.UUID, label string) uuid.UUID { return uuid.NewSHA1(from, []byte(label)) }
