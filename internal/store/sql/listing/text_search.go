package listing

import (
	"slices"

	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
	"github.com/perdure/perdure/internal/store/sql/trigram"
)

var (
	// TextBlocks selects the number of blocks in the text index. The blocks cover the lowest
	// execution numbers, trigram.TextBlock numbers each.
	TextBlocks = statement.Alone("SELECT blocks FROM text_index WHERE id = 1")
	partOf     = statement.Read("SELECT block, grams FROM agent_text WHERE part = ? AND block >= ? AND block <= ?")
)

// textSearch finds the candidates of a text query with the text index. Executions that are not
// indexed yet are all candidates.
type textSearch struct {
	needles []trigram.Needle
	// indexed is the lowest execution number that is not indexed.
	indexed int64
	// window is the number of blocks that the next read searches.
	window int64
}

// maxWindow is the maximum number of blocks that one read searches.
const maxWindow = 64

// newTextSearch creates a search for a text. It returns nil if the index cannot answer the query.
func newTextSearch(v statement.View, query string) (*textSearch, error) {
	s := &textSearch{needles: trigram.NeedlesOf(query), window: 1}
	if s.needles == nil {
		return nil, nil
	}
	var blocks int64
	_, err := v.One(TextBlocks, nil, &blocks)
	s.indexed = blocks * trigram.TextBlock
	return s, err
}

// hits are the candidates that a search has found.
type hits struct {
	numbers []int64 // execution numbers, newest first
	// upto is the lowest number that was searched. The field `cost` is the cost of the search; the
	// cost of reading a row is 1.
	upto  int64
	cost  int
	ended bool
}

// below returns candidates with numbers less than `before`: the newest n, or fewer if the part of
// the index that it searches in one call has fewer.
func (s *textSearch) below(v statement.View, org string, before int64, n int) (hits, error) {
	if before > s.indexed {
		return s.beyond(v, org, before, n)
	}
	high := (before - 1) / trigram.TextBlock
	low := max(0, high-s.window+1)
	s.window = min(maxWindow, 4*s.window)
	b := hits{upto: low * trigram.TextBlock, ended: low == 0}
	for _, needle := range s.needles {
		if err := b.find(v, needle, low, high); err != nil {
			return b, err
		}
	}
	b.numbers = slices.DeleteFunc(b.numbers, func(number int64) bool { return number >= before })
	slices.SortFunc(b.numbers, newestFirst)
	b.numbers = slices.Compact(b.numbers)
	if len(b.numbers) > n {
		b.numbers, b.upto, b.ended = b.numbers[:n], b.numbers[n-1], false
	}
	b.cost += len(b.numbers)
	return b, nil
}

// beyond returns executions of the org that are not indexed yet. All of them are candidates.
func (s *textSearch) beyond(v statement.View, org string, before int64, n int) (b hits, err error) {
	b.numbers, err = ReadNumbers(v, sourceOfOrg, []any{org, before, n})
	b.cost = len(b.numbers)
	if end := slices.IndexFunc(b.numbers, func(number int64) bool { return number < s.indexed }); end >= 0 {
		b.numbers, b.upto = b.numbers[:end], s.indexed
	} else if len(b.numbers) < n {
		b.upto, b.ended = s.indexed, true
	} else {
		b.upto = b.numbers[n-1]
	}
	return b, err
}

// find adds the numbers of the executions whose texts contain all trigrams of a needle. It searches
// the blocks with the numbers `low` to `high`.
func (b *hits) find(v statement.View, needle trigram.Needle, low, high int64) error {
	var found map[int64][]byte // places of executions in their block, by block; nil before the first trigram
	for _, g := range needle {
		next := map[int64][]byte{}
		err := v.Each(partOf, []any{g.Part(), low, high}, func(row func(...any) error) error {
			var (
				block int64
				grams []byte
			)
			err := row(&block, &grams)
			b.cost++
			if places := trigram.PlacesOf(grams, g); found == nil {
				next[block] = slices.Clone(places)
			} else {
				next[block] = common(found[block], places)
			}
			return err
		})
		if err != nil {
			return err
		}
		low, high, found = span(next)
		if len(found) == 0 {
			return nil
		}
	}
	for block, places := range found {
		for _, place := range places {
			b.numbers = append(b.numbers, block*trigram.TextBlock+int64(place))
		}
	}
	return nil
}

// common returns the places that are in both a and b. A place is the number of an execution within
// its block.
func common(a, b []byte) []byte {
	return slices.DeleteFunc(a, func(place byte) bool { return !slices.Contains(b, place) })
}

// span removes the blocks without places from the map `found`. It returns the lowest and the
// highest remaining block.
func span(found map[int64][]byte) (low, high int64, left map[int64][]byte) {
	low = 1 << 62
	for block, places := range found {
		if len(places) == 0 {
			delete(found, block)
			continue
		}
		low, high = min(low, block), max(high, block)
	}
	return low, high, found
}

// textsOf selects the texts that a text query searches in each execution: the id, the kind and the
// start of the input.
const textsOf = "SELECT x.number, x.id, x.kind, CASE WHEN x.persistence_mode = 'LOCAL' THEN NULL ELSE substr(coalesce(x.input, c.content), 1, ?1) END" +
	" FROM agent_execution x LEFT JOIN blob_chunk c ON c.agent_execution_id = x.id AND c.id = x.input_blob AND c.n = 0"

var (
	// TextsOfBlock selects the texts of the executions of an org whose numbers are in a range.
	TextsOfBlock = statement.Read(textsOf + " WHERE x.org_id = ?2 AND x.number >= ?3 AND x.number <= ?4 AND " + load.Hidden)
	// NumbersOfBlock selects those numbers in a range that belong to executions of an org.
	NumbersOfBlock = statement.Read("SELECT x.number FROM agent_execution x WHERE x.org_id = ?1 AND x.number >= ?2 AND x.number <= ?3 AND " + load.Hidden)
	// FirstBeyond selects the creation time of an org's first execution after a number.
	FirstBeyond = statement.Read("SELECT created_at FROM agent_execution INDEXED BY idx_agent_execution_org WHERE org_id = ? AND number > ? ORDER BY number LIMIT 1")
)

// LoadTexts returns the texts that a text query searches in the executions that `query` selects.
func LoadTexts(v statement.View, query *statement.Statement, args ...any) (all []trigram.FoundBy, err error) {
	err = v.Each(query, append([]any{store.QueryBytes}, args...), func(row func(...any) error) error {
		var s trigram.FoundBy
		err := row(&s.Number, &s.ID, &s.Kind, &s.Input)
		all = append(all, s)
		return err
	})
	return all, err
}
