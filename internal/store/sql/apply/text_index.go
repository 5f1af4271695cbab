package apply

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/listing"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/statement"
	"github.com/perdure/perdure/internal/store/sql/trigram"
)

const (
	reusedFrom = "(SELECT coalesce(max(number), 0) + 1 FROM agent_execution) / 256"
)

var (
	putPart = statement.Insert("agent_text", "part, block, grams",
		statement.Replacing("part, block", "grams = excluded.grams"))
	changePart  = statement.Update("agent_text", statement.Columns("grams"), statement.Columns("part, block"))
	onePart     = statement.Read("SELECT grams FROM agent_text WHERE part = ? AND block = ?")
	numberOfOne = statement.Read("SELECT number FROM agent_execution WHERE id = ?")
	setBlocks   = statement.Alone("INSERT INTO text_index (id, blocks) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET blocks = excluded.blocks")
	reuseBlocks = statement.Alone("UPDATE text_index SET blocks = " + reusedFrom + " WHERE id = 1 AND blocks > " + reusedFrom)
)

const (
	// heldTexts is the lock name of the text index. It allows only one transaction at a time to add
	// a block (256 executions) to the index, or to mark an execution as deleted.
	heldTexts = "texts"
	// heldPruned is the lock name for deleting rows of executions, which also removes the texts of
	// the executions from the text index.
	heldPruned = "pruned"
)

// applyTexts writes one block of the text index. A block covers trigram.TextBlock execution
// numbers. applyTexts writes nothing if another block is the next to index, or if the block no
// longer contains the same executions.
func (t *Transaction) applyTexts(b *store.TextBlock) error {
	if b == nil {
		return nil
	}
	var blocks int64
	if _, err := t.One(listing.TextBlocks, nil, &blocks); err != nil {
		return err
	}
	numbers, err := blockNumbers(t.View, b.Block)
	if err != nil {
		return err
	}
	if blocks != b.Block || !slices.Equal(numbers, b.Numbers) {
		b.Stale = true
		return nil
	}
	if err := t.mendMetadata(b.Block); err != nil {
		return err
	}
	for part, grams := range b.Parts {
		if err := t.Write(putPart, part, b.Block, append([]byte{}, grams...)); err != nil {
			return err
		}
	}
	return t.Write(setBlocks, b.Block+1)
}

func blockNumbers(v statement.View, block int64) ([]int64, error) {
	orgs, err := tenant.PendingOrgs(v, "", tenant.NextOrg)
	var all []int64
	for _, org := range orgs {
		if err != nil {
			return nil, err
		}
		var numbers []int64
		numbers, err = listing.ReadNumbers(v, listing.NumbersOfBlock, []any{org, block * trigram.TextBlock, (block+1)*trigram.TextBlock - 1})
		all = append(all, numbers...)
	}
	slices.Sort(all)
	return all, err
}

// unlisted selects executions that have metadata, but no indexed member of it.
var unlisted = statement.Read("SELECT x.id, x.metadata FROM agent_execution x WHERE x.org_id = ?1 AND x.number >= ?2 AND x.number <= ?3 AND x.metadata IS NOT NULL AND " + load.Hidden +
	" AND NOT EXISTS (SELECT 1 FROM agent_metadata m WHERE m.agent_execution_id = x.id)")

// mendMetadata indexes the metadata of executions that a server of an earlier version has started.
// Such a server may run at the same time as this one.
func (t *Transaction) mendMetadata(block int64) error {
	if t.Dialect.ReusesNumbers { // with such a store, only one server runs
		return nil
	}
	orgs, err := tenant.PendingOrgs(t.View, "", tenant.NextOrg)
	if err != nil {
		return err
	}
	var all []*perdure.Execution
	for _, org := range orgs {
		err := t.Each(unlisted, []any{org, block * trigram.TextBlock, (block+1)*trigram.TextBlock - 1}, func(row func(...any) error) error {
			var x perdure.Execution
			err := row(&x.ID, column.RawInto(&x.Metadata))
			all = append(all, &x)
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, x := range all {
		if err := indexMetadata(t.View, x); err != nil {
			return err
		}
	}
	return nil
}

// dropTexts removes an execution from the text index, if it is there, together with all other
// executions of its block that are being deleted. One removal for all is cheaper, because each
// execution is in nearly all rows of the block.
func (t *Transaction) dropTexts(id uuid.UUID) error {
	block, in, err := t.indexedIn(id)
	if err != nil || !in {
		return err
	}
	left, err := blockNumbers(t.View, block)
	if err != nil {
		return err
	}
	var stay [trigram.TextBlock]bool
	for _, number := range left {
		stay[number%trigram.TextBlock] = true
	}
	for part := range trigram.TextParts {
		if err := t.thin(part, block, &stay); err != nil {
			return err
		}
	}
	return nil
}

// indexedIn returns the number of the block to which an execution belongs, and whether the index of
// that block contains the execution. The index contains all trigrams of an execution, or none.
func (t *Transaction) indexedIn(id uuid.UUID) (block int64, in bool, err error) {
	var number int64
	if found, err := t.One(numberOfOne, []any{id[:]}, &number); err != nil || !found {
		return 0, false, err
	}
	var grams []byte
	g := trigram.AddGrams(nil, trigram.IDDigits(id))[0]
	if found, err := t.One(onePart, []any{g.Part(), number / trigram.TextBlock}, &grams); err != nil || !found {
		return 0, false, err
	}
	return number / trigram.TextBlock, slices.Contains(trigram.PlacesOf(grams, g), byte(number%trigram.TextBlock)), nil
}

// thin removes executions from one part of a block of the text index. An execution with the number
// i within the block remains if stay[i] is true.
func (t *Transaction) thin(part int, block int64, stay *[trigram.TextBlock]bool) error {
	var grams []byte
	if found, err := t.One(onePart, []any{part, block}, &grams); err != nil || !found {
		return err
	}
	left, fewer := trigram.Thinned(grams, stay)
	if !fewer {
		return nil
	}
	return t.Write(changePart, left, part, block)
}

// freeNumber must be called after an execution's row was deleted. In a database that reuses
// numbers, a new execution may get the number of a deleted one. freeNumber then makes the filler of
// the text index process the blocks with reused numbers again.
func (t *Transaction) freeNumber() error {
	if !t.Dialect.ReusesNumbers {
		return nil
	}
	return t.Write(reuseBlocks)
}
