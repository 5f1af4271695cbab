package engine

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/validate"
	"github.com/perdure/perdure/internal/store"
)

// Read returns a reader of the store. The reader adds what is only in the memory of this server:
// the newest contents of LOCAL executions, and whether their workers are connected.
func (e *Engine) Read() store.Reader { return reader{e.Store, e} }

type reader struct {
	store.Reader
	e *Engine
}

// Lazy implements [store.Reader].
func (r reader) Lazy() store.Reader { return reader{r.Reader.Lazy(), r.e} }

// Execution implements [store.Reader].
func (r reader) Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error) {
	x, err := r.Reader.Execution(ctx, org, id)
	if err == nil {
		r.e.homes.Locate(x)
	}
	return x, err
}

// Executions implements [store.Reader].
func (r reader) Executions(ctx context.Context, org string, f store.ExecutionFilter) (store.Page[*perdure.Execution], error) {
	if err := validate.Texts("", filterTexts{f.Kind, f.Query, f.Metadata}); err != nil {
		return store.Page[*perdure.Execution]{}, err
	}
	page, err := r.Reader.Executions(ctx, org, f)
	for _, x := range page.Items {
		r.e.homes.Locate(x)
	}
	return page, err
}

// filterTexts are those texts of an execution filter that a client chooses, with their JSON names.
type filterTexts struct {
	Kind     string            `json:"kind"`
	Query    string            `json:"q"`
	Metadata map[string]string `json:"metadata"`
}

// Log implements [store.Reader].
func (r reader) Log(ctx context.Context, execution uuid.UUID, after int64, limit int) ([]perdure.Record, store.Head, error) {
	records, head, err := r.Reader.Log(ctx, execution, after, limit)
	if err != nil || r.join(execution, records) {
		return records, head, err
	}
	if err := r.e.live.Settled(ctx, execution); err != nil {
		return nil, head, err
	}
	r.join(execution, records)
	return records, head, nil
}

// join adds to the records of a LOCAL execution those of their contents that are still in memory.
// It reports whether memory had all of the records' contents.
func (r reader) join(execution uuid.UUID, records []perdure.Record) bool {
	all := true
	for i := range records {
		rec := &records[i]
		piece := rec.Chunk != nil && rec.Chunk.Length > 0
		if !piece && rec.Blob == nil {
			continue
		}
		content, ok := r.e.live.Get(execution, rec.Pos)
		switch {
		case !ok:
			all = false
		case piece:
			rec.Chunk.Text, rec.Chunk.Length = string(content), 0
		default:
			rec.Fields, rec.Blob = content, nil
		}
	}
	return all
}

// OpenBlocks implements [store.Reader].
func (r reader) OpenBlocks(ctx context.Context, execution uuid.UUID) ([]store.BlockContent, store.Head, error) {
	blocks, head, err := r.Reader.OpenBlocks(ctx, execution)
	if err != nil || r.joinBlocks(execution, blocks) {
		return blocks, head, err
	}
	if err := r.e.live.Settled(ctx, execution); err != nil {
		return nil, head, err
	}
	r.joinBlocks(execution, blocks)
	return blocks, head, nil
}

// Events implements [store.Reader].
func (r reader) Events(ctx context.Context, execution uuid.UUID, after, upTo int64) ([]store.Event, store.Head, error) {
	events, head, err := r.Reader.Events(ctx, execution, after, upTo)
	if err != nil || r.joinEvents(execution, events) {
		return events, head, err
	}
	if err := r.e.live.Settled(ctx, execution); err != nil {
		return nil, head, err
	}
	r.joinEvents(execution, events)
	return events, head, nil
}

func (r reader) joinEvents(execution uuid.UUID, events []store.Event) bool {
	all := true
	for _, e := range events {
		if e.Record != nil {
			one := []perdure.Record{*e.Record}
			all = r.join(execution, one) && all
			*e.Record = one[0]
			continue
		}
		one := []store.BlockContent{*e.Block}
		all = r.joinBlocks(execution, one) && all
		*e.Block = one[0]
	}
	return all
}

// BlocksAcross implements [store.Reader].
func (r reader) BlocksAcross(ctx context.Context, execution uuid.UUID, n int64) ([]store.BlockContent, int64, store.Head, error) {
	blocks, pos, head, err := r.Reader.BlocksAcross(ctx, execution, n)
	if err != nil || r.joinBlocks(execution, blocks) {
		return blocks, pos, head, err
	}
	if err := r.e.live.Settled(ctx, execution); err != nil {
		return nil, 0, head, err
	}
	r.joinBlocks(execution, blocks)
	return blocks, pos, head, nil
}

func (r reader) joinBlocks(execution uuid.UUID, blocks []store.BlockContent) bool {
	all := true
	for i := range blocks {
		b := &blocks[i]
		whole := make([]byte, 0, b.Length)
		for _, p := range b.Pieces {
			piece, _ := r.e.live.Get(execution, p.Pos)
			whole = append(whole, piece...)
		}
		switch {
		case b.Pieces == nil:
		case int64(len(whole)) == b.Length:
			b.Content, b.Pieces = string(whole), nil
		default:
			all = false
		}
	}
	return all
}
