package cache

import (
	"fmt"
	"reflect"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load/log"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var blockByKey = statement.Read(log.BlockSelect + " AND b.task_id = ? AND b.attempt = ? AND b.block = ?")

// blockRows contains blocks of one execution. The value nil means that the block is not open.
type blockRows map[perdure.BlockKey]*store.Block

const (
	// maxCachedBlocks is the maximum number of open blocks of an execution in the cache. blockBytes
	// is the size, in bytes, that the cache assumes for each of these blocks.
	maxCachedBlocks = 128
	blockBytes      = 600
)

// Block returns a copy of a block's row; nil if there is none. Block is called for each chunk of a
// block, so it uses the cache.
func (t *Batch) Block(v statement.View, execution uuid.UUID, key perdure.BlockKey) (*store.Block, error) {
	if b := t.openBlock(execution, key); b != nil {
		found := *b
		return &found, nil
	}
	found, err := log.Blocks(v, blockByKey, log.BlockKey(execution, key)...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	t.WroteBlock(execution, found[0])
	return found[0], nil
}

// openBlock returns a block from memory if it is known to be open; otherwise nil.
func (t *Batch) openBlock(execution uuid.UUID, key perdure.BlockKey) *store.Block {
	if t.cache == nil {
		return nil
	}
	if b, known := t.open[execution][key]; known {
		return b
	}
	if x := t.cache.get(execution); x != nil {
		return x.blocks[key]
	}
	return nil
}

// WroteBlock must be called after a block's row was written. It keeps the row if the block is open.
func (t *Batch) WroteBlock(execution uuid.UUID, b *store.Block) {
	if t.cache == nil {
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

// settleBlocks adds to the cache the blocks that a committed transaction has read and written.
func (k *RowCache) settleBlocks(t *Batch) {
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

// compareBlock returns an error if the cached row of an open block differs from the stored row.
func compareBlock(v statement.View, execution uuid.UUID, b *store.Block) error {
	stored, err := log.Blocks(v, blockByKey, log.BlockKey(execution, b.Key)...)
	if err != nil {
		return err
	}
	if len(stored) != 1 || !reflect.DeepEqual(stored[0], b) {
		return fmt.Errorf("block %v of %s is kept as %+v and stored as %+v", b.Key, execution, b, stored)
	}
	return nil
}
