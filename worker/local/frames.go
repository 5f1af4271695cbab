package local

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Streamed blocks are stored under the task or run that writes them, which is called their source.
// The key of a source has 24 bytes. The first 16 are the id of the task, or zeros for the agent
// itself. The other 8 are the number of the attempt, or the fence of the agent's claim.

// sourceOf returns the execution to which a frame (a chunk of a block, or an event) belongs, and
// the key of its source. Both are empty if the frame has no lease.
func sourceOf(f perdure.Frame) (execution uuid.UUID, source []byte) {
	switch {
	case f.Lease != nil:
		return f.Lease.ExecutionID, binary.BigEndian.AppendUint64(bytes.Clone(f.Lease.TaskID[:]), uint64(f.Lease.Attempt))
	case f.AgentLease != nil:
		return f.AgentLease.ExecutionID, agentSource(f.AgentLease.Fence)
	}
	return uuid.Nil, nil
}

func agentSource(fence int64) []byte {
	return binary.BigEndian.AppendUint64(bytes.Clone(uuid.Nil[:]), uint64(fence))
}

func isAgentSource(source string) bool { return isSourceOf(source, uuid.Nil) }

func isSourceOf(source string, task uuid.UUID) bool { return source[:len(task)] == string(task[:]) }

// blockUpdate is the new state of a block, which applies once a frame of the block is stored.
type blockUpdate struct {
	k    *executionState
	key  blockKey
	next blockState
	ends bool
}

// Append implements [perdure.Dispatch]. It writes streamed text of a LOCAL execution to this worker's disk
// before it sends the text to the server. The server forwards the text to readers and stores only its hash.
func (d *Dispatch) Append(ctx context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
	frames = slices.Clone(frames)
	grown, err := d.keepShown(ctx, frames)
	if err != nil {
		return nil, err
	}
	replies, err := d.Dispatch.Append(ctx, frames)
	for i, g := range grown {
		if err == nil && g.ends && i < len(replies) && replies[i].Err == nil {
			g.k.forget(g.key)
		}
	}
	return replies, err
}

// sumAt returns the hash of a block's text up to the end of the frame f. If the frame is repeated, sumAt
// reads the hash from the store.
func (d *Dispatch) sumAt(ctx context.Context, execution uuid.UUID, p piece, next blockState, f perdure.Frame) (perdure.Hash, error) {
	end := f.Offset + int64(len(f.Text))
	if end == next.length {
		return p.sum, nil
	}
	return d.store.sumShown(ctx, execution, p.source, f.Block, end)
}

// keepShown stores the text of those frames that belong to LOCAL executions, in one transaction,
// and adds hashes to these frames. It returns the new state of each block by the index of its
// frame.
func (d *Dispatch) keepShown(ctx context.Context, frames []perdure.Frame) (map[int]blockUpdate, error) {
	var batches map[uuid.UUID]*Batch
	var grown map[int]blockUpdate
	for i, f := range frames {
		execution, source := sourceOf(f)
		k := d.of(execution)
		if k == nil {
			continue
		}
		if batches == nil {
			batches, grown = map[uuid.UUID]*Batch{}, map[int]blockUpdate{}
		}
		b := batches[execution]
		if b == nil {
			b = NewBatch(execution)
			batches[execution] = b
		}
		if f.Fields != nil {
			b.Add(f.Fields)
			continue
		}
		g := blockUpdate{k: k, key: blockKey{string(source), f.Block}, ends: f.Close}
		at := k.blockState(g.key)
		// If an earlier frame in the list belongs to the same block, this frame continues the text of that
		// frame.
		for j := range i {
			if before, ok := grown[j]; ok && before.k == k && before.key == g.key {
				at = before.next
			}
		}
		p, next, err := at.add(source, f)
		// The text before the frame is missing, so the server refuses the frame.
		if perdure.IsCode(err, perdure.Conflict) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if g.next = next; len(p.text) > 0 {
			b.show(p)
		}
		grown[i] = g
		if frames[i].Sum, err = d.sumAt(ctx, execution, p, next, f); err != nil {
			return nil, err
		}
	}
	if err := d.store.writeAll(ctx, batches); err != nil {
		return nil, err
	}
	for i := range frames {
		if g, ok := grown[i]; ok {
			g.k.grow(g.key, g.next)
		}
	}
	return grown, nil
}

// writeAll writes the contents of several executions in one transaction.
func (s *Store) writeAll(ctx context.Context, batches map[uuid.UUID]*Batch) error {
	size, empty := 0, true
	for _, b := range batches {
		size += b.size
		empty = empty && b.empty()
	}
	if empty {
		return nil
	}
	return s.writer.do(ctx, func(t transaction) error {
		for _, b := range batches {
			if err := b.apply(t); err != nil {
				return err
			}
		}
		return nil
	}, size)
}

func (k *executionState) blockState(key blockKey) blockState {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.blocks[key]
}

func (k *executionState) grow(key blockKey, g blockState) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.blocks[key] = g
}

func (k *executionState) forget(key blockKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.blocks, key)
}

// forgetEnded removes from memory the states of blocks that the server has closed.
func (k *executionState) forgetEnded(ends []perdure.BlockEnd) {
	for _, end := range ends {
		source := binary.BigEndian.AppendUint64(bytes.Clone(end.Key.TaskID[:]), uint64(end.Key.Attempt))
		k.forget(blockKey{string(source), end.Key.Block})
	}
}
