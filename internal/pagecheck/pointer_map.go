package pagecheck

import (
	"encoding/binary"
	"fmt"
)

// These are the types of pages in the pointer map.
const (
	rootPage   = 1 // root of a table or an index
	freePage   = 2
	firstPiece = 3 // first page of a content that is too long for its cell; its parent is the page with the cell
	nextPiece  = 4 // a later page of such a content; its parent is the previous page
	treePage   = 5 // any other page of a table or an index
)

// checker checks the pages of one snapshot.
type checker struct {
	snapshot     Snapshot
	size, usable int
	count        uint32
	mapped       bool
	kept         map[uint32][]byte // contents of page 1 and of the pages of the pointer map
	families     map[uint32]*family
}

// perGroup returns the number of pages from one page of the pointer map to the next one.
func (c *checker) perGroup() uint32 { return uint32(c.usable/5) + 1 }

// lockPage returns the page at 1 GiB, which SQLite uses for locks and which contains no data.
func (c *checker) lockPage() uint32 { return uint32((1<<30)/c.size) + 1 }

// mapPage returns the page of the pointer map that contains a page's entry.
func (c *checker) mapPage(page uint32) uint32 {
	at := (page-2)/c.perGroup()*c.perGroup() + 2
	if at == c.lockPage() {
		at++
	}
	return at
}

// groupEnd returns the last page whose entry is in the same page of the pointer map as the given
// page's entry.
func (c *checker) groupEnd(page uint32) uint32 {
	if page < 2 {
		return c.perGroup() + 1
	}
	return (page-2)/c.perGroup()*c.perGroup() + 1 + c.perGroup()
}

// entry returns the type and the parent of a page in the pointer map.
func (c *checker) entry(page uint32) (kind byte, parent uint32, err error) {
	at := c.mapPage(page)
	raw := c.kept[at]
	if raw == nil {
		if raw, err = c.snapshot.Page(at); err != nil {
			return 0, 0, err
		}
		c.kept[at] = raw
	}
	offset := 5 * (int(page) - int(at) - 1)
	if offset < 0 || offset+5 > len(raw) {
		return 0, 0, &Damage{page, "it has no place in the pointer map"}
	}
	return raw[offset], binary.BigEndian.Uint32(raw[offset+1:]), nil
}

// owned checks that the pointer map contains the given type and parent for a page to which the
// parent points.
func (c *checker) owned(page uint32, kind byte, parent uint32) error {
	if page < 2 || page > c.count || page == c.mapPage(page) || page == c.lockPage() {
		return &Damage{parent, fmt.Sprintf("it points to page %d, which there is not", page)}
	}
	is, of, err := c.entry(page)
	if err == nil && (is != kind || of != parent) {
		return &Damage{parent, fmt.Sprintf("it points to page %d, which the pointer map says is of kind %d under page %d", page, is, of)}
	}
	return err
}

// pages checks a range of pages. If `links` is true, it also checks the pointers in these pages: if
// a page points to another page, the pointer map must name the first page as the parent of the
// second.
func (c *checker) pages(first, last uint32, links bool) error {
	for page := first; page <= last; page++ {
		if err := c.page(page, links); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) page(page uint32, links bool) error {
	if page == 1 {
		return c.tree(1, 0, links)
	}
	if page == c.lockPage() || page == c.mapPage(page) {
		return nil
	}
	kind, parent, err := c.entry(page)
	if err != nil {
		return err
	}
	under := kind == rootPage || kind == freePage
	if kind < rootPage || kind > treePage || under != (parent == 0) || parent > c.count {
		return &Damage{page, fmt.Sprintf("the pointer map says that it is of kind %d under page %d", kind, parent)}
	}
	switch kind {
	case rootPage, treePage:
		return c.tree(page, parent, links)
	case firstPiece, nextPiece:
		return c.piece(page, links)
	}
	return nil
}

// piece checks an overflow page, which contains a part of a content that is too long for its cell.
// The parameter `links` has the same meaning as in checker.pages.
func (c *checker) piece(page uint32, links bool) error {
	raw, err := c.snapshot.Page(page)
	if err != nil {
		return err
	}
	next := binary.BigEndian.Uint32(raw)
	switch {
	case next > c.count:
		return &Damage{page, fmt.Sprintf("its content goes on at page %d, which there is not", next)}
	case next != 0 && links:
		return c.owned(next, nextPiece, page)
	}
	return nil
}
