package ws

import (
	"slices"

	eventlog "github.com/perdure/perdure/internal/log"
)

// sentPage is a page that was sent: the client has its events from seq first to last, up to position
// pos.
type sentPage struct{ first, last, pos int64 }

// sentPages are the pages that a socket has sent and whose events the log may send again. Their
// number is at most the number of the log's events, however often the client asks for pages.
type sentPages []sentPage

// know reports whether one of the sent pages contains the item.
func (g sentPages) know(i eventlog.Item) bool {
	return slices.ContainsFunc(g, func(c sentPage) bool {
		return c.first <= i.Seq && i.Seq <= c.last && i.Cursor.Pos <= c.pos
	})
}

// add records a page. It drops pages that the new page covers, and ignores the new page if another
// page covers it.
func (g *sentPages) add(page sentPage) {
	holds := func(outer, c sentPage) bool {
		return outer.first <= c.first && c.last <= outer.last && c.pos <= outer.pos
	}
	if slices.ContainsFunc(*g, func(c sentPage) bool { return holds(c, page) }) {
		return
	}
	*g = append(slices.DeleteFunc(*g, func(c sentPage) bool { return holds(page, c) }), page)
}

// passed drops the pages whose events the log does not send again after the position.
func (g *sentPages) passed(pos int64) {
	if len(*g) > 0 {
		*g = slices.DeleteFunc(*g, func(c sentPage) bool { return c.pos <= pos })
	}
}
