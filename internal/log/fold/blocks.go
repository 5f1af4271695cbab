package fold

import "github.com/perdure/perdure"

// Blocks tracks the open blocks of a log for one reader. For each block it stores how many bytes of
// its text the reader has seen, but not the text. The zero value is ready to use.
type Blocks struct{ open map[int64]*Block }

// Block is a block of the log that is open: a text that is still being streamed.
type Block struct {
	// First is the record that opened the block, without its text.
	First perdure.Record
	// Held is the length in bytes of the text that the reader has seen, from the start of the
	// block.
	Held int64
}

// Piece is the text that one chunk of a block adds to what a reader has seen.
type Piece struct {
	Block *Block
	// Text is the new text, without the bytes that the reader has already seen.
	Text string
	// Opens reports that the record is the first of its block. Replaces reports that Text is the
	// whole block, and replaces all text of the block that the reader has seen.
	Opens, Replaces bool
	// Lacks reports that some of the block's text up to here is unknown: only the worker stores it,
	// or the reader has missed a chunk. Text is then empty.
	Lacks bool
}

// Take adds the chunk of an event's record to its block, and returns the part of the text that is
// new to the reader.
func (s *Blocks) Take(e Event) Piece {
	c := e.Record.Chunk
	b := s.open[e.Record.Seq]
	p := Piece{Block: b, Opens: b == nil, Replaces: e.Whole && c.Length == 0}
	if b == nil || p.Replaces {
		p.Block = s.begin(e.Record)
	}
	known := p.Block.Held - c.Offset
	if c.Length > 0 || known < 0 {
		p.Lacks = true
		return p
	}
	p.Text = c.Text[min(known, int64(len(c.Text))):]
	p.Block.Held += int64(len(p.Text))
	return p
}

func (s *Blocks) begin(r *perdure.Record) *Block {
	if s.open == nil {
		s.open = map[int64]*Block{}
	}
	b := &Block{First: *r}
	b.First.Chunk = &perdure.Chunk{Stream: r.Chunk.Stream, ToolCallID: r.Chunk.ToolCallID}
	s.open[r.Seq] = b
	return b
}

// Join opens the block of a record if it is not open, and counts the text before the record's
// chunk as seen. A reader that begins in the middle of a log calls Join before Take.
func (s *Blocks) Join(r *perdure.Record) {
	if s.open[r.Seq] == nil {
		s.begin(r).Held = r.Chunk.Offset
	}
}

// Close removes the block that an event block.closed names, and returns it; nil if the block is not
// open. Errors: internal.
func (s *Blocks) Close(r *perdure.Record) (*Block, Closed, error) {
	c, err := ClosedOf(r)
	b := s.open[c.BlockSeq]
	delete(s.open, c.BlockSeq)
	return b, c, err
}

// Reset forgets all blocks. A reader calls Reset after a reset of the log, because the reader then
// receives the log from the start.
func (s *Blocks) Reset() { s.open = nil }
