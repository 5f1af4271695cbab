package homes

import (
	"context"
	"encoding/json"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"golang.org/x/sync/errgroup"
)

// Field describes one content in a reply to a client. The content to which Ref refers is written to
// Place. If the content is left out of the reply, the length and hash of the content are written to
// Bytes and Sum.
type Field struct {
	Place *json.RawMessage
	Ref   *perdure.BlobRef
	Bytes *int64
	Sum   *string
}

// Fill writes the contents of an execution into a reply. It reads them from the store's blobs or,
// if the execution's worker is connected, from that worker. It leaves out contents over
// [perdure.ShownLimit], and contents that would make the reply larger than a page. For a content
// that it leaves out, Fill sets length and hash, so that the client can request the content. If
// that content is on the worker, Place gets the value [perdure.OnWorker]. Error: internal, if the
// worker sent other bytes.
func (hs *Homes) Fill(ctx context.Context, x *perdure.Execution, all []Field) error {
	left := int64(store.PageBytes)
	within, cancel := context.WithTimeout(ctx, shownWithin)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(Fetches)
	for _, f := range all {
		if *f.Place != nil || f.Ref == nil {
			continue
		}
		here, err := hs.holds(ctx, x, *f.Ref)
		if err != nil {
			return err
		}
		if f.Ref.Length > perdure.ShownLimit || f.Ref.Length > left {
			f.leaveOut(here)
			continue
		}
		left -= f.Ref.Length
		group.Go(func() error {
			if here {
				return hs.putIn(ctx, x.ID, f)
			}
			return hs.askFor(within, x, f)
		})
	}
	return group.Wait()
}

// holds reports whether the server's store has a copy of the content.
func (hs *Homes) holds(ctx context.Context, x *perdure.Execution, ref perdure.BlobRef) (bool, error) {
	if x.PersistenceMode != perdure.Local {
		return true, nil
	}
	b, err := hs.store.BlobRow(ctx, x.ID, ref.ID)
	if perdure.IsCode(err, perdure.NotFound) {
		return false, nil
	}
	return err == nil && b.Held == b.Length, err
}

// OpenContent opens a content that is stored on the server; it returns nil if the content is on the
// execution's worker. The caller must close the reader.
func (hs *Homes) OpenContent(ctx context.Context, x *perdure.Execution, ref perdure.BlobRef) (io.ReadCloser, error) {
	here, err := hs.holds(ctx, x, ref)
	if err != nil || !here {
		return nil, err
	}
	return hs.store.Blob(ctx, x.ID, ref.ID)
}

func (hs *Homes) putIn(ctx context.Context, execution uuid.UUID, f Field) error {
	content, err := hs.stored(ctx, execution, *f.Ref)
	if err != nil {
		return err
	}
	*f.Place = content
	return nil
}

// Held returns a content that is stored on the server, or nil if only the execution's worker has the
// content. Errors: those of the store; internal.
func (hs *Homes) Held(ctx context.Context, execution uuid.UUID, ref perdure.BlobRef) ([]byte, error) {
	content, err := hs.stored(ctx, execution, ref)
	if perdure.IsCode(err, perdure.NotFound) {
		return nil, nil
	}
	return content, err
}

func (hs *Homes) stored(ctx context.Context, execution uuid.UUID, ref perdure.BlobRef) ([]byte, error) {
	r, err := hs.store.Blob(ctx, execution, ref.ID)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content := make([]byte, ref.Length)
	if _, err := io.ReadFull(r, content); err != nil {
		return nil, &perdure.Error{Code: perdure.Internal, Message: "a blob is not all there", Err: err}
	}
	return content, nil
}

// askFor requests a content from the worker and writes it into the reply. If the context `within`
// ends first, it writes the content's length and hash instead. Error: internal, if the worker sent
// other bytes.
func (hs *Homes) askFor(within context.Context, x *perdure.Execution, f Field) error {
	content, err := hs.FetchWhole(within, x, *f.Ref)
	switch {
	case err == nil:
		*f.Place = content
	case perdure.IsCode(err, perdure.Internal) && within.Err() == nil:
		return err
	default:
		f.leaveOut(false)
	}
	return nil
}

// leaveOut writes the length and hash of a content into the reply instead of the content. The
// parameter `here` says whether the server has the content. If `here` is false, Place gets the
// value [perdure.OnWorker].
func (f Field) leaveOut(here bool) {
	*f.Bytes, *f.Sum = f.Ref.Length, f.Ref.SHA256.String()
	if !here {
		*f.Place = perdure.OnWorker
	}
}
