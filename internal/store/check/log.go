package check

import (
	"crypto/sha256"
	"encoding/json"
	"hash"

	"github.com/perdure/perdure"
)

// text is the state of a block during the check of a log.
type text struct {
	hash   hash.Hash
	length int64
	away   bool // the content is stored only on a worker, or was deleted because the block is superseded
}

// logCheck checks one log. It keeps one running hash in memory for each open block.
type logCheck struct {
	*checker
	last int64 // position of the last record that was read
	seqs int64
	open map[int64]*text
}

// log checks the log of an execution. Positions and seqs must have no gaps, except for pruned
// records at the beginning. Each closed block must have the length and the hash in its event
// block.closed.
func (c *checker) log(x *perdure.Execution) error {
	l := logCheck{checker: c, open: map[int64]*text{}}
	first, err := c.r.LogHead(c.ctx, c.id)
	if err != nil {
		return err
	}
	before := int64(0) // number of seqs whose records are pruned
	if first.FirstPos > 0 {
		l.last, before = first.FirstPos-1, first.LastSeq-1
	}
	for l.last < first.LastPos {
		page, _, err := c.r.Log(c.ctx, c.id, l.last, 1000)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			c.wrong("its log ends at the position %d, and should at %d", l.last, first.LastPos)
			return nil
		}
		for _, r := range page {
			if r.Pos > first.LastPos {
				break // this record was added after the check began
			}
			l.record(r)
		}
	}
	if l.seqs != first.LastSeq-before {
		c.wrong("its log has %d of %d events", l.seqs, first.LastSeq-before)
	}
	return nil
}

func (l *logCheck) record(r perdure.Record) {
	l.Records++
	if r.Pos != l.last+1 {
		l.wrong("its log goes from the position %d to %d", l.last, r.Pos)
	}
	l.last = r.Pos
	if r.Chunk != nil {
		l.chunk(r)
		return
	}
	l.seqs++
	if r.Type == perdure.EventBlockClosed {
		l.close(r)
	}
}

func (l *logCheck) chunk(r perdure.Record) {
	b := l.open[r.Seq]
	if b == nil {
		b = &text{hash: sha256.New()}
		l.open[r.Seq] = b
		l.seqs++
	}
	if r.Chunk.Text == "" || r.Chunk.Length > 0 {
		b.away = true
		return
	}
	b.hash.Write([]byte(r.Chunk.Text)) // never fails
	b.length += int64(len(r.Chunk.Text))
}

func (l *logCheck) close(r perdure.Record) {
	var end struct {
		BlockSeq int64               `json:"blockSeq"`
		Length   int64               `json:"length"`
		SHA256   perdure.Hash        `json:"sha256"`
		Reason   perdure.BlockReason `json:"reason"`
	}
	if err := json.Unmarshal(r.Fields, &end); err != nil {
		l.wrong("the end of a block at the position %d does not decode: %v", r.Pos, err)
		return
	}
	b := l.open[end.BlockSeq]
	delete(l.open, end.BlockSeq)
	if b == nil || b.away || end.Reason == perdure.BlockSuperseded {
		return
	}
	if b.length != end.Length || perdure.Hash(b.hash.Sum(nil)) != end.SHA256 {
		l.wrong("the text with seq %d has %d bytes and not those %d that its end says", end.BlockSeq, b.length, end.Length)
	}
}
