package invariants

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/perdure/perdure"
)

// checkLog checks that the positions and the seqs of a log have no gaps. The first records of an
// ended execution's log may be pruned. The text of every block must have the length and the hash
// that the closing event of the block contains; a superseded block must have no text. If the
// content of a block is not on the server, only the length of the block is checked.
func (i *execution) checkLog() {
	i.Helper()
	head, err := i.s.LogHead(i.ctx, i.id)
	if i.failed("head", err) {
		return
	}
	l := logCheck{execution: i, content: map[int64][]byte{}, withheld: map[int64]int64{}, chunks: map[int64]int{}, seen: map[int64]bool{}, open: map[int64]bool{}, ends: map[int64]blockEnd{}}
	first := int64(1)
	if head.FirstPos > 0 {
		if !i.x.Status.Terminal() {
			i.broken("is %s with a pruned log", i.x.Status)
		}
		l.last, first = head.FirstPos-1, head.LastSeq
	}
	for {
		page, _, err := i.s.Log(i.ctx, i.id, l.last, 1000)
		if i.failed("log", err) {
			return
		}
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			l.add(r)
		}
	}
	if l.last != head.LastPos {
		i.broken("has a log to pos %d, its head says %d", l.last, head.LastPos)
	}
	if l.nonce != head.Nonce {
		i.broken("ends with the nonce %d, its head says %d", l.nonce, head.Nonce)
	}
	if l.gaps {
		i.broken("lacks positions of its log")
	}
	for seq := first; seq <= head.LastSeq; seq++ {
		if !l.seen[seq] {
			i.broken("lacks seq %d of %d", seq, head.LastSeq)
		}
	}
	if int64(len(l.seen)) != head.LastSeq-first+1 {
		i.broken("has %d seqs, its head says %d", len(l.seen), head.LastSeq)
	}
	l.checkEnds()
	l.checkOpen()
}

type logCheck struct {
	*execution
	content map[int64][]byte // content of blocks, by seq
	// withheld contains the lengths of the blocks whose content is not on the server, by seq.
	withheld map[int64]int64
	seen     map[int64]bool
	open     map[int64]bool
	last     int64
	nonce    uint32 // nonce of the last record
	event    int64  // seq of the newest event
	gaps     bool
	chunks   map[int64]int // number of chunks per block
	ends     map[int64]blockEnd
}

// blockEnd contains the fields of a block.closed event. If a block was closed and later superseded,
// it has two such events, and the second one counts.
type blockEnd struct {
	BlockSeq int64               `json:"blockSeq"`
	Length   int64               `json:"length"`
	SHA256   perdure.Hash        `json:"sha256"`
	Reason   perdure.BlockReason `json:"reason"`
}

func (l *logCheck) held(seq int64) int64 { return int64(len(l.content[seq])) + l.withheld[seq] }

func (l *logCheck) add(r perdure.Record) {
	l.Helper()
	if r.Pos <= l.last {
		l.broken("has pos %d after %d", r.Pos, l.last)
	}
	l.gaps = l.gaps || r.Pos != l.last+1
	l.last, l.nonce = r.Pos, r.Nonce
	switch {
	case r.Chunk != nil:
		l.chunks[r.Seq]++
		// A chunk without text at the start of a block belongs to a superseded block, and its
		// offset is not checked here. checkEnds verifies that the block is superseded.
		gone := r.Chunk.Text == "" && l.held(r.Seq) == 0
		if held := l.held(r.Seq); r.Chunk.Offset != held && !gone {
			l.broken("has a chunk of block %d at %d, after %d bytes", r.Seq, r.Chunk.Offset, held)
		}
		if l.seen[r.Seq] && !l.open[r.Seq] {
			l.broken("has a chunk of block %d after its end", r.Seq)
		}
		l.content[r.Seq] = append(l.content[r.Seq], r.Chunk.Text...)
		l.withheld[r.Seq] += r.Chunk.Length
		l.seen[r.Seq], l.open[r.Seq] = true, true
	case l.seen[r.Seq]:
		l.broken("gives seq %d twice", r.Seq)
	case r.Seq < l.event:
		l.broken("gives the event %d after %d", r.Seq, l.event)
	default:
		l.seen[r.Seq], l.event = true, r.Seq
	}
	switch {
	case r.Type == perdure.EventBlockClosed:
		l.close(r)
	case r.Type == perdure.EventTaskRetrying && r.TaskID != nil:
		l.retried[perdure.BlockKey{TaskID: *r.TaskID, Attempt: int64(r.Attempt)}] = true
	}
}

// close processes a block.closed event. A second such event for the same block is allowed only if
// it marks the block as superseded.
func (l *logCheck) close(r perdure.Record) {
	l.Helper()
	var end blockEnd
	if err := json.Unmarshal(r.Fields, &end); err != nil {
		l.broken("has a block.closed that does not decode: %v", err)
		return
	}
	delete(l.open, end.BlockSeq)
	before, again := l.ends[end.BlockSeq]
	if again && (before.Reason == perdure.BlockSuperseded || end.Reason != perdure.BlockSuperseded || before.Length != end.Length || before.SHA256 != end.SHA256) {
		l.broken("closes the block %d with %+v, and then with %+v", end.BlockSeq, before, end)
	}
	l.ends[end.BlockSeq] = end
}

func (l *logCheck) checkEnds() {
	l.Helper()
	for _, end := range l.ends {
		l.checkEnd(end)
	}
}

func (l *logCheck) checkEnd(end blockEnd) {
	l.Helper()
	content, held := l.content[end.BlockSeq], l.chunks[end.BlockSeq] > 0
	if end.Reason == perdure.BlockSuperseded {
		if l.held(end.BlockSeq) > 0 {
			l.broken("still has content of block %d, which is superseded", end.BlockSeq)
		}
		return
	}
	if away := l.withheld[end.BlockSeq]; away > 0 {
		if l.held(end.BlockSeq) != end.Length {
			l.broken("has a block %d of %d bytes, its end says %d", end.BlockSeq, l.held(end.BlockSeq), end.Length)
		}
		return
	}
	if held && (int64(len(content)) != end.Length || sha256.Sum256(content) != end.SHA256) {
		l.broken("has %d bytes of block %d, its end says %d with another hash", len(content), end.BlockSeq, end.Length)
	}
}

// checkOpen compares the stored open blocks with the log: exactly the blocks without a closing
// event must be open, and their content must be the same as in the log. An ended execution must not
// have open blocks.
func (l *logCheck) checkOpen() {
	l.Helper()
	blocks, _, err := l.s.OpenBlocks(l.ctx, l.id)
	if l.failed("open blocks", err) {
		return
	}
	for _, b := range blocks {
		if !l.open[b.Seq] || b.Content != string(l.content[b.Seq]) || b.Length != l.held(b.Seq) {
			l.broken("has the open block %d of %d bytes, which its log does not give", b.Seq, b.Length)
		}
		delete(l.open, b.Seq)
		if l.x.Status.Terminal() {
			l.broken("is %s with an open block", l.x.Status)
		}
	}
	for seq := range l.open {
		l.broken("has a block %d without an end that is not open", seq)
	}
}
