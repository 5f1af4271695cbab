package engine

import (
	"context"
	"encoding/json"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"golang.org/x/sync/errgroup"
)

// Shown is a content in an answer to a client. Place receives the content; otherwise Bytes and Sum
// receive its length and hash.
type Shown struct {
	Place *json.RawMessage
	Ref   *perdure.BlobRef
	Bytes *int64
	Sum   *string
}

// Show adds the contents of an execution that are stored in blobs, or on its worker if that is
// connected. A content over [perdure.ShownLimit] is left out, and so are those that exceed the size
// of a page together. For these, Show sets length and hash, by which the client can request the
// content; if it is on the worker, a word in its place says so. Error: internal, if the worker sent
// other bytes.
func (e *Engine) Show(ctx context.Context, x *perdure.Execution, all []Shown) error {
	left := int64(store.PageBytes)
	within, cancel := context.WithTimeout(ctx, shownWithin)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(fetches)
	for _, s := range all {
		if *s.Place != nil || s.Ref == nil {
			continue
		}
		here, err := e.holds(ctx, x, *s.Ref)
		if err != nil {
			return err
		}
		if s.Ref.Length > perdure.ShownLimit || s.Ref.Length > left {
			s.leaveOut(here)
			continue
		}
		left -= s.Ref.Length
		group.Go(func() error {
			if here {
				return e.putIn(ctx, x.ID, s)
			}
			return e.askFor(within, x, s)
		})
	}
	return group.Wait()
}

// holds reports whether the server has the content.
func (e *Engine) holds(ctx context.Context, x *perdure.Execution, ref perdure.BlobRef) (bool, error) {
	if x.PersistenceMode != perdure.Local {
		return true, nil
	}
	b, err := e.Store.BlobRow(ctx, x.ID, ref.ID)
	if perdure.IsCode(err, perdure.NotFound) {
		return false, nil
	}
	return err == nil && b.Held == b.Length, err
}

// OpenContent opens a content that is stored on the server; it returns nil if the content is on the
// execution's worker. The caller must close the reader.
func (e *Engine) OpenContent(ctx context.Context, x *perdure.Execution, ref perdure.BlobRef) (io.ReadCloser, error) {
	here, err := e.holds(ctx, x, ref)
	if err != nil || !here {
		return nil, err
	}
	return e.Store.Blob(ctx, x.ID, ref.ID)
}

func (e *Engine) putIn(ctx context.Context, execution uuid.UUID, s Shown) error {
	content, err := e.Store.Blob(ctx, execution, s.Ref.ID)
	if err != nil {
		return err
	}
	defer content.Close()
	whole := make([]byte, s.Ref.Length)
	if _, err := io.ReadFull(content, whole); err != nil {
		return &perdure.Error{Code: perdure.Internal, Message: "a blob is not all there", Err: err}
	}
	*s.Place = whole
	return nil
}

// askFor adds a content from the worker, or its length and hash if the worker does not send it in
// time.
func (e *Engine) askFor(within context.Context, x *perdure.Execution, s Shown) error {
	content, err := e.fetchWhole(within, x, *s.Ref)
	switch {
	case err == nil:
		*s.Place = content
	case perdure.IsCode(err, perdure.Internal) && within.Err() == nil:
		return err
	default:
		s.leaveOut(false)
	}
	return nil
}

// leaveOut sets length and hash of a content. If the server does not have it, leaveOut also sets
// the word that says that it is on the worker.
func (s Shown) leaveOut(here bool) {
	*s.Bytes, *s.Sum = s.Ref.Length, s.Ref.SHA256.String()
	if !here {
		*s.Place = perdure.OnWorker
	}
}
