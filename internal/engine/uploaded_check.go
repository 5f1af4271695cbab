package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// largeContent is the length above which the contents of an org are checked one at
// a time.
const largeContent = 4 << 20

// uploadedCheck is how an uploaded content is checked.
type uploadedCheck struct {
	what string // for errors
	// scan checks the content as it is read, in constant memory. It comes first, so
	// that whole decodes nothing that is out of bounds.
	scan func(io.Reader) error
	// whole, if set, checks the content in memory.
	whole func(json.RawMessage) error
	// workersJSON says that it has to be JSON by those rules, and nothing else.
	workersJSON bool
}

// checkUploaded checks an uploaded content. It reports whether it did, which it does
// not where the content is not there whole, and why the content is refused; err says
// why it could not be read.
func (e *Engine) checkUploaded(ctx context.Context, org string, execution, blob uuid.UUID, c uploadedCheck) (checked bool, refused, err error) {
	b, err := e.Store.BlobRow(ctx, execution, blob)
	if perdure.IsCode(err, perdure.NotFound) || err == nil && b.Held != b.Length {
		return false, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	if err := e.checkSize(c.what, b.Length); err != nil {
		return false, nil, err
	}
	if c.workersJSON && e.passed.has(blob) {
		return true, nil, nil
	}
	if b.Length > largeContent {
		done, err := e.large.ofOrg(ctx, org)
		if err != nil {
			return false, nil, notRead(c.what, err)
		}
		defer done()
	}
	if refused, err := e.scanUploaded(ctx, execution, b, c); refused != nil || err != nil || c.whole == nil {
		return true, refused, err
	}
	refused, err = e.checkWhole(ctx, execution, b, c)
	return true, refused, err
}

func notRead(what string, cause error) error {
	return &perdure.Error{Code: perdure.Unavailable, Message: what + " could not be read in time", Err: cause}
}

func (e *Engine) scanUploaded(ctx context.Context, execution uuid.UUID, b *store.Blob, c uploadedCheck) (refused, err error) {
	content, err := e.Store.Blob(ctx, execution, b.ID)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	read := &readFailure{Reader: content}
	refused = c.scan(read)
	if read.err != nil {
		return nil, notRead(c.what, read.err)
	}
	return refused, nil
}

// readFailure notes why a reading failed, which is no fault of the content.
type readFailure struct {
	io.Reader
	err error
}

func (r *readFailure) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// checkWhole checks a content in memory, where one large content is at a time.
func (e *Engine) checkWhole(ctx context.Context, execution uuid.UUID, b *store.Blob, c uploadedCheck) (refused, err error) {
	if b.Length > largeContent {
		done, err := e.large.ofAll(ctx)
		if err != nil {
			return nil, notRead(c.what, err)
		}
		defer done()
	}
	content, err := e.Store.Blob(ctx, execution, b.ID)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	value := make([]byte, b.Length)
	if _, err := io.ReadFull(content, value); err != nil {
		return nil, notRead(c.what, err)
	}
	return c.whole(value), nil
}
