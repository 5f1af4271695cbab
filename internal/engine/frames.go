package engine

import (
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"golang.org/x/sync/errgroup"
)

// appending is the maximum number of executions of one batch that are written at the same time. It
// is twice the capacity of a transaction, so that one transaction fills while another commits.
const appending = 512

// appendFrames stores pieces of blocks, and events. The frames of one execution form one command,
// in order. The commands of many executions share transactions.
func (e *Engine) appendFrames(ctx context.Context, org string, frames []perdure.Frame) ([]perdure.FrameReply, error) {
	replies := make([]perdure.FrameReply, len(frames))
	byExecution := map[uuid.UUID][]int{}
	var order []uuid.UUID
	for i, f := range frames {
		id, err := frameExecution(f)
		if err != nil {
			replies[i].Err = err
			continue
		}
		if byExecution[id] == nil {
			order = append(order, id)
		}
		byExecution[id] = append(byExecution[id], i)
	}
	var group errgroup.Group
	group.SetLimit(appending)
	failed := make([]error, len(order))
	for at, id := range order {
		group.Go(func() error {
			failed[at] = e.appendSome(ctx, org, id, frames, replies, byExecution[id])
			return nil
		})
	}
	_ = group.Wait() // each execution's error is in failed
	if all := errors.Join(failed...); all != nil && (ctx.Err() != nil || !slices.Contains(failed, nil)) {
		return nil, all
	}
	return replies, nil
}

// appendSome stores the frames of one execution and sets their replies. An error is the reply to
// each of these frames; it does not affect the frames of other executions.
func (e *Engine) appendSome(ctx context.Context, org string, id uuid.UUID, frames []perdure.Frame, replies []perdure.FrameReply, which []int) error {
	mine := make([]perdure.Frame, len(which))
	for i, at := range which {
		mine[i] = frames[at]
	}
	got, err := e.appendTo(ctx, org, id, mine)
	for i, at := range which {
		if err != nil {
			replies[at].Err = refusalOf(err)
			continue
		}
		replies[at] = got[i]
	}
	return err
}

// refusalOf returns the error in the form of a reply.
func refusalOf(err error) *perdure.Error {
	var coded *perdure.Error
	if errors.As(err, &coded) {
		return coded
	}
	return &perdure.Error{Code: perdure.Internal, Message: "it could not be stored", Err: err}
}

func frameExecution(f perdure.Frame) (uuid.UUID, *perdure.Error) {
	switch {
	case f.Lease != nil && f.AgentLease == nil:
		return f.Lease.ExecutionID, nil
	case f.AgentLease != nil && f.Lease == nil:
		return f.AgentLease.ExecutionID, nil
	}
	return uuid.Nil, perdure.FieldErrorf("lease", "a frame has the lease of a task or of an execution")
}

func (e *Engine) appendTo(ctx context.Context, org string, id uuid.UUID, frames []perdure.Frame) ([]perdure.FrameReply, error) {
	size := 0
	for _, f := range frames {
		size += len(f.Text) + len(f.Fields)
	}
	d, err := e.oneShown(ctx, store.Command{
		Name: "append", Lane: store.LaneChunks, Org: org, Execution: id, Bytes: size,
		Needs:  func(*perdure.Execution) store.Needs { return frameNeeds(frames) },
		Decide: func(s *store.State) (*store.Changes, error) { return decideFrames(s, frames) },
	})
	if err != nil {
		return nil, err
	}
	return d.value.([]perdure.FrameReply), nil
}

func frameNeeds(frames []perdure.Frame) store.Needs {
	var n store.Needs
	for _, f := range frames {
		n.Blocks = append(n.Blocks, keyOf(f))
		if f.Lease != nil {
			n.Tasks = append(n.Tasks, f.Lease.TaskID)
		}
	}
	return n
}

func keyOf(f perdure.Frame) perdure.BlockKey {
	if f.Lease != nil {
		return perdure.BlockKey{TaskID: f.Lease.TaskID, Attempt: int64(f.Lease.Attempt), Block: f.Block}
	}
	return perdure.BlockKey{Attempt: f.AgentLease.Fence, Block: f.Block}
}

