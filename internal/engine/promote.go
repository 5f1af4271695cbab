package engine

import (
	"context"
	"io"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/homes"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
	"golang.org/x/sync/errgroup"
)

const (
	// promoteStep is the maximum number of missing contents that the store lists at once; Promote
	// copies them before it asks for more. stageBytes is the approximate number of content bytes
	// that one command stores.
	promoteStep = 256
	stageBytes  = 1 << 20
)

// Promote copies the contents of a LOCAL execution from its worker and then makes the execution
// REMOTE in one commit. Copied contents are not visible before that commit. Promote can be
// repeated; it does not copy a content twice. The execution must wait for a signal during the whole
// call. Errors: not_found, conflict (the text names the condition to wait for), unavailable (the
// worker is not connected), internal (the worker sent wrong bytes). In the returned execution,
// large contents are references.
func (e *Engine) Promote(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error) {
	leave, err := e.promotions.enter(ctx, id)
	if err != nil {
		return nil, err
	}
	defer leave()
	x, err := e.refs.Execution(ctx, org, id)
	if err != nil {
		return nil, err
	}
	if err := rules.CheckPromotable(x); err != nil {
		return nil, err
	}
	if _, err := e.homes.Source(org, *x.HomeID); err != nil {
		return nil, err
	}
	for {
		d, err := e.one(ctx, store.Command{
			Name: "promote", Lane: store.LaneCommits, Org: org, Execution: id,
			Needs:  func(*perdure.Execution) store.Needs { return rules.PromoteNeeds(promoteStep) },
			Decide: func(s *store.State) (*store.Changes, error) { return rules.Promote(s, id) },
		})
		if err != nil {
			return nil, err
		}
		switch missing := d.Value.(rules.Promotion); {
		case missing.Done:
			return e.refs.Execution(ctx, org, id)
		default:
			if err := e.copyAll(ctx, x, missing.Blobs); err != nil {
				return nil, err
			}
		}
	}
}

// copyAll copies contents from the worker into the store. Each command stores about stageBytes.
func (e *Engine) copyAll(ctx context.Context, x *perdure.Execution, blobs []store.Blob) error {
	for len(blobs) > 0 {
		if blobs[0].Length > stageBytes {
			if err := e.copyLarge(ctx, x, refOf(blobs[0])); err != nil {
				return err
			}
			blobs = blobs[1:]
			continue
		}
		n, size := 0, int64(0)
		for n < len(blobs) && size+blobs[n].Length <= stageBytes {
			size += blobs[n].Length
			n++
		}
		if err := e.copySmall(ctx, x, blobs[:n]); err != nil {
			return err
		}
		blobs = blobs[n:]
	}
	return nil
}

func refOf(b store.Blob) perdure.BlobRef {
	return perdure.BlobRef{ID: b.ID, Length: b.Length, SHA256: b.SHA256}
}

func (e *Engine) copySmall(ctx context.Context, x *perdure.Execution, blobs []store.Blob) error {
	staged := make([]store.Staged, len(blobs))
	group, fetching := errgroup.WithContext(ctx)
	group.SetLimit(homes.Fetches)
	for i, b := range blobs {
		group.Go(func() (err error) {
			staged[i].ID = b.ID
			staged[i].Content, err = e.homes.FetchWhole(fetching, x, refOf(b))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return e.stage(ctx, x, staged...)
}

// copyLarge copies a content in pieces. It stores the last piece only if all bytes match the hash.
func (e *Engine) copyLarge(ctx context.Context, x *perdure.Execution, ref perdure.BlobRef) error {
	content, err := e.homes.Fetch(ctx, x, ref)
	if err != nil {
		return err
	}
	defer content.Close()
	for at := int64(0); at < ref.Length; {
		piece := make([]byte, min(stageBytes, ref.Length-at))
		if _, err := io.ReadFull(content, piece); err != nil {
			return err
		}
		if at+int64(len(piece)) == ref.Length {
			if _, err := io.Copy(io.Discard, content); err != nil {
				return err
			}
		}
		if err := e.stage(ctx, x, store.Staged{ID: ref.ID, At: at, Content: piece}); err != nil {
			return err
		}
		at += int64(len(piece))
	}
	return nil
}

// stage stores those pieces of contents that the store does not have yet. The stored pieces are not
// visible before the execution is REMOTE. Error: conflict, if the execution can no longer become
// REMOTE.
func (e *Engine) stage(ctx context.Context, x *perdure.Execution, pieces ...store.Staged) error {
	size := 0
	for _, p := range pieces {
		size += len(p.Content)
	}
	_, err := e.one(ctx, store.Command{
		Name: "stage", Lane: store.LaneChunks, Org: x.Org, Execution: x.ID, Bytes: size,
		Decide: func(s *store.State) (*store.Changes, error) { return rules.Stage(s, x.ID, pieces) },
	})
	return err
}

// promotions ensures that at most one call of Promote works on an execution at a time.
type promotions struct {
	mu  sync.Mutex
	all map[uuid.UUID]chan struct{}
}

// enter waits until no other call of Promote works on the execution. The caller must call leave at
// the end. If ctx ends first, enter returns the cause.
func (p *promotions) enter(ctx context.Context, id uuid.UUID) (leave func(), err error) {
	for {
		p.mu.Lock()
		busy := p.all[id]
		if busy == nil {
			if p.all == nil {
				p.all = map[uuid.UUID]chan struct{}{}
			}
			mine := make(chan struct{})
			p.all[id] = mine
			p.mu.Unlock()
			return func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				delete(p.all, id)
				close(mine)
			}, nil
		}
		p.mu.Unlock()
		if err := until(ctx, busy); err != nil {
			return nil, err
		}
	}
}

// until waits until the channel busy is closed. If ctx ends first, it returns the cause.
func until(ctx context.Context, busy <-chan struct{}) error {
	defer fair.Wait(ctx)()
	select {
	case <-busy:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
