package httpapi

import (
	"slices"

	"github.com/perdure/perdure/internal/eventlog"
)

// covered is a page that was given: its events are known up to a position.
type covered struct{ first, last, pos int64 }

// pagesGiven are the pages of a socket that what follows may repeat. They are
// never more than the log has events, however often a client asks.
type pagesGiven []covered

// know reports whether a page has shown the item.
func (g pagesGiven) know(i eventlog.Item) bool {
	return slices.ContainsFunc(g, func(c covered) bool {
		return c.first <= i.Seq && i.Seq <= c.last && i.Cursor.Pos <= c.pos
	})
}

// add notes a page. One that it holds, and shows no further, is not needed any
// more; nor is the page itself if another is such a one to it.
func (g *pagesGiven) add(page covered) {
	holds := func(outer, c covered) bool {
		return outer.first <= c.first && c.last <= outer.last && c.pos <= outer.pos
	}
	if slices.ContainsFunc(*g, func(c covered) bool { return holds(c, page) }) {
		return
	}
	*g = append(slices.DeleteFunc(*g, func(c covered) bool { return holds(page, c) }), page)
}

// passed drops the pages that what comes after the position cannot repeat.
func (g *pagesGiven) passed(pos int64) {
	if len(*g) > 0 {
		*g = slices.DeleteFunc(*g, func(c covered) bool { return c.pos <= pos })
	}
}
