package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"golang.org/x/sync/errgroup"
)

const (
	// shownInline is the largest withheld content that is asked for to be shown
	// in place, shownAtOnce how much of them one answer holds, and shownWithin how
	// long a worker is waited for. What goes beyond is left to be asked for by
	// its hash.
	shownInline = 256 << 10
	shownAtOnce = 8 << 20
	shownWithin = 5 * time.Second
	// checkedFirst is up to which length a content is checked before any of it
	// is handed on.
	checkedFirst = 4 << 20
	// fetches is how many contents are asked for side by side.
	fetches = 8
)

// Content gives a content of an execution by its hash, with its length: the
// server's own if it has it, else that of the worker it is on. The reader fails
// in place of its end where the bytes are not those of the hash; a short content
// is checked before any of it is given. Errors: not_found, unavailable (the
// worker is away), internal (the worker sent something else).
func (e *Engine) Content(ctx context.Context, org string, id uuid.UUID, sum perdure.Hash) (io.ReadCloser, int64, error) {
	x, err := e.Store.Execution(ctx, org, id)
	if err != nil {
		return nil, 0, err
	}
	b, err := e.Store.BlobRow(ctx, id, perdure.ContentID(id, sum))
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

// Shown is a content that clients are shown: where it goes, or else its length
// and hash.
type Shown struct {
	Place *json.RawMessage
	Ref   *perdure.BlobRef
	Bytes *int64
	Sum   *string
}

// Show puts in withheld contents of an execution, as far as its worker is
// connected and they are not too large, and in the place of the others a word
// with their length and hash. Error: internal, where the worker sent something
// else.
func (e *Engine) Show(ctx context.Context, x *perdure.Execution, all []Shown) error {
	left := int64(shownAtOnce)
	within, cancel := context.WithTimeout(ctx, shownWithin)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(fetches)
	for _, s := range all {
		if *s.Place != nil || s.Ref == nil {
			continue
		}
		if s.Ref.Length > shownInline || s.Ref.Length > left {
			s.mark()
			continue
		}
		left -= s.Ref.Length
		group.Go(func() error {
			content, err := e.fetchWhole(within, x, *s.Ref)
			switch {
			case err == nil:
				*s.Place = content
			case perdure.IsCode(err, perdure.Internal) && within.Err() == nil:
				return err
			default:
				s.mark()
			}
			return nil
		})
	}
	return group.Wait()
}

// mark says that the content is on its worker.
func (s Shown) mark() {
	*s.Place, *s.Bytes, *s.Sum = perdure.OnWorker, s.Ref.Length, s.Ref.SHA256.String()
}
