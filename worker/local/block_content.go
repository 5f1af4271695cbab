package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"hash"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// The store writes each piece of streamed text to disk before the server receives the piece. With
// the piece, it writes the hash of the block's text up to the end of the piece. The server closes
// the block with the hash of the last piece, so the store can find the text of a closed block by
// its hash.

// piece is a part of the text of a streamed block.
type piece struct {
	source []byte // key of the block's source: a task's attempt, or an execution's fence
	block  int64
	at     int64 // offset of the piece in the block
	// sum is the hash of the block's text up to the end of the piece.
	sum  perdure.Hash
	text []byte
}

// blockState is the state of a block that is still being streamed: its length in bytes, and the hash
// of its text.
type blockState struct {
	length int64
	hash   hash.Hash
}

// add compares a frame, which has a chunk of the block, with the block. The result p is the part of
// the frame's text that the block does not have yet; it is empty if the frame is a repeat. The
// result `next` is the state of the block with that part. add does not change g: the caller
// replaces g by `next` once p is stored. Error: conflict if text before the frame is missing.
func (g *blockState) add(source []byte, f perdure.Frame) (p piece, next blockState, err error) {
	next = blockState{length: g.length, hash: sha256.New()}
	if g.hash != nil {
		if next.hash, err = cloneHash(g.hash); err != nil {
			return p, next, err
		}
	}
	if f.Offset > g.length {
		return p, next, perdure.Errorf(perdure.Conflict, "block %d is at %d bytes here, and the next piece at %d", f.Block, g.length, f.Offset)
	}
	known := min(g.length-f.Offset, int64(len(f.Text)))
	text := []byte(f.Text[known:])
	next.hash.Write(text)
	next.length += int64(len(text))
	return piece{source: source, block: f.Block, at: g.length, sum: perdure.Hash(next.hash.Sum(nil)), text: text}, next, nil
}

func cloneHash(h hash.Hash) (hash.Hash, error) {
	c, ok := h.(hash.Cloner)
	if !ok {
		return nil, perdure.Errorf(perdure.Internal, "a running hash cannot be copied")
	}
	return c.Clone()
}

// sumShown returns the hash of the first `end` bytes of a streamed block. The hash is zero if no
// stored piece ends there.
func (s *Store) sumShown(ctx context.Context, execution uuid.UUID, source []byte, block, end int64) (sum perdure.Hash, err error) {
	var raw []byte
	err = s.readers.QueryRowContext(ctx,
		"SELECT sha FROM shown WHERE execution = ? AND source = ? AND block = ? AND at + length(text) = ?", execution[:], source, block, end).Scan(&raw)
	if errors.Is(err, sql.ErrNoRows) {
		return sum, nil
	}
	copy(sum[:], raw)
	return sum, unreadable(ctx, err)
}

// shownContent returns the text of a streamed block up to the piece with the hash `sum`. Errors:
// not_found; internal if the text is damaged.
func (s *Store) shownContent(ctx context.Context, execution uuid.UUID, sum perdure.Hash) (io.ReadCloser, error) {
	if sum == sha256.Sum256(nil) {
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	var source []byte
	var block, at int64
	err := s.readers.QueryRowContext(ctx,
		"SELECT source, block, at FROM shown WHERE execution = ? AND sha = ? LIMIT 1", execution[:], sum[:]).Scan(&source, &block, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, notStored(execution, sum)
	}
	if err != nil {
		return nil, unreadable(ctx, err)
	}
	rows, err := s.readers.QueryContext(ctx,
		"SELECT text FROM shown WHERE execution = ? AND source = ? AND block = ? AND at <= ? ORDER BY at", execution[:], source, block, at)
	if err != nil {
		return nil, unreadable(ctx, err)
	}
	defer rows.Close()
	var text []byte
	for rows.Next() {
		var part sql.RawBytes
		if err := rows.Scan(&part); err != nil {
			return nil, unreadable(ctx, err)
		}
		text = append(text, part...)
	}
	if err := rows.Err(); err != nil {
		return nil, unreadable(ctx, err)
	}
	if sha256.Sum256(text) != sum {
		return nil, (&contentRow{execution: execution, sum: sum}).wrong()
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}
