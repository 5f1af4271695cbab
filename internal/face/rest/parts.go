package rest

import (
	"context"
	"strconv"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/store"
)

// partRoutes registers the operations that list the parts of an execution: checkpoints, tasks,
// signals and entries.
func (s *server) partRoutes() {
	g := operation.Group{API: s.API, Access: front.Client, Tag: "Executions", Compress: true}
	const one = "/agent-executions/{id}"
	operation.Get(g, one+"/checkpoints", "listCheckpoints", "List the checkpoints, oldest first", s.listCheckpoints)
	operation.Get(g, one+"/checkpoints/latest", "getLatestCheckpoint", "Get the newest checkpoint", s.latestCheckpoint)
	operation.Get(g, one+"/checkpoints/{seq}", "getCheckpoint", "Get a checkpoint", s.getCheckpoint)
	operation.Get(g, one+"/tasks", "listTasks", "List the tasks, oldest first", s.listTasks)
	operation.Get(g, one+"/signals", "listSignals", "List the signals, oldest first, also those that were taken", s.listSignals)
	operation.Get(g, one+"/entries", "listEntries", "List the entries from root to leaf, or all of them", s.listEntries)
	operation.Get(g, one+"/context", "getContext", "Get what the next model call is asked with, and what it leaves out", s.context)
	operation.Get(g, callPath, "getModelCall", "Get a model call: its request as it is rebuilt, whether the prompt has the recorded hash, and the answer", s.getCall)
	operation.Get(g, callPath+"/request", "getModelCallRequest", "Get the body of the request of a model call as the code that calls a provider builds it, without the key", s.callRequest, asCallBody)
	operation.Get(g, one+"/entries/{entryId}", "getEntry", "Get an entry with the whole of its content", s.getEntry, asEntry)
}

// PartsInput is the input of an operation that lists parts of an execution, page by page.
type PartsInput struct {
	operation.IDInput
	operation.PageInput
}

type checkpointInput struct {
	operation.IDInput
	Seq string `path:"seq" doc:"The checkpoint's number, from 1."`
}

func (s *server) listCheckpoints(ctx context.Context, in *PartsInput) (*operation.Body[operation.List[*perdure.Checkpoint]], error) {
	x, err := s.execution(ctx, in.IDInput)
	if err != nil {
		return nil, err
	}
	p, err := s.read().Checkpoints(ctx, x.ID, in.Cursor, in.Limit)
	if err != nil {
		return nil, err
	}
	return operation.ListOf(p.Items, p.Next), s.showCheckpoints(ctx, x, p.Items...)
}

func (s *server) latestCheckpoint(ctx context.Context, in *operation.IDInput) (*operation.Body[*perdure.Checkpoint], error) {
	return s.checkpoint(ctx, *in, 0)
}

func (s *server) getCheckpoint(ctx context.Context, in *checkpointInput) (*operation.Body[*perdure.Checkpoint], error) {
	seq, err := strconv.ParseInt(in.Seq, 10, 64)
	if err != nil || seq < 1 {
		return nil, perdure.Errorf(perdure.NotFound, "there is no checkpoint %q", in.Seq)
	}
	return s.checkpoint(ctx, in.IDInput, seq)
}

func (s *server) checkpoint(ctx context.Context, in operation.IDInput, seq int64) (*operation.Body[*perdure.Checkpoint], error) {
	x, err := s.execution(ctx, in)
	if err != nil {
		return nil, err
	}
	c, err := s.read().Checkpoint(ctx, x.ID, seq)
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(c), s.showCheckpoints(ctx, x, c)
}

type tasksInput struct {
	PartsInput
	Steps bool `query:"steps" doc:"Include the records of steps."`
}

func (s *server) listTasks(ctx context.Context, in *tasksInput) (*operation.Body[operation.List[*perdure.Task]], error) {
	x, err := s.execution(ctx, in.IDInput)
	if err != nil {
		return nil, err
	}
	p, err := s.read().ListTasks(ctx, x.ID, in.Steps, in.Cursor, in.Limit)
	if err != nil {
		return nil, err
	}
	return operation.ListOf(p.Items, p.Next), s.showTasks(ctx, x, p.Items)
}

func (s *server) listSignals(ctx context.Context, in *PartsInput) (*operation.Body[operation.List[*perdure.Signal]], error) {
	x, err := s.execution(ctx, in.IDInput)
	if err != nil {
		return nil, err
	}
	p, err := s.read().ListSignals(ctx, x.ID, in.Cursor, in.Limit)
	if err != nil {
		return nil, err
	}
	return operation.ListOf(p.Items, p.Next), s.showSignals(ctx, x, p.Items)
}

type entriesInput struct {
	PartsInput
	All bool `query:"all" doc:"Every entry, oldest first, in place of the path."`
}

func (s *server) listEntries(ctx context.Context, in *entriesInput) (*operation.Body[operation.List[perdure.Entry]], error) {
	x, err := s.execution(ctx, in.IDInput)
	if err != nil {
		return nil, err
	}
	if !in.All {
		return s.path(ctx, x, in.PageInput)
	}
	p, err := s.read().AllEntries(ctx, x.ID, in.Cursor, in.Limit)
	if err != nil {
		return nil, err
	}
	return operation.ListOf(p.Items, p.Next), s.showEntries(ctx, x, p.Items)
}

// path returns one page of the conversation's entries, in order from the root of the entry tree
// to the current leaf. The cursor is the id of the last entry on the previous page.
func (s *server) path(ctx context.Context, x *perdure.Execution, page operation.PageInput) (*operation.Body[operation.List[perdure.Entry]], error) {
	var after *uuid.UUID
	if page.Cursor != "" {
		id, err := uuid.Parse(page.Cursor)
		if err != nil {
			return nil, perdure.FieldErrorf("cursor", "is not one of this list")
		}
		after = &id
	}
	if x.Leaf == nil {
		return operation.ListOf[perdure.Entry](nil, ""), nil
	}
	var items []perdure.Entry
	bytes := 0
	for e, err := range s.read().Path(ctx, x.ID, *x.Leaf, after, 0, true) {
		if perdure.IsCode(err, perdure.NotFound) && after != nil {
			return nil, perdure.FieldErrorf("cursor", "is not on the path any more; begin again without it")
		}
		if err != nil {
			return nil, err
		}
		bytes += store.Weight(e.Content, e.Blob)
		if len(items) == page.Limit || bytes > store.PageBytes && len(items) > 0 {
			return operation.ListOf(items, items[len(items)-1].ID.String()), s.showEntries(ctx, x, items)
		}
		items = append(items, e)
	}
	return operation.ListOf(items, ""), s.showEntries(ctx, x, items)
}
