package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
	"golang.org/x/sync/errgroup"
)

// appending is the maximum number of executions for which one call of appendFrames stores frames at
// the same time. It is twice the capacity of a transaction, so that one transaction can collect
// commands while another commits.
const appending = 512

// appendFrames stores frames, which are events and chunks of blocks. All frames of one execution form
// one command, in order. Commands of many executions share transactions.
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

// appendSome stores the frames of one execution and sets the replies to them. If the command fails,
// its error is the reply to each of these frames, and the frames of other executions are not
// affected.
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

// refusalOf returns err as the error of a reply. If err has no code, the code becomes internal.
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
		Needs:  func(*perdure.Execution) store.Needs { return rules.FrameNeeds(frames) },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.AppendFrames(s, frames) },
	})
	if err != nil {
		return nil, err
	}
	return d.Value.([]perdure.FrameReply), nil
}
