package engine

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
	// shownWithin is how long a worker is waited for to show what is withheld.
	shownWithin = 5 * time.Second
	// checkedFirst is up to which length a content is checked before any of it
	// is handed on.
	checkedFirst = 4 << 20
	// fetches is how many contents are asked for side by side.
	fetches = 8
)

// Content returns a content of an execution by its hash, with its length: the
// server's own if it has it, else that of the worker it is on. The reader fails
// in place of its end where the bytes are not those of the hash; a short content
// is checked before any of it is given. Errors: not_found, unavailable (the
// worker is away), internal (the worker sent something else).
func (e *Engine) Content(ctx context.Context, org string, id uuid.UUID, sum perdure.Hash) (io.ReadCloser, int64, error) {
	x, err := e.refs.Execution(ctx, org, id)
	if err != nil {
		return nil, 0, err
	}
	b, err := e.Store.BlobRow(ctx, id, perdure.ContentID(id, sum))
	if perdure.IsCode(err, perdure.NotFound) {
		b, err = e.Store.BlobOf(ctx, id, sum)
	}
	if perdure.IsCode(err, perdure.NotFound) {
		return nil, 0, perdure.Errorf(perdure.NotFound, "execution %s has no content %s that is kept by its hash", id, sum)
	}
	if err != nil {
		return nil, 0, err
	}
	if b.Held == b.Length {
		content, err := e.Store.Blob(ctx, id, b.ID)
		return content, b.Length, err
	}
	ref := perdure.BlobRef{ID: b.ID, Length: b.Length, SHA256: sum}
	if b.Length <= checkedFirst {
		whole, err := e.fetchWhole(ctx, x, ref)
		return io.NopCloser(bytes.NewReader(whole)), b.Length, err
	}
	content, err := e.fetch(ctx, x, ref)
	return content, b.Length, err
}

// fetch asks the execution's worker for a content.
func (e *Engine) fetch(ctx context.Context, x *perdure.Execution, ref perdure.BlobRef) (io.ReadCloser, error) {
	if x.HomeID == nil {
		return nil, perdure.Errorf(perdure.Unavailable, "the content %s is on no worker that is known", ref.SHA256)
	}
	source, err := e.sourceOf(x.Org, *x.HomeID)
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
	return &checked{ReadCloser: content, ref: ref, worker: *x.HomeID, hash: sha256.New()}, nil
}

func (e *Engine) fetchWhole(ctx context.Context, x *perdure.Execution, ref perdure.BlobRef) ([]byte, error) {
	content, err := e.fetch(ctx, x, ref)
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

// checked reads a content. In place of its end it gives an error where the bytes
// are not those that the reference stands for; more than its length is never
// given.
type checked struct {
	io.ReadCloser
	ref    perdure.BlobRef
	worker uuid.UUID
	hash   hash.Hash
	read   int64
}

func (c *checked) Read(p []byte) (int, error) {
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

func (c *checked) wrong() error {
	return perdure.Errorf(perdure.Internal, "worker %s sent something else for the content %s", c.worker, c.ref.SHA256)
}
