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

// eventData contains the members of an event's data that a client reads.
type eventData struct {
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

func pieceOf(e Event) eventData {
	var p eventData
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(e.Data), &p) != nil || json.Unmarshal([]byte(e.Data), &members) != nil {
		return eventData{}
	}
	_, p.chunk = members["offset"]
	return p
}

func (p eventData) isChunk() bool { return p.chunk }

// text returns the text of a chunk. In a chunk of a tool call's arguments, the text is the next
// part of their JSON.
func (p eventData) text() string {
	var call struct {
		Delta string `json:"delta"`
	}
	var text string
	if json.Unmarshal(p.Data, &text) != nil {
		_ = json.Unmarshal(p.Data, &call) // data of another form has no text
		return call.Delta
	}
	return text
}

// emptied returns the data of a chunk with its text removed.
func (p eventData) emptied(data string) string {
	empty := `""`
	if before, _, call := strings.Cut(string(p.Data), `"delta":`); call && p.Data[0] == '{' {
		empty = before + `"delta":""}`
	}
	return strings.Replace(data, `"data":`+string(p.Data), `"data":`+empty, 1)
}

// superseded returns the seqs of the superseded blocks.
func superseded(given []Event) []int64 {
	var all []int64
	for _, e := range given {
		if p := pieceOf(e); e.Name == "block.closed" && p.Reason == "superseded" {
			all = append(all, p.BlockSeq)
		}
	}
	return all
}

// clientCopy is a client's copy of a log: the events by seq, and the received text of each block.
type clientCopy struct {
	events map[int64]string
	blocks map[int64]*blockCopy
	newest int64 // greatest seq of an event
	first  int64 // events with a lower seq are not expected
	wrong  []string
}

// blockCopy is a client's copy of a block.
type blockCopy struct {
	kind, text string
	end        *Event // the newest event block.closed about it
}

func newClientCopy() *clientCopy {
	return &clientCopy{events: map[int64]string{}, blocks: map[int64]*blockCopy{}}
}

func clientCopyOf(given []Event) *clientCopy {
	p := newClientCopy()
	for _, e := range given {
		p.add(e)
	}
	return p
}

func (p *clientCopy) fault(e Event, format string, args ...any) {
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...)+": "+e.String())
}

// add adds an event to the copy. It records a fault if an event before this one is missing, if two
// events have the same seq, or if a chunk is at a wrong offset.
func (p *clientCopy) add(e Event) {
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

func (p *clientCopy) grow(e Event, c eventData) {
	b := p.blocks[c.Seq]
	if c.Snapshot {
		whole := &blockCopy{kind: c.Type, text: c.text()}
		if b != nil {
			whole.end = b.end
		}
		p.blocks[c.Seq] = whole
		return
	}
	if b == nil {
		if c.Seq < p.first {
			return // the block began before the client's first seq
		}
		b = &blockCopy{kind: e.Name}
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

// close applies an event block.closed, whose data is c. If the block was superseded, it drops the
// block's text, even if the block was closed before.
func (p *clientCopy) close(e Event, c eventData) {
	if b := p.blocks[c.BlockSeq]; b != nil {
		b.end = &e
		if c.Reason == "superseded" {
			b.text = ""
		}
	}
}

// check compares a block with the length and the hash in its event block.closed.
func (b *blockCopy) check() string {
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

// faults returns a description of everything that is wrong with the received events.
func (p *clientCopy) faults() []string {
	all := slices.Clone(p.wrong)
	for _, seq := range slices.Sorted(maps.Keys(p.blocks)) {
		if fault := p.blocks[seq].check(); fault != "" {
			all = append(all, fault)
		}
	}
	return all
}

// String returns everything that the client has stored, in the order of the seqs.
func (p *clientCopy) String() string {
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

// oldestOpen returns the seq of the oldest block that may still grow; 0 if there is none.
func (p *clientCopy) oldestOpen() int64 {
	oldest := int64(0)
	for seq, b := range p.blocks {
		if b.end == nil && (oldest == 0 || seq < oldest) {
			oldest = seq
		}
	}
	return oldest
}
