package ws

import (
	"slices"

	eventlog "github.com/perdure/perdure/internal/log"
)

// sentPage describes a page of events that a socket has sent. The page contained the events with
// the seqs from `first` to `last`, in their state at the log position `pos`.
type sentPage struct{ first, last, pos int64 }

// sentPages are the sent pages whose events may occur again while the socket follows the log. A
// page that the client requests again and again is recorded once, because add drops pages that
// another page covers.
type sentPages []sentPage

// know reports whether one of the sent pages contained the item.
func (g sentPages) know(i eventlog.Item) bool {
	return slices.ContainsFunc(g, func(c sentPage) bool {
		return c.first <= i.Seq && i.Seq <= c.last && i.Cursor.Pos <= c.pos
	})
}

// add records a page. It drops recorded pages that the new page covers. If a recorded page covers
// the new one, add does nothing.
func (g *sentPages) add(page sentPage) {
	holds := func(outer, c sentPage) bool {
		return outer.first <= c.first && c.last <= outer.last && c.pos <= outer.pos
	}
	if slices.ContainsFunc(*g, func(c sentPage) bool { return holds(c, page) }) {
		return
	}
	*g = append(slices.DeleteFunc(*g, func(c sentPage) bool { return holds(page, c) }), page)
}

// passed drops the pages whose events cannot occur in the log after the given position.
func (g *sentPages) passed(pos int64) {
	if len(*g) > 0 {
		*g = slices.DeleteFunc(*g, func(c sentPage) bool { return c.pos <= pos })
	}
}
