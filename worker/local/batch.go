package local

import (
	"crypto/sha256"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// chunkSize is the maximum number of bytes of a content that one row contains.
const chunkSize = 256 << 10

// Batch is a set of contents of one execution that are written to the store in one transaction. The
// caller must not modify the bytes of a content after it has added the content.
type Batch struct {
	execution uuid.UUID
	contents  []content
	known     map[perdure.Hash]bool
	names     []contentName
	shown     []piece
	size      int
}

type content struct {
	ref   perdure.BlobRef
	bytes []byte
}

type contentName struct {
	name string
	sum  perdure.Hash
}

// NewBatch creates an empty batch for an execution.
func NewBatch(execution uuid.UUID) *Batch {
	return &Batch{execution: execution, known: map[perdure.Hash]bool{}}
}

// Add adds a content to the batch, and returns a reference to the content.
func (b *Batch) Add(bytes []byte) perdure.BlobRef {
	sum := perdure.Hash(sha256.Sum256(bytes))
	ref := perdure.BlobRef{ID: perdure.ContentID(b.execution, sum), Length: int64(len(bytes)), SHA256: sum}
	if !b.known[sum] {
		b.known[sum] = true
		b.contents = append(b.contents, content{ref, bytes})
		b.size += len(bytes)
	}
	return ref
}

// Name adds a content to the batch, under a name by which it can be found. It replaces the content
// that the name had before.
func (b *Batch) Name(name string, bytes []byte) {
	b.names = append(b.names, contentName{name, b.Add(bytes).SHA256})
}

func (b *Batch) show(p piece) {
	b.shown = append(b.shown, p)
	b.size += len(p.text)
}

func (b *Batch) empty() bool { return len(b.contents)+len(b.names)+len(b.shown) == 0 }

// apply writes the batch in a transaction. It skips contents that the store already has.
func (b *Batch) apply(t transaction) error {
	for _, c := range b.contents {
		if err := b.store(t, c); err != nil {
			return err
		}
	}
	for _, n := range b.names {
		_, err := t.exec("INSERT OR REPLACE INTO names (execution, name, sha) VALUES (?, ?, ?)", b.execution[:], n.name, n.sum[:])
		if err != nil {
			return err
		}
	}
	for _, p := range b.shown {
		_, err := t.exec("INSERT OR REPLACE INTO shown (execution, source, block, at, sha, text) VALUES (?, ?, ?, ?, ?, ?)",
			b.execution[:], p.source, p.block, p.at, p.sum[:], p.text)
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *Batch) store(t transaction, c content) error {
	made, err := t.exec("INSERT OR IGNORE INTO contents (ref, execution, sha, length) VALUES (?, ?, ?, ?)",
		c.ref.ID[:], b.execution[:], c.ref.SHA256[:], c.ref.Length)
	if err != nil {
		return err
	}
	if rows, err := made.RowsAffected(); err != nil || rows == 0 {
		return err
	}
	id, err := made.LastInsertId()
	if err != nil {
		return err
	}
	for n := 0; n*chunkSize < len(c.bytes); n++ {
		part := c.bytes[n*chunkSize : min((n+1)*chunkSize, len(c.bytes))]
		if _, err := t.exec("INSERT OR REPLACE INTO chunks (id, bytes) VALUES (?, ?)", firstChunk(id)+int64(n), part); err != nil {
			return err
		}
	}
	return nil
}

// firstChunk returns the row id of a content's first chunk. The ids of the other chunks follow it.
func firstChunk(content int64) int64 { return content << 20 }

// dropBytes is about how many bytes one transaction deletes. The number is limited because other writes
// wait for the transaction.
const dropBytes = 8 << 20

// dropSome deletes some of an execution's contents, and returns their disk space to the file
// system. The result `more` reports whether contents are left for another call.
func dropSome(t transaction, execution uuid.UUID) (more bool, err error) {
	ids, err := t.ids(`SELECT id FROM (
		SELECT id, SUM(length) OVER (ORDER BY id) - length AS before FROM (SELECT id, length FROM contents WHERE execution = ? ORDER BY id LIMIT 256)
	) WHERE before < ?`, execution[:], dropBytes)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if _, err := t.exec("DELETE FROM chunks WHERE id >= ? AND id < ?", firstChunk(id), firstChunk(id+1)); err != nil {
			return false, err
		}
		if _, err := t.exec("DELETE FROM contents WHERE id = ?", id); err != nil {
			return false, err
		}
	}
	if len(ids) == 0 {
		for _, statement := range []string{"DELETE FROM names WHERE execution = ?", "DELETE FROM shown WHERE execution = ?"} {
			if _, err := t.exec(statement, execution[:]); err != nil {
				return false, err
			}
		}
	}
	return len(ids) > 0, t.drain("PRAGMA incremental_vacuum")
}
