package homes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

const (
	// shownWithin is the maximum time for which Fill waits for contents from a worker.
	shownWithin = 5 * time.Second
	// checkedFirst is the maximum length of a content that is checked completely before its first
	// byte is returned. Longer contents are checked while they are read.
	checkedFirst = 4 << 20
	// Fetches is the maximum number of contents that are fetched at the same time.
	Fetches = 8
)

// Content returns the content of an execution with the given hash, and its length. It reads the
// server's copy if there is one, otherwise the copy of the execution's worker. If the bytes do not
// match the hash, the reader returns an error instead of io.EOF. A content of at most 4 MiB from a
// worker is checked before Content returns. Errors: not_found, unavailable (the worker is not
// connected), internal (the worker sent other bytes).
func (hs *Homes) Content(ctx context.Context, org string, id uuid.UUID, sum perdure.Hash) (io.ReadCloser, int64, error) {
	x, err := hs.refs.Execution(ctx, org, id)
	if err != nil {
		return nil, 0, err
	}
	b, err := hs.store.BlobRow(ctx, id, perdure.ContentID(id, sum))
	if perdure.IsCode(err, perdure.NotFound) {
		b, err = hs.store.BlobOf(ctx, id, sum)
	}
	if perdure.IsCode(err, perdure.NotFound) {
		return nil, 0, perdure.Errorf(perdure.NotFound, "execution %s has no content %s that is kept by its hash", id, sum)
	}
	if err != nil {
		return nil, 0, err
	}
	if b.Held == b.Length {
		content, err := hs.store.Blob(ctx, id, b.ID)
		return content, b.Length, err
	}
	ref := perdure.BlobRef{ID: b.ID, Length: b.Length, SHA256: sum}
	if b.Length <= checkedFirst {
		whole, err := hs.FetchWhole(ctx, x, ref)
		return io.NopCloser(bytes.NewReader(whole)), b.Length, err
	}
	content, err := hs.Fetch(ctx, x, ref)
	return content, b.Length, err
}

// Whole returns a content of an execution as bytes. It reads the copy in the server's store. If the
// store has none, it reads the copy of the execution's worker. Errors: unavailable, not_found,
// internal (the worker sent other bytes).
func (hs *Homes) Whole(ctx context.Context, x *perdure.Execution, ref perdure.BlobRef) ([]byte, error) {
	content, err := hs.OpenContent(ctx, x, ref)
	if err != nil {
		return nil, err
	}
	if content == nil {
		return hs.FetchWhole(ctx, x, ref)
	}
	defer content.Close()
	return io.ReadAll(content)
}

// Fetch requests a content from the execution's worker. The returned reader checks the content's
// length and hash against ref. Errors: unavailable, not_found.
func (hs *Homes) Fetch(ctx context.Context, x *perdure.Execution, ref perdure.BlobRef) (io.ReadCloser, error) {
	if x.HomeID == nil {
		return nil, perdure.Errorf(perdure.Unavailable, "the content %s is on no worker that is known", ref.SHA256)
	}
	source, err := hs.Source(x.Org, *x.HomeID)
	if err != nil {
		return nil, err
	}
	content, err := source.Content(ctx, x.ID, ref.SHA256)
	if perdure.IsCode(err, perdure.NotFound) {
		return nil, perdure.Errorf(perdure.NotFound, "worker %s has no content %s of execution %s any more", x.HomeID, ref.SHA256, x.ID)
	}
	if err != nil {
		return nil, err
	}
	return &verifyingReader{ReadCloser: content, ref: ref, worker: *x.HomeID, hash: sha256.New()}, nil
}

// FetchWhole requests a content from the execution's worker, and checks it. Errors: unavailable,
// not_found, internal (the worker sent other bytes).
func (hs *Homes) FetchWhole(ctx context.Context, x *perdure.Execution, ref perdure.BlobRef) ([]byte, error) {
	content, err := hs.Fetch(ctx, x, ref)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	whole := bytes.NewBuffer(make([]byte, 0, ref.Length+bytes.MinRead))
	if _, err := whole.ReadFrom(content); err != nil {
		return nil, err
	}
	return whole.Bytes(), nil
}

// verifyingReader reads a content from a worker. If the bytes do not match the reference, Read
// returns an error instead of io.EOF. Read never returns more bytes than the reference's length.
type verifyingReader struct {
	io.ReadCloser
	ref    perdure.BlobRef
	worker uuid.UUID
	hash   hash.Hash
	read   int64
}

func (c *verifyingReader) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if c.read+int64(n) > c.ref.Length {
		return 0, c.wrong()
	}
	c.read += int64(n)
	c.hash.Write(p[:n])
	if errors.Is(err, io.EOF) && (c.read != c.ref.Length || perdure.Hash(c.hash.Sum(nil)) != c.ref.SHA256) {
		return n, c.wrong()
	}
	return n, err
}

func (c *verifyingReader) wrong() error {
	return perdure.Errorf(perdure.Internal, "worker %s sent something else for the content %s", c.worker, c.ref.SHA256)
}
