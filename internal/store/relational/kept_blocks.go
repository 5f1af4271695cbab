package relational

import (
	"fmt"
	"reflect"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// blockRows are blocks of one execution; nil inside for one that is not open.
type blockRows map[perdure.BlockKey]*store.Block

const (
	// keptBlocks is how many open blocks of an execution are kept; blockBytes is what
	// one takes.
	keptBlocks = 128
	blockBytes = 600
)

// block returns a copy of a block's row, nil if there is none. Each piece of a text
// asks for its block.
func (t *Transaction) block(v view, execution uuid.UUID, key perdure.BlockKey) (*store.Block, error) {
	if b := t.openBlock(execution, key); b != nil {
		found := *b
		return &found, nil
	}
	found, err := loadBlocks(v, blockByKey, blockKey(execution, key)...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	t.wroteBlock(execution, found[0])
	return found[0], nil
}

// openBlock returns a block that is known to be open; nil is no answer.
func (t *Transaction) openBlock(execution uuid.UUID, key perdure.BlockKey) *store.Block {
	if t.kept == nil {
		return nil
	}
	if b, known := t.open[execution][key]; known {
		return b
	}
	if x := t.kept.get(execution); x != nil {
		return x.blocks[key]
	}
	return nil
}

// wroteBlock keeps a block's row as it is now, if the block is open.
func (t *Transaction) wroteBlock(execution uuid.UUID, b *store.Block) {
	if t.kept == nil {
		return
	}
	rows := t.open[execution]
	if rows == nil {
		rows = blockRows{}
		t.open[execution] = rows
	}
	if rows[b.Key] = nil; b.Open {
		row := *b
		rows[b.Key] = &row
	}
}

// settleBlocks takes over the blocks that a transaction has read and written.
func (k *Kept) settleBlocks(t *Transaction) {
	for id, rows := range t.open {
		x := k.get(id)
		if x == nil {
			continue
		}
		for key, b := range rows {
			switch {
			case b == nil:
				delete(x.blocks, key)
			case x.blocks == nil:
				x.blocks = blockRows{key: b}
			default:
				x.blocks[key] = b
			}
		}
		k.size -= x.size
		x.weighed()
		k.size += x.size
	}
}

// compareBlock returns an error where an open block is kept otherwise than stored.
func compareBlock(v view, execution uuid.UUID, b *store.Block) error {
	stored, err := loadBlocks(v, blockByKey, blockKey(execution, b.Key)...)
	if err != nil {
		return err
	}
	if len(stored) != 1 || !reflect.DeepEqual(stored[0], b) {
		return fmt.Errorf("block %v of %s is kept as %+v and stored as %+v", b.Key, execution, b, stored)
	}
	return nil
}