func decideFrames(s *store.State, frames []perdure.Frame) (*store.Changes, error) {
	replies := make([]perdure.FrameReply, len(frames))
	d := begin(s)
	for i, f := range frames {
		held, err := d.frame(f)
		replies[i].Held = held
		if err != nil {
			var coded *perdure.Error
			if !errors.As(err, &coded) {
				return nil, err
			}
			replies[i].Err = coded
		}
	}
	return d.doneLog(replies), nil
}

// frame stores one frame. Bytes that are stored already are skipped, and a repeated event changes
// nothing. After a gap, the frame is not stored. The result is the stored length of the block.
func (d *draft) frame(f perdure.Frame) (int64, error) {
	if f.Lease != nil && !taskHeldBy(d.s.Tasks[f.Lease.TaskID], *f.Lease) {
		return 0, taskLeaseLost(f.Lease.TaskID)
	}
	if f.AgentLease != nil && !heldBy(d.x, *f.AgentLease) {
		return 0, leaseLost(f.AgentLease.ExecutionID)
	}
	if err := checkFrame(f); err != nil {
		return 0, err
	}
	key := keyOf(f)
	b := d.s.Blocks[key]
	if f.Fields != nil {
		return 0, d.frameEvent(f, key, b)
	}
	switch f.Type {
	case perdure.EventToken, perdure.EventThinking, perdure.EventTerminal, perdure.EventData:
	default:
		return 0, perdure.FieldErrorf("type", "%q is no type of a block", f.Type)
	}
	if b == nil {
		b = &store.Block{Key: key, Type: f.Type, Place: d.placed(f.Place), Stream: f.Stream, CreatedAt: d.s.Now, Open: true}
		d.s.Blocks[key] = b
	}
	return d.grow(b, f)
}

// checkFrame refuses a frame that cannot be stored. The text of a block may contain zero bytes, as
// terminal output does.
func checkFrame(f perdure.Frame) error {
	if !utf8.ValidString(f.Text) {
		return perdure.FieldErrorf("text", "is not valid UTF-8")
	}
	f.Text = ""
	if err := checkTexts("", f); err != nil {
		return err
	}
	return checkJSON("fields", f.Fields)
}

func (d *draft) grow(b *store.Block, f perdure.Frame) (int64, error) {
	if f.Offset > b.Length || !b.Open {
		return b.Length, nil
	}
	if known := b.Length - f.Offset; known < int64(len(f.Text)) {
		if d.local() && f.Sum == (perdure.Hash{}) {
			return b.Length, perdure.FieldErrorf("sha256", "is missing; a LOCAL execution's block comes with its SHA-256 so far")
		}
		if err := d.chunk(b, f.Text[known:], f.ToolCallID, f.Sum); err != nil {
			return b.Length, err
		}
		d.putBlock(b)
	}
	if !f.Close {
		return b.Length, nil
	}
	if b.FirstPos == 0 {
		delete(d.s.Blocks, b.Key) // an empty block is not stored
		return 0, nil
	}
	reason := f.Reason
	if reason == "" {
		reason = perdure.BlockDone
	}
	return b.Length, d.closeBlock(b, reason)
}

func (d *draft) frameEvent(f perdure.Frame, key perdure.BlockKey, known *store.Block) error {
	if known != nil {
		return nil
	}
	if !emitted[f.Type] {
		return perdure.FieldErrorf("type", "%q is not an event that a task may emit", f.Type)
	}
	id, attempt := blockSource(key)
	d.emit(perdure.Record{Type: f.Type, Place: d.placed(f.Place), TaskID: id, Attempt: attempt, Fields: f.Fields})
	spent := store.Block{Key: key, Seq: d.s.Head.LastSeq, Type: f.Type, CreatedAt: d.s.Now, FirstPos: d.s.Head.LastPos, LastPos: d.s.Head.LastPos, Event: true}
	d.s.Blocks[key] = &spent
	d.putBlock(&spent)
	return nil
}
