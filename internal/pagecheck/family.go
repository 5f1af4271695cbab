package pagecheck

import (
	"encoding/binary"
	"math"
)

// family contains the type of an inner page of a B-tree (a table or an index), and its child pages.
type family struct {
	kind     byte
	children map[uint32]bounds
}

// bounds limits the row ids of a table's page: they are greater than `over`, and not greater than
// `upTo`. An index has no row ids, so its pages have no bounds.
type bounds struct{ over, upTo int64 }

// family reads the child pages of an inner page. It skips invalid cells without an error, because
// the check of the page itself reports them.
func (c *checker) family(page uint32) (*family, error) {
	if f := c.families[page]; f != nil {
		return f, nil
	}
	raw, err := c.snapshot.Page(page)
	if err != nil {
		return nil, err
	}
	head := 0
	if page == 1 {
		head = 100
	}
	f := &family{kind: raw[head], children: map[uint32]bounds{}}
	c.families[page] = f
	cells := head + 12
	over := int64(math.MinInt64)
	for i := range int(binary.BigEndian.Uint16(raw[head+3:])) {
		if cells+2*i+2 > len(raw) {
			return f, nil
		}
		at := int(binary.BigEndian.Uint16(raw[cells+2*i:]))
		if at+5 > len(raw) {
			continue
		}
		upTo := int64(math.MaxInt64)
		if f.kind == tableInner {
			row, _ := varint(raw[at+4:])
			upTo = int64(row)
		}
		f.children[binary.BigEndian.Uint32(raw[at:])] = bounds{over, upTo}
		if f.kind == tableInner {
			over = upTo
		}
	}
	f.children[binary.BigEndian.Uint32(raw[head+8:])] = bounds{over, math.MaxInt64}
	return f, nil
}

// belongs checks a page against its parent: the parent must point to the page, both must belong to
// a table or both to an index, and the row ids of the page must be within the bounds in the parent.
func (t *tree) belongs(parent uint32) error {
	f, err := t.family(parent)
	if err != nil {
		return err
	}
	may, known := f.children[t.number]
	table := t.kind == tableInner || t.kind == tableLeaf
	switch {
	case !known || f.kind != indexInner && f.kind != tableInner || (f.kind == tableInner) != table:
		return t.damage("page %d, which it is under, is no page above it", parent)
	case table && t.rows > 0 && (t.first <= may.over || t.last > may.upTo):
		return t.damage("its row ids are not those that page %d leads to it for", parent)
	}
	return nil
}
