package engine

import (
	"context"
	"io"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/store"
	"golang.org/x/sync/errgroup"
)

const (
	// promoteStep is the number of contents that are looked up at a time. stageBytes is the
	// approximate number of content bytes that one command stores.
	promoteStep = 256
	stageBytes  = 1 << 20
)

// Promote copies the contents of a LOCAL execution from its worker and then makes the execution
// REMOTE, in one commit; no copied content is visible before that commit. Promote can be repeated:
// contents that are copied already are kept. The execution must wait for a signal during all of it.
// Errors: not_found, conflict (with the condition to wait for), unavailable (the worker is away),
// internal (the worker sent other bytes). Large contents of the returned execution are references.
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
	if err := promotable(x); err != nil {
		return nil, err
	}
	if _, err := e.sourceOf(org, *x.HomeID); err != nil {
		return nil, err
	}
	for {
		d, err := e.one(ctx, store.Command{
			Name: "promote", Lane: store.LaneCommits, Org: org, Execution: id,
			Needs: func(*perdure.Execution) store.Needs {
				return store.Needs{OpenTasks: true, OpenBlocks: true, Withheld: promoteStep}
			},
			Decide: func(s *store.State) (*store.Changes, error) {
				if s.Execution == nil {
					return nil, notFound(id)
				}
				return decidePromote(s)
			},
		})
		if err != nil {
			return nil, err
		}
		switch missing := d.value.(promotion); {
		case missing.done:
			return e.refs.Execution(ctx, org, id)
		default:
			if err := e.copyAll(ctx, x, missing.blobs); err != nil {
				return nil, err
			}
		}
	}
}

// promotion is the progress of a promotion.
type promotion struct {
	done  bool
	blobs []store.Blob // the next contents to copy
}

// promotable checks that the execution can be promoted now. Error: conflict.
func promotable(x *perdure.Execution) error {
	switch {
	case x.PersistenceMode != perdure.Local:
		return perdure.Errorf(perdure.Conflict, "execution %s is %s already", x.ID, x.PersistenceMode)
	case x.Status.Terminal():
		return perdure.Errorf(perdure.Conflict, "execution %s is %s; only one that waits for a signal can be promoted", x.ID, x.Status)
	case x.Status != perdure.StatusWaiting || x.HomeID == nil:
		return perdure.Errorf(perdure.Conflict, "execution %s is %s; promote it when it waits for a signal, between turns", x.ID, x.Status)
	case x.WaitReason != "signal":
		return perdure.Errorf(perdure.Conflict, "execution %s waits for a %s; promote it when it waits for a signal, between turns", x.ID, x.WaitReason)
	}
	return nil
}

// decidePromote sets the mode to REMOTE if all contents are copied; otherwise it returns the next
// contents to copy. Blocks that are open are closed first, because another worker may write what
// follows.
func decidePromote(s *store.State) (*store.Changes, error) {
	if err := promotable(s.Execution); err != nil {
		return nil, err
	}
	for _, t := range sortedTasks(s.Tasks) {
		if !t.Status.Terminal() {
			return nil, perdure.Errorf(perdure.Conflict, "task %s of execution %s still runs on its worker; promote it when that has ended", t.ID, t.ExecutionID)
		}
	}
	if len(s.Withheld) > 0 {
		return answerOf(promotion{blobs: s.Withheld}), nil
	}
	d := begin(s)
	if len(s.Blocks) > 0 {
		if err := d.closeOpenBlocks(); err != nil {
			return nil, err
		}
		return d.done(promotion{}), nil
	}
	d.x.PersistenceMode, d.x.HomeID = perdure.Remote, nil
	d.c.Unveil = true
	return d.done(promotion{done: true}), nil
}

// copyAll copies contents into the store, in commands of about stageBytes.
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
	group.SetLimit(fetches)
	for i, b := range blobs {
		group.Go(func() (err error) {
			staged[i].ID = b.ID
			staged[i].Content, err = e.fetchWhole(fetching, x, refOf(b))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return e.stage(ctx, x, staged...)
}

// copyLarge copies a content piece by piece. It stores the last piece only after all bytes have
// matched the hash.
func (e *Engine) copyLarge(ctx context.Context, x *perdure.Execution, ref perdure.BlobRef) error {
	content, err := e.fetch(ctx, x, ref)
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

// stage stores pieces of withheld contents. Error: conflict, if the execution cannot be promoted
// any more.
func (e *Engine) stage(ctx context.Context, x *perdure.Execution, pieces ...store.Staged) error {
	size := 0
	for _, p := range pieces {
		size += len(p.Content)
	}
	_, err := e.one(ctx, store.Command{
		Name: "stage", Lane: store.LaneChunks, Org: x.Org, Execution: x.ID, Bytes: size,
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Execution == nil {
				return nil, notFound(x.ID)
			}
			if err := promotable(s.Execution); err != nil {
				return nil, err
			}
			return &store.Changes{Stage: pieces, Answer: &decided{}}, nil
		},
	})
	return err
}

// promotions ensures that each execution has at most one promotion at a time.
type promotions struct {
	mu  sync.Mutex
	all map[uuid.UUID]chan struct{}
}

// enter waits until no other promotion of the execution is in progress. The caller must call leave.
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

// until waits until busy is closed or ctx ends.
func until(ctx context.Context, busy <-chan struct{}) error {
	defer fair.Wait(ctx)()
	select {
	case <-busy:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
