package pagecheck

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// These are the types of pages of tables and indexes. The type is the first byte of the page.
const (
	indexInner = 2
	tableInner = 5
	indexLeaf  = 10
	tableLeaf  = 13
)

// tree is the state of the check of one page of a table or an index.
type tree struct {
	*checker
	number uint32
	raw    []byte
	kind   byte
	links  bool
	used   []span
	first  int64 // first and last row id, of a table only
	last   int64
	rows   int
}

// span is a range of bytes in a page, from its first to its last byte.
type span struct{ from, to int }

// tree checks a page of a table or an index. `parent` is the page that points to this page; 0 for a
// root page. The parameter `links` has the same meaning as in checker.pages.
func (c *checker) tree(page, parent uint32, links bool) error {
	raw, err := c.snapshot.Page(page)
	if err != nil {
		return err
	}
	if len(raw) != c.size {
		return &Damage{page, "it is beyond the end of the file"}
	}
	t := &tree{checker: c, number: page, raw: raw, links: links && c.mapped}
	if err := t.check(); err != nil || parent == 0 || !t.links {
		return err
	}
	return t.belongs(parent)
}

func (t *tree) damage(format string, args ...any) error {
	return &Damage{t.number, fmt.Sprintf(format, args...)}
}

func (t *tree) number16(at int) int { return int(binary.BigEndian.Uint16(t.raw[at:])) }

func (t *tree) inner() bool { return t.kind == indexInner || t.kind == tableInner }

// check checks the page's header and cells. Cells and free blocks must not overlap, and the number
// of bytes between them must equal the number in the header.
func (t *tree) check() error {
	head := 0
	if t.number == 1 {
		head = 100
	}
	t.kind = t.raw[head]
	cells := head + 8
	switch t.kind {
	case indexInner, tableInner:
		cells += 4
	case indexLeaf, tableLeaf:
	default:
		return t.damage("it is no page of a table or an index")
	}
	count, content := t.number16(head+3), (t.number16(head+5)-1)&0xffff+1
	if cells+2*count > content || content > t.usable {
		return t.damage("its header is wrong")
	}
	for i := range count {
		if err := t.cell(t.number16(cells+2*i), content); err != nil {
			return err
		}
	}
	if t.inner() {
		if err := t.child(head + 8); err != nil {
			return err
		}
	}
	if err := t.freeBlocks(t.number16(head+1), content); err != nil {
		return err
	}
	return t.apart(content, int(t.raw[head+7]))
}

// freeBlocks checks the page's list of free blocks, which begins at the index `at`. `content` is
// the index of the first byte that cells and free blocks may use.
func (t *tree) freeBlocks(at, content int) error {
	for at != 0 {
		if at < content || at > t.usable-4 {
			return t.damage("a free block begins at byte %d", at)
		}
		next, size := t.number16(at), t.number16(at+2)
		if size < 4 || at+size > t.usable || next != 0 && next <= at+size+3 {
			return t.damage("the free block at byte %d is wrong", at)
		}
		t.used = append(t.used, span{at, at + size - 1})
		at = next
	}
	return nil
}

// apart checks that cells and free blocks do not overlap. `content` is the index of the first byte
// that they may use. After that index, exactly `fragments` bytes must belong to no cell and no free
// block.
func (t *tree) apart(content, fragments int) error {
	slices.SortFunc(t.used, func(a, b span) int { return a.from - b.from })
	end, free := content-1, 0
	for _, s := range t.used {
		if s.from <= end {
			return t.damage("two of its cells have byte %d", s.from)
		}
		free, end = free+s.from-end-1, s.to
	}
	if free += t.usable - end - 1; free != fragments {
		return t.damage("%d of its bytes belong to nothing, and its header says %d", free, fragments)
	}
	return nil
}

// child reads the number of a child page from the four bytes at the index `at`, and checks that
// page.
func (t *tree) child(at int) error {
	child := binary.BigEndian.Uint32(t.raw[at:])
	if child < 2 || child > t.count || child == t.number {
		return t.damage("it points to page %d, which there is not", child)
	}
	if t.links {
		return t.owned(child, treePage, t.number)
	}
	return nil
}

// cell checks the cell of the page that begins at the index `at`. `content` is the index of the
// first byte that cells may use.
func (t *tree) cell(at, content int) error {
	if at < content || at > t.usable-4 {
		return t.damage("a cell begins at byte %d", at)
	}
	rest, size := t.raw[at:t.usable], 0
	if t.inner() {
		if err := t.child(at); err != nil {
			return err
		}
		size = 4
	}
	payload := uint64(0)
	if t.kind != tableInner {
		length, n := varint(rest[size:])
		if n == 0 || length > 1<<31 {
			return t.damage("the length of the cell at byte %d is wrong", at)
		}
		payload, size = length, size+n
	}
	if t.kind == tableInner || t.kind == tableLeaf {
		row, n := varint(rest[size:])
		if n == 0 || t.rows > 0 && int64(row) <= t.last {
			return t.damage("the row ids are not in order at byte %d", at)
		}
		if t.rows == 0 {
			t.first = int64(row)
		}
		t.last, t.rows, size = int64(row), t.rows+1, size+n
	}
	if t.kind != tableInner {
		local, err := t.payload(at, rest[size:], int(payload))
		if err != nil {
			return err
		}
		size += local
	}
	t.used = append(t.used, span{at, at + max(size, 4) - 1})
	return nil
}

// payload checks the payload of the cell that begins at the index `at`. `rest` is the page from the
// payload's first byte on, and `length` is the length of the payload. The result is the number of
// bytes that the payload has on this page.
func (t *tree) payload(at int, rest []byte, length int) (size int, err error) {
	local := t.local(length)
	size = local
	if local < length {
		size += 4
	}
	if size > len(rest) {
		return 0, t.damage("the cell at byte %d is longer than its page", at)
	}
	if !record(rest[:local], uint64(length)) {
		return 0, t.damage("the cell at byte %d holds no record", at)
	}
	if local == length {
		return size, nil
	}
	next := binary.BigEndian.Uint32(rest[local:])
	if next < 2 || next > t.count {
		return 0, t.damage("the content of the cell at byte %d goes on at page %d, which there is not", at, next)
	}
	if t.links {
		err = t.owned(next, firstPiece, t.number)
	}
	return size, err
}

// local returns how many bytes of a payload of the given length are on the page of its cell.
func (t *tree) local(length int) int {
	most := (t.usable-12)*64/255 - 23
	if t.kind == tableLeaf {
		most = t.usable - 35
	}
	if length <= most {
		return length
	}
	least := (t.usable-12)*32/255 - 23
	if k := least + (length-least)%(t.usable-4); k <= most {
		return k
	}
	return least
}
