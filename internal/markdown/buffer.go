package markdown

import "bytes"

// HardLimit is the maximum number of bytes of one block that a Buffer keeps until the block ends. A
// longer block is cut at this length.
const HardLimit = 64 << 10

// Part is a piece of rendered text. A part that is not final is replaced by the next part with the
// same seq and number. The final parts depend only on the text, not on how it was divided into
// chunks.
type Part struct {
	Seq    int64  `json:"seq"`  // seq of the first chunk in the part
	Number int    `json:"part"` // number of the part among those with the same seq, from 0
	HTML   string `json:"html"`
	Final  bool   `json:"final"`
	// Source is the markdown source of the part, for renderings other than HTML.
	Source string `json:"-"`
	// Plain reports whether the source exceeds the limits of rendering. HTML then contains the
	// escaped source.
	Plain bool `json:"-"`
}

// Buffer renders text while it arrives. It is not safe for concurrent use.
type Buffer struct {
	emit    func(Part)
	pending []byte
	marks   []mark // the offsets in pending at which the chunks of another event begin; the first is 0
	next    map[int64]int
	links   *links // link definitions of the text so far
	scan    scanner
	scanned int // number of bytes of pending that were scanned, which are whole lines
	again   int // value of scanned from which find asks goldmark again; 0 if find has not asked
	shown   int // length of pending in the last provisional part; 0 if there is none
}

// mark contains an offset in the pending text, and the seq of the event whose chunks begin there.
type mark struct {
	at  int
	seq int64
}

// NewBuffer creates a buffer that calls emit with each of its parts.
func NewBuffer(emit func(Part)) *Buffer {
	return &Buffer{emit: emit, next: map[int64]int{}, links: newLinks()}
}

// Write adds a chunk of the event with the seq. It emits blocks that have ended as final parts. The
// open block is emitted by Show.
func (b *Buffer) Write(seq int64, chunk string) {
	if chunk == "" {
		return
	}
	if len(b.marks) == 0 || b.marks[len(b.marks)-1].seq != seq {
		b.marks = append(b.marks, mark{len(b.pending), seq})
	}
	for chunk != "" {
		// Take at most one byte over the limit, so that the text is cut at the same places however
		// long the chunks are.
		n := min(len(chunk), HardLimit+1-len(b.pending))
		b.pending = append(b.pending, chunk[:n]...)
		chunk = chunk[n:]
		b.keepMark(seq)
		b.advance()
		if len(b.pending) > HardLimit {
			b.overflow()
		}
	}
}

// keepMark adds a mark with the seq at the start of the pending text, unless there is a mark. There
// is none if all earlier text was emitted.
func (b *Buffer) keepMark(seq int64) {
	if len(b.marks) == 0 {
		b.marks = []mark{{0, seq}}
	}
}

// advance passes whole lines to the scanner, and emits the parts that have ended.
func (b *Buffer) advance() {
	for {
		n := bytes.IndexByte(b.pending[b.scanned:], '\n') + 1
		if n == 0 {
			break
		}
		b.line(n)
	}
	if b.endsByNextLetter() {
		b.cut(b.scanned, scanner{})
	}
}

func (b *Buffer) line(n int) {
	line := b.pending[b.scanned : b.scanned+n]
	ask := func() last { return lastBlock(b.pending[:b.scanned+n], b.scanned) }
	before, after := b.scan.step(line, ask)
	if before && b.scanned > 0 {
		b.cut(b.scanned, b.scan)
	}
	b.scanned += n
	switch {
	case after:
		b.cut(b.scanned, scanner{})
	case b.scan.kind == lost:
		b.find()
	}
}

// cut emits the first n pending bytes as a final part. `next` is the state of the scanner after
// these bytes.
func (b *Buffer) cut(n int, next scanner) {
	b.finish(n)
	next.asks = 0
	b.scan, b.again = next, 0
	b.scanned = 0
}

