package relational

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

const (
	reusedFrom = "(SELECT coalesce(max(number), 0) + 1 FROM agent_execution) / 256"
)

var (
	putPart = insert("agent_text", "part, block, grams",
		replacing("part, block", "grams = excluded.grams"))
	changePart  = update("agent_text", columns("grams"), columns("part, block"))
	onePart     = read("SELECT grams FROM agent_text WHERE part = ? AND block = ?")
	numberOfOne = read("SELECT number FROM agent_execution WHERE id = ?")
	setBlocks   = alone("INSERT INTO text_index (id, blocks) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET blocks = excluded.blocks")
	reuseBlocks = alone("UPDATE text_index SET blocks = " + reusedFrom + " WHERE id = 1 AND blocks > " + reusedFrom)
)

const (
	// heldTexts is the lock for the content of the text index. Only one transaction at a time adds
	// a block, or marks an execution in a block as deleted.
	heldTexts = "texts"
	// heldPruned is the lock for deleting rows, and with them texts from existing blocks.
	heldPruned = "pruned"
)

// applyTexts writes the index of a block, if that is still the next block and contains the same
// executions.
func (t *Transaction) applyTexts(b *store.TextBlock) error {
	if b == nil {
		return nil
	}
	var blocks int64
	if _, err := t.one(textBlocks, nil, &blocks); err != nil {
		return err
	}
	numbers, err := blockNumbers(t.view, b.Block)
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
		if err := t.write(putPart, part, b.Block, append([]byte{}, grams...)); err != nil {
			return err
		}
	}
	return t.write(setBlocks, b.Block+1)
}

func blockNumbers(v view, block int64) ([]int64, error) {
	orgs, err := pendingOrgs(v, "", nextOrg)
	var all []int64
	for _, org := range orgs {
		if err != nil {
			return nil, err
		}
		var numbers []int64
		numbers, err = readNumbers(v, numbersOfBlock, []any{org, block * textBlock, (block+1)*textBlock - 1})
		all = append(all, numbers...)
	}
	slices.Sort(all)
	return all, err
}

// unlisted selects executions with metadata of which no member is indexed.
var unlisted = read("SELECT x.id, x.metadata FROM agent_execution x WHERE x.org_id = ?1 AND x.number >= ?2 AND x.number <= ?3 AND x.metadata IS NOT NULL AND " + hidden +
	" AND NOT EXISTS (SELECT 1 FROM agent_metadata m WHERE m.agent_execution_id = x.id)")

// mendMetadata indexes the metadata of executions that a server of an earlier version has started
// in parallel with this server.
func (t *Transaction) mendMetadata(block int64) error {
	if t.Dialect.ReusesNumbers { // there is only one server
		return nil
	}
	orgs, err := pendingOrgs(t.view, "", nextOrg)
	if err != nil {
		return err
	}
	var all []*perdure.Execution
	for _, org := range orgs {
		err := t.each(unlisted, []any{org, block * textBlock, (block+1)*textBlock - 1}, func(row func(...any) error) error {
			var x perdure.Execution
			err := row(&x.ID, rawInto(&x.Metadata))
			all = append(all, &x)
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, x := range all {
		if err := indexMetadata(t.view, x); err != nil {
			return err
		}
	}
	return nil
}

// dropTexts removes all executions of a block that are being deleted from the index, if the given
// one is still in it. Usually many executions are deleted together, and each is in nearly all rows
// of the block.
func (t *Transaction) dropTexts(id uuid.UUID) error {
	block, in, err := t.indexedIn(id)
	if err != nil || !in {
		return err
	}
	left, err := blockNumbers(t.view, block)
	if err != nil {
		return err
	}
	var stay [textBlock]bool
	for _, number := range left {
		stay[number%textBlock] = true
	}
	for part := range textParts {
		if err := t.thin(part, block, &stay); err != nil {
			return err
		}
	}
	return nil
}

// indexedIn returns the block of an execution, and whether that block contains the execution. A
// block contains all trigrams of an execution, or none.
func (t *Transaction) indexedIn(id uuid.UUID) (block int64, in bool, err error) {
	var number int64
	if found, err := t.one(numberOfOne, []any{id[:]}, &number); err != nil || !found {
		return 0, false, err
	}
	var grams []byte
	g := addGrams(nil, idDigits(id))[0]
	if found, err := t.one(onePart, []any{g.part(), number / textBlock}, &grams); err != nil || !found {
		return 0, false, err
	}
	return number / textBlock, slices.Contains(placesOf(grams, g), byte(number%textBlock)), nil
}

// thin removes all places from a part of a block except those that are set in stay.
func (t *Transaction) thin(part int, block int64, stay *[textBlock]bool) error {
	var grams []byte
	if found, err := t.one(onePart, []any{part, block}, &grams); err != nil || !found {
		return err
	}
	left, fewer := thinned(grams, stay)
	if !fewer {
		return nil
	}
	return t.write(changePart, left, part, block)
}

// freeNumber must be called when an execution's row was deleted. If numbers are reused, it makes
// the filler index the blocks with such numbers again.
func (t *Transaction) freeNumber() error {
	if !t.Dialect.ReusesNumbers {
		return nil
	}
	return t.write(reuseBlocks)
}

// readBlock reads the texts of the next block. b is nil if the block is not complete yet. young
// reports whether it will become complete by the passage of time alone.
func (r *Reader) readBlock(v view) (b *store.TextBlock, young bool, err error) {
	b = &store.TextBlock{}
	if _, err := v.one(textBlocks, nil, &b.Block); err != nil {
		return nil, false, err
	}
	orgs, err := pendingOrgs(v, "", nextOrg)
	if err != nil {
		return nil, false, err
	}
	first, last := b.Block*textBlock, (b.Block+1)*textBlock-1
	if whole, young, err := r.complete(v, orgs, last); err != nil || !whole {
		return nil, young, err
	}
	var texts []foundBy
	for _, org := range orgs {
		more, err := loadTexts(v, textsOfBlock, org, first, last)
		if err != nil {
			return nil, false, err
		}
		texts = append(texts, more...)
	}
	for i := range texts {
		b.Numbers = append(b.Numbers, texts[i].number)
	}
	slices.Sort(b.Numbers)
	b.Parts = indexTexts(texts)
	return b, false, nil
}

// complete reports whether no execution can get a number up to last any more. There must be an
// execution with a later number. If transactions run concurrently, that execution must also be so
// old that all transactions that got a lower number have ended.
func (r *Reader) complete(v view, orgs []string, last int64) (whole, young bool, err error) {
	for _, org := range orgs {
		var created perdure.Time
		found, err := v.one(firstBeyond, []any{org, last}, timeInto(&created))
		if err != nil {
			return false, false, err
		}
		if found && (v.Dialect.ReusesNumbers || r.Now().Sub(created.Time) > store.TextAge) {
			return true, false, nil
		}
		young = young || found
	}
	return false, young, nil
}
