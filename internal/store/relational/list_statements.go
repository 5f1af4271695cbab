package relational

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// ListStatements returns all statements of execution lists, for each combination of filters and
// each choice of a source.
func ListStatements(w *Words) map[string]string {
	all := map[string]string{
		"listed": listedByNumber(w), "put metadata": putMetadata, "text blocks": textBlocks, "part": partOf, "one part": onePart, "put part": putPart, "change part": changePart,
		"set blocks": setBlocks, "texts of a block": textsOfBlock, "number of one": numberOfOne, "numbers of a block": numbersOfBlock, "first beyond": firstBeyond, "next org": nextOrg, "unlisted": unlisted,
	}
	known := map[string]bool{}
	put := func(query string) {
		if !known[query] {
			known[query] = true
			all[fmt.Sprint("list ", len(known))] = query
		}
	}
	for _, f := range filterCombinations() {
		options := len(newListing(w, "o", f, store.ListRows).options)
		for best := range max(1, options) {
			l := newListing(w, "o", f, store.ListRows)
			for _, o := range l.options {
				put(o.query + skipping)
			}
			if options > 0 {
				l.take(best)
			} else if len(l.sources) == 0 && len(l.live) == 0 {
				l.walk()
			}
			for _, s := range l.sources {
				put(s.query)
			}
			for _, s := range l.live {
				put(s.query)
			}
			if len(l.where) > 0 {
				put(l.matchQuery())
			}
		}
	}
	return all
}

// filterCombinations returns every combination of filters that has its own statements.
func filterCombinations() []store.ExecutionFilter {
	at, id := perdure.Time{}, uuid.UUID{1}
	long := string(make([]byte, memberBytes+1))
	all := []store.ExecutionFilter{{}}
	vary := func(changes ...func(f *store.ExecutionFilter)) {
		before := all
		for _, change := range changes {
			for _, f := range before {
				change(&f)
				all = append(all, f)
			}
		}
	}
	status := func(statuses ...perdure.Status) func(*store.ExecutionFilter) {
		return func(f *store.ExecutionFilter) { f.Status = statuses }
	}
	vary(status(perdure.StatusCompleted), status(perdure.StatusPending), status(perdure.StatusWaiting), status(perdure.StatusRunning),
		status(perdure.StatusFailed, perdure.StatusCancelled), status(perdure.StatusFailed, perdure.StatusPending, perdure.StatusCancelling))
	vary(func(f *store.ExecutionFilter) { f.Metadata = map[string]string{"a": "b"} },
		func(f *store.ExecutionFilter) { f.Metadata = map[string]string{"a": "b", "c": "d"} },
		func(f *store.ExecutionFilter) { f.Metadata = map[string]string{"a": long} })
	vary(func(f *store.ExecutionFilter) { f.DefinitionID = &id })
	vary(func(f *store.ExecutionFilter) { f.Kind = "k" })
	vary(func(f *store.ExecutionFilter) { f.CreatedAfter = &at })
	vary(func(f *store.ExecutionFilter) { f.CreatedBefore = &at })
	vary(func(f *store.ExecutionFilter) { f.Query = "ab" }, func(f *store.ExecutionFilter) { f.Query = "abcdef" })
	return all
}