// endsByNextLetter reports whether an incomplete line already ends the block before it. It does if
// that block is a list or indented code, a blank line follows the block, and the incomplete line
// begins with a letter.
func (b *Buffer) endsByNextLetter() bool {
	if b.scanned == 0 || b.scanned == len(b.pending) || !b.scan.blank || !isLetter(b.pending[b.scanned]) {
		return false
	}
	return b.scan.kind == indentedCode || b.scan.kind == list && !b.scan.empty
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// find asks goldmark (the markdown parser) where the last block begins, while the scanner does not
// know the kind of the block. It asks only when the pending text has doubled, so that all questions
// together cost about two parses of the text.
func (b *Buffer) find() {
	if b.again == 0 {
		b.again = 2 * b.scanned
	}
	if b.scanned < b.again {
		return
	}
	b.again = 2 * b.scanned
	if at := lastStart(b.pending[:b.scanned]); at > 0 {
		b.cut(at, scanner{})
	}
}

// overflow cuts pending text that is too long: where a block begins, at the end of a line, or
// otherwise between two characters.
func (b *Buffer) overflow() {
	if at := lastStart(b.pending[:b.scanned]); at > 0 && b.scan.kind == lost {
		b.cut(at, scanner{})
	} else {
		b.cut(hardCut(b.pending), scanner{})
	}
	b.advance()
}

func hardCut(pending []byte) int {
	if i := bytes.LastIndexByte(pending[:HardLimit], '\n'); i >= 0 {
		return i + 1
	}
	at := HardLimit
	for at > 1 && pending[at]&0xC0 == 0x80 {
		at--
	}
	return at
}

// finish emits the first n pending bytes as a final part, unless they are blank. The part is
// emitted even if its HTML is empty, because the numbers of parts must depend only on the text.
func (b *Buffer) finish(n int) {
	source := b.pending[:n]
	if len(b.pending) > 0 && !isAllBlank(source) {
		html, plain := render(source, b.links, true)
		seq := b.marks[0].seq
		b.emit(Part{Seq: seq, Number: b.next[seq], HTML: html, Final: true, Source: string(source), Plain: plain})
		b.next[seq]++
	}
	b.shown = 0
	b.pending = b.pending[n:]
	b.dropMarks(n)
}

func isAllBlank(source []byte) bool { return len(bytes.Trim(source, " \t\r\n")) == 0 }

func (b *Buffer) dropMarks(n int) {
	if len(b.pending) == 0 {
		b.marks = nil
		return
	}
	for len(b.marks) > 1 && b.marks[1].at <= n {
		b.marks = b.marks[1:]
	}
	for i := range b.marks {
		b.marks[i].at = max(b.marks[i].at-n, 0)
	}
}

// Show emits the pending text as a part that is not final, if the text has grown enough since the
// last such part: by any amount if the text is short, otherwise by a 16th of its length. The total
// length of these parts is therefore proportional to the length of the block.
func (b *Buffer) Show() {
	grown := len(b.pending) - b.shown
	if grown == 0 || b.shown > showAll && grown < len(b.pending)/16 {
		return
	}
	html, plain := render(b.pending, b.links, false)
	if html == "" && b.shown == 0 {
		return
	}
	b.shown = len(b.pending)
	seq := b.marks[0].seq
	b.emit(Part{Seq: seq, Number: b.next[seq], HTML: html, Source: string(b.pending), Plain: plain})
}

// showAll is the length in bytes up to which Show emits the pending text after any growth.
const showAll = 4 << 10

// Pending returns the source of the text that is not in a final part yet.
func (b *Buffer) Pending() string { return string(b.pending) }

// Flush emits all pending text as a final part.
func (b *Buffer) Flush() {
	if len(b.pending) > 0 {
		b.cut(len(b.pending), scanner{})
	}
}

// SafeFlush calls Flush if the pending text is not inside a block or open formatting. It reports
// whether it called Flush.
func (b *Buffer) SafeFlush() bool {
	if b.InBlock() || unmatched(b.pending) {
		return false
	}
	b.Flush()
	return true
}

// InBlock reports whether the text ends inside a list, table or code block, or in a line that may
// begin one. An event that is not text must not be emitted there.
func (b *Buffer) InBlock() bool {
	line := b.pending[b.scanned:]
	if len(line) == 0 {
		return b.scan.holdsTogether() || b.inRow()
	}
	if mayOpen(line) {
		return true
	}
	scan := b.scan
	scan.step(line, func() last { return last{} })
	if scan.kind == lost {
		scan = b.scan // only the whole line is decisive
	}
	return scan.holdsTogether() || scan.kind == paragraph && startsRow(line)
}

// inRow reports whether the last line belongs to a paragraph and may be a row of a table.
func (b *Buffer) inRow() bool {
	if b.scan.kind != paragraph {
		return false
	}
	end := max(b.scanned-1, 0)
	return startsRow(b.pending[bytes.LastIndexByte(b.pending[:end], '\n')+1:])
}

func startsRow(line []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("|"))
}

// mayOpen reports whether an incomplete line may be the start of a list, table or fence.
func mayOpen(line []byte) bool {
	return len(line) < 12 && len(bytes.Trim(line, " `~*+-|0123456789.)")) == 0
}
