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

// wholeInMemory is the maximum length in bytes of a content that is checked in memory before it is
// returned. A longer content is read from disk twice: to check its hash, and then for the caller.
const wholeInMemory = 4 << 20

// Content implements [perdure.ContentSource]. It checks the content against its hash before it returns a
// reader, which the caller closes. Errors: not_found; internal if the content is damaged.
func (s *Store) Content(ctx context.Context, execution uuid.UUID, sum perdure.Hash) (io.ReadCloser, error) {
	c, err := s.find(ctx, execution, sum)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return s.shownContent(ctx, execution, sum)
	}
	if c.length <= wholeInMemory {
		content, err := s.whole(ctx, c)
		if err != nil {
			return nil, err
		}
		return io.NopCloser(bytes.NewReader(content)), nil
	}
	check := s.reader(ctx, c)
	if _, err := io.Copy(io.Discard, check); err != nil {
		return nil, err
	}
	return s.reader(ctx, c), nil
}

// Get returns the bytes of a content, which it checks against their hash. Errors: those of Content.
func (s *Store) Get(ctx context.Context, execution uuid.UUID, sum perdure.Hash) ([]byte, error) {
	c, err := s.find(ctx, execution, sum)
	if err != nil {
		return nil, err
	}
	if c != nil {
		return s.whole(ctx, c)
	}
	r, err := s.shownContent(ctx, execution, sum)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // the content is already in memory
	return io.ReadAll(r)
}

// Named returns the content that an execution has stored under the name, or nil if there is none. Errors:
// those of Content.
func (s *Store) Named(ctx context.Context, execution uuid.UUID, name string) ([]byte, error) {
	var raw []byte
	err := s.readers.QueryRowContext(ctx, "SELECT sha FROM names WHERE execution = ? AND name = ?", execution[:], name).Scan(&raw)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(ctx, err)
	}
	var sum perdure.Hash
	copy(sum[:], raw)
	return s.Get(ctx, execution, sum)
}

// Has reports whether the store has any content of the execution. Streamed text does not count.
func (s *Store) Has(ctx context.Context, execution uuid.UUID) (bool, error) {
	var there bool
	err := s.readers.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM contents WHERE execution = ?)", execution[:]).Scan(&there)
	return there, unreadable(ctx, err)
}

// contentRow describes a content in the store: the id of its row, its length, its execution and its
// hash.
type contentRow struct {
	id, length int64
	execution  uuid.UUID
	sum        perdure.Hash
}

// find returns the content with this hash, or nil if there is none.
func (s *Store) find(ctx context.Context, execution uuid.UUID, sum perdure.Hash) (*contentRow, error) {
	ref := perdure.ContentID(execution, sum)
	c := &contentRow{execution: execution, sum: sum}
	err := s.readers.QueryRowContext(ctx, "SELECT id, length FROM contents WHERE ref = ?", ref[:]).Scan(&c.id, &c.length)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(ctx, err)
	}
	return c, nil
}

// sumOf returns the hash of the content to which the reference id refers. The result `found` says
// whether the store has that content.
func (s *Store) sumOf(ctx context.Context, id uuid.UUID) (sum perdure.Hash, found bool, err error) {
	var raw []byte
	err = s.readers.QueryRowContext(ctx, "SELECT sha FROM contents WHERE ref = ?", id[:]).Scan(&raw)
	if errors.Is(err, sql.ErrNoRows) {
		return sum, false, nil
	}
	copy(sum[:], raw)
	return sum, err == nil, unreadable(ctx, err)
}

func (s *Store) whole(ctx context.Context, c *contentRow) ([]byte, error) {
	// The allocation is limited, because a damaged row may contain a wrong length.
	content := bytes.NewBuffer(make([]byte, 0, min(c.length, wholeInMemory)+bytes.MinRead))
	if _, err := content.ReadFrom(s.reader(ctx, c)); err != nil {
		return nil, err
	}
	return content.Bytes(), nil
}

// reader returns a reader of a content's bytes. If the bytes do not match the hash, the reader's last Read
// returns an error instead of io.EOF.
func (s *Store) reader(ctx context.Context, c *contentRow) io.ReadCloser {
	return &chunkReader{s: s, ctx: ctx, c: c, next: firstChunk(c.id), hash: sha256.New()}
}

type chunkReader struct {
	s    *Store
	ctx  context.Context
	c    *contentRow
	next int64
	read int64
	left []byte
	hash hash.Hash
	err  error
}

func (r *chunkReader) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		if r.err == nil {
			r.err = r.chunk()
		}
		if r.err != nil {
			return 0, r.err
		}
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

func (r *chunkReader) chunk() error {
	if r.read >= r.c.length {
		return r.atEnd()
	}
	err := r.s.readers.QueryRowContext(r.ctx, "SELECT bytes FROM chunks WHERE id = ?", r.next).Scan(&r.left)
	if errors.Is(err, sql.ErrNoRows) || err == nil && len(r.left) == 0 {
		return r.c.wrong()
	}
	if err != nil {
		return unreadable(r.ctx, err)
	}
	r.next++
	r.read += int64(len(r.left))
	r.hash.Write(r.left)
	return nil
}

func (r *chunkReader) atEnd() error {
	if r.read != r.c.length || perdure.Hash(r.hash.Sum(nil)) != r.c.sum {
		return r.c.wrong()
	}
	return io.EOF
}

func (r *chunkReader) Close() error {
	r.err = io.ErrClosedPipe
	return nil
}

func (c *contentRow) wrong() error {
	return perdure.Errorf(perdure.Internal, "the content %s of execution %s is damaged in this worker's store", c.sum, c.execution)
}

func notStored(execution uuid.UUID, sum perdure.Hash) error {
	return perdure.Errorf(perdure.NotFound, "this worker's store has no content %s of execution %s", sum, execution)
}

// unreadable returns the error with which a failed read is reported to the caller: the cause of ctx if ctx
// has ended, and an internal error otherwise. It returns nil if err is nil.
func unreadable(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return &perdure.Error{Code: perdure.Internal, Message: "the worker's store cannot be read", Err: err}
}
