package read

import (
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/listing"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
	"github.com/perdure/perdure/internal/store/sql/trigram"
)

// readBlock reads the texts of the next block. b is nil if the block is not complete yet. young
// reports whether it will become complete by the passage of time alone.
func (r *Reader) readBlock(v statement.View) (b *store.TextBlock, young bool, err error) {
	b = &store.TextBlock{}
	if _, err := v.One(listing.TextBlocks, nil, &b.Block); err != nil {
		return nil, false, err
	}
	orgs, err := load.PendingOrgs(v, "", load.NextOrg)
	if err != nil {
		return nil, false, err
	}
	first, last := b.Block*trigram.TextBlock, (b.Block+1)*trigram.TextBlock-1
	if whole, young, err := r.complete(v, orgs, last); err != nil || !whole {
		return nil, young, err
	}
	var texts []trigram.FoundBy
	for _, org := range orgs {
		more, err := listing.LoadTexts(v, listing.TextsOfBlock, org, first, last)
		if err != nil {
			return nil, false, err
		}
		texts = append(texts, more...)
	}
	for i := range texts {
		b.Numbers = append(b.Numbers, texts[i].Number)
	}
	slices.Sort(b.Numbers)
	b.Parts = trigram.IndexTexts(texts)
	return b, false, nil
}

// complete reports whether no execution can get a number up to last any more. There must be an
// execution with a later number. If transactions run concurrently, that execution must also be so
// old that all transactions that got a lower number have ended.
func (r *Reader) complete(v statement.View, orgs []string, last int64) (whole, young bool, err error) {
	for _, org := range orgs {
		var created perdure.Time
		found, err := v.One(listing.FirstBeyond, []any{org, last}, column.TimeInto(&created))
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
