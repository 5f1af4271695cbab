package engine

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Claims and replies contain references to large contents. For a worker in this process, the
// methods of this file replace the references with the contents.

// read returns the store's reader for data that goes to the worker. For a worker in this process,
// the reader returns complete contents; for a remote worker, it returns references.
func (d dispatch) read() store.ClaimReader {
	if d.byRef {
		return d.e.refs
	}
	return d.e.Store
}

// fill replaces a reference by the content to which it refers: it sets *into to the content, and
// *ref to nil. For a remote worker it does nothing. If only the worker of a LOCAL execution stores
// the content, the reference remains.
func (d dispatch) fill(ctx context.Context, execution uuid.UUID, into *json.RawMessage, ref **perdure.BlobRef) error {
	if d.byRef || *ref == nil {
		return nil
	}
	content, err := d.e.homes.Held(ctx, execution, **ref)
	if content == nil {
		return err
	}
	*into, *ref = content, nil
	return nil
}

func (d dispatch) fillTasks(ctx context.Context, tasks ...*perdure.Task) error {
	for _, t := range tasks {
		if t == nil {
			continue
		}
		if err := d.fill(ctx, t.ExecutionID, &t.Input, &t.InputBlob); err != nil {
			return err
		}
		if err := d.fill(ctx, t.ExecutionID, &t.Result, &t.ResultBlob); err != nil {
			return err
		}
	}
	return nil
}

func (d dispatch) fillSignals(ctx context.Context, execution uuid.UUID, signals []perdure.Signal) error {
	for i := range signals {
		if err := d.fill(ctx, execution, &signals[i].Value, &signals[i].Blob); err != nil {
			return err
		}
	}
	return nil
}

func (d dispatch) fillAgent(ctx context.Context, c *perdure.AgentClaim) error {
	id := c.Lease.ExecutionID
	if err := d.fill(ctx, id, &c.Execution.Input, &c.Execution.InputBlob); err != nil {
		return err
	}
	if err := d.fill(ctx, id, &c.Execution.Output, &c.Execution.OutputBlob); err != nil {
		return err
	}
	if c.Checkpoint != nil {
		if err := d.fill(ctx, id, &c.Checkpoint.State, &c.Checkpoint.Blob); err != nil {
			return err
		}
	}
	if err := d.fillSignals(ctx, id, c.Again); err != nil {
		return err
	}
	if err := d.fillSignals(ctx, id, c.Signals); err != nil {
		return err
	}
	if err := d.e.Questions.FillDecisions(ctx, id, c.Questions); err != nil {
		return err
	}
	return d.fillTasks(ctx, c.Results...)
}

func (d dispatch) fillReply(ctx context.Context, execution uuid.UUID, r *perdure.CommitReply) error {
	if err := d.fillSignals(ctx, execution, r.Signals); err != nil {
		return err
	}
	if err := d.fillTasks(ctx, r.Tasks...); err != nil {
		return err
	}
	if err := d.e.Questions.FillDecisions(ctx, execution, r.Questions); err != nil {
		return err
	}
	for i := range r.Claims {
		if err := d.fillTasks(ctx, r.Claims[i].Task); err != nil {
			return err
		}
	}
	return nil
}
