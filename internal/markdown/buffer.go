package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
)

// HardLimit is the most bytes that wait for their block to end; what is over it
// is cut where it stands.
const HardLimit = 64 << 10

// Part is a piece of rendered text. A part that is not final is replaced by the
// next one of the same seq and number.
type Part struct {
	Seq    int64  `json:"seq"`  // of the first chunk that is in it
	Number int    `json:"part"` // counts the parts of that seq, from 0
	HTML   string `json:"html"`
	Final  bool   `json:"final"`
	// Source is the markdown that the part was made of, for other renderings.
	Source string `json:"-"`
}

// Buffer renders text as it comes. It is used by one goroutine.
type Buffer struct {
	emit    func(Part)
	pending []byte
	marks   []mark // where the chunks of another event begin in pending; the first at 0
	next    map[int64]int
	links   []parser.Reference // defined so far
	whole   int                // bytes of pending that were looked at for a cut
	shown   bool               // a provisional part stands for pending
}

// mark says of which event the chunks from a place on are.
type mark struct {
	at  int
	seq int64
}

// NewBuffer makes a buffer that hands its parts to emit.
func NewBuffer(emit func(Part)) *Buffer {
	return &Buffer{emit: emit, next: map[int64]int{}}
}

// Write adds a chunk of the event seq. Blocks that have ended come out as final
// parts; Show gives what is still open.
func (b *Buffer) Write(seq int64, chunk string) {
	if chunk == "" {
		return
	}
	if len(b.marks) == 0 || b.marks[len(b.marks)-1].seq != seq {
		b.marks = append(b.marks, mark{len(b.pending), seq})
	}
	b.pending = append(b.pending, chunk...)
	if lines := decided(b.pending); lines > b.whole {
		if mayCut(b.pending[b.whole:lines], b.pending[:b.whole]) {
			for _, n := range cuts(b.pending[:lines]) {
				b.finish(n)
			}
		}
		b.whole = max(b.whole, decided(b.pending))
	}
	for len(b.pending) > HardLimit {
		b.finish(hardCut(b.pending))
	}
}

// mayOpen tells whether a line that has not ended has only what a list, table or
// fence may begin with.
func mayOpen(line []byte) bool {
	return len(line) > 0 && line[len(line)-1] != '\n' && len(line) < 12 && len(bytes.Trim(line, " `~*+-|0123456789.)")) == 0
}

// decided is how much of the text can be parsed as what it will stay: its whole
// lines, and a line that begins with a letter after a blank one, for that is a
// paragraph of the top level however it goes on.
func decided(pending []byte) int {
	lines := bytes.LastIndexByte(pending, '\n') + 1
	if lines > 0 && lines < len(pending) && endsBlank(pending[:lines]) && isLetter(pending[lines]) {
		return len(pending)
	}
	return lines
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// mayCut spares the parse of all that is pending for lines that cannot end a
// block: one that goes on inside an indented or plain run of lines.
func mayCut(lines, before []byte) bool {
	return len(before) == 0 || len(before) < 1<<10 ||
		bytes.Contains(lines, []byte("\n\n")) || endsBlank(lines) || endsBlank(before) ||
		bytes.ContainsAny(lines, "`~#")
}

// hardCut is a place to cut text that has grown too long: after a line, or else
// before a character.
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

// finish gives the first n pending bytes as a final part.
func (b *Buffer) finish(n int) {
	if n == 0 {
		return
	}
	source := b.pending[:n]
	pc := b.context()
	html := render(source, pc)
	b.links = pc.References()
	b.give(string(source), html, true)
	b.pending = bytes.Clone(b.pending[n:])
	b.whole = 0
	b.dropMarks(n)
}

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

func (b *Buffer) context() parser.Context {
	pc := parser.NewContext()
	for _, link := range b.links {
		pc.AddReference(link)
	}
	return pc
}

// give hands a part out. A final one that shows nothing is only needed to take
// the place of a provisional one.
func (b *Buffer) give(source, html string, final bool) {
	if html == "" && !b.shown {
		return
	}
	seq := b.marks[0].seq
	b.emit(Part{Seq: seq, Number: b.next[seq], HTML: html, Final: final, Source: source})
	b.shown = !final
	if final {
		b.next[seq]++
	}
}

// Show gives what is pending as a provisional part.
func (b *Buffer) Show() {
	if len(b.pending) > 0 {
		b.give(string(b.pending), render(b.pending, b.context()), false)
	}
}

// Pending is the source of what is still open.
func (b *Buffer) Pending() string { return string(b.pending) }

// Flush ends what is pending where it stands.
func (b *Buffer) Flush() { b.finish(len(b.pending)) }

// SafeFlush is Flush, unless that would cut a block or open formatting; it tells
// whether nothing is pending any more.
func (b *Buffer) SafeFlush() bool {
	if b.InBlock() || unmatched(b.pending) {
		return false
	}
	b.Flush()
	return true
}

// InBlock tells whether the text stands inside a list, table or code block, or
// at a line that may be the beginning of one: nothing may come into it.
func (b *Buffer) InBlock() bool {
	if len(b.pending) == 0 {
		return false
	}
	if mayOpen(lastLine(b.pending)) {
		return true
	}
	all := blocks(b.pending)
	if len(all) == 0 {
		return false
	}
	switch last := all[len(all)-1].(type) {
	case *ast.List, *east.Table:
		return true
	case *ast.CodeBlock:
		return true
	case *ast.FencedCodeBlock:
		return !fenceClosed(last, b.pending)
	case *ast.Paragraph:
		return !endsBlank(b.pending) && bytes.HasPrefix(bytes.TrimLeft(lastLine(b.pending), " "), []byte("|"))
	case *ast.Blockquote:
		return !endsBlank(b.pending)
	}
	return false
}
