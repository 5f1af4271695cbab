package logtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func number(n int64) string { return strconv.FormatInt(n, 10) }

// piece is what a client reads of an event's data.
type piece struct {
	Seq      int64           `json:"seq"`
	Offset   int64           `json:"offset"`
	Type     string          `json:"type"`
	Data     json.RawMessage `json:"data"`
	Snapshot bool            `json:"snapshot"`
	PrevSeq  *int64          `json:"prevSeq"`

	BlockSeq int64  `json:"blockSeq"`
	Length   int64  `json:"length"`
	SHA256   string `json:"sha256"`
	Reason   string `json:"reason"`

	chunk bool
}

func pieceOf(e Event) piece {
	var p piece
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(e.Data), &p) != nil || json.Unmarshal([]byte(e.Data), &members) != nil {
		return piece{}
	}
	_, p.chunk = members["offset"]
	return p
}

// isChunk tells the pieces of blocks from events: they have an offset.
func (p piece) isChunk() bool { return p.chunk }

// text is the piece's text; of a tool call's arguments, their next piece.
func (p piece) text() string {
	var call struct {
		Delta string `json:"delta"`
	}
	var text string
	if json.Unmarshal(p.Data, &text) != nil {
		_ = json.Unmarshal(p.Data, &call) // what is neither has no text
		return call.Delta
	}
	return text
}

// emptied is the data of a chunk without its text.
func (p piece) emptied(data string) string {
	empty := `""`
	if before, _, call := strings.Cut(string(p.Data), `"delta":`); call && p.Data[0] == '{' {
		empty = before + `"delta":""}`
	}
	return strings.Replace(data, `"data":`+string(p.Data), `"data":`+empty, 1)
}

// superseded lists the blocks that were taken back.
func superseded(given []Event) []int64 {
	var all []int64
	for _, e := range given {
		if p := pieceOf(e); e.Name == "block.closed" && p.Reason == "superseded" {
			all = append(all, p.BlockSeq)
		}
	}
	return all
}

// picture is what a client holds that keeps events by seq, and blocks as the
// bytes that it was given.
type picture struct {
	events map[int64]string
	blocks map[int64]*held
	newest int64 // seq
	first  int64 // seqs before it are not looked for
	wrong  []string
}

// held is what a client has of a block.
type held struct {
	kind, text string
	end        *Event // the block.closed that came last
}

func newPicture() *picture {
	return &picture{events: map[int64]string{}, blocks: map[int64]*held{}}
}

func pictureOf(given []Event) *picture {
	p := newPicture()
	for _, e := range given {
		p.add(e)
	}
	return p
}

func (p *picture) fault(e Event, format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...)+": "+e.String())
}

// add takes an event as a client does that trusts nobody: what is missing,
// doubled or out of order is a fault, which shows.
func (p *picture) add(e Event) {
	if e.Name == "ping" || e.Name == "end" {
		return
	}
	c := pieceOf(e)
	if c.Seq > p.newest+1 {
		p.fault(e, "seq %d follows %d", c.Seq, p.newest)
	}
	p.newest = max(p.newest, c.Seq)
	switch {
	case c.chunk:
		p.grow(e, c)
	case p.events[c.Seq] != "" && p.events[c.Seq] != e.String():
		p.fault(e, "seq %d is also %s", c.Seq, p.events[c.Seq])
	default:
		p.events[c.Seq] = e.String()
		if e.Name == "block.closed" {
			p.close(e, c)
		}
	}
}

func (p *picture) grow(e Event, c piece) {
	b := p.blocks[c.Seq]
	if c.Snapshot {
		whole := &held{kind: c.Type, text: c.text()}
		if b != nil {
			whole.end = b.end
		}
		p.blocks[c.Seq] = whole
		return
	}
	if b == nil {
		if c.Seq < p.first {
			return // it began before what the client holds
		}
		b = &held{kind: e.Name}
		p.blocks[c.Seq] = b
	}
	switch end := int64(len(b.text)); {
	case b.end != nil:
		p.fault(e, "the block was closed")
	case c.Offset > end:
		p.fault(e, "%d bytes are held", end)
	default:
		text := c.text()
		b.text += text[min(end-c.Offset, int64(len(text))):]
	}
}

// close notes the end of a block. One that had closed can be superseded later:
// what was shown of it is dropped, too.
func (p *picture) close(e Event, c piece) {
	if b := p.blocks[c.BlockSeq]; b != nil {
		b.end = &e
		if c.Reason == "superseded" {
			b.text = ""
		}
	}
}

// check holds a block against what the server says of it.
func (b *held) check() string {
	if b.end == nil {
		return ""
	}
	c := pieceOf(*b.end)
	sum := sha256.Sum256([]byte(b.text))
	if c.Reason == "superseded" || int64(len(b.text)) == c.Length && hex.EncodeToString(sum[:]) == c.SHA256 {
		return ""
	}
	return fmt.Sprintf("%d bytes are held, %q: %s", len(b.text), b.text, b.end)
}

// faults is what is wrong with what the client was given.
func (p *picture) faults() []string {
	all := slices.Clone(p.wrong)
	for _, seq := range slices.Sorted(maps.Keys(p.blocks)) {
		if fault := p.blocks[seq].check(); fault != "" {
			all = append(all, fault)
		}
	}
	return all
}

// String is all that the client holds, in order.
func (p *picture) String() string {
	all := maps.Clone(p.events)
	for seq, b := range p.blocks {
		all[seq] = "block " + b.kind + " " + b.text
	}
	var out strings.Builder
	for _, seq := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&out, "%d %s\n", seq, all[seq])
	}
	for _, fault := range p.faults() {
		out.WriteString("WRONG " + fault + "\n")
	}
	return out.String()
}

// oldestOpen is the seq of the oldest block that may still grow; 0 for none.
func (p *picture) oldestOpen() int64 {
	oldest := int64(0)
	for seq, b := range p.blocks {
		if b.end == nil && (oldest == 0 || seq < oldest) {
			oldest = seq
		}
	}
	return oldest
}
