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

// largeContent is the length in bytes above which the contents of an org are checked one at a time.
const largeContent = 4 << 20

// uploadedCheck describes how an uploaded content is checked.
type uploadedCheck struct {
	what string // for errors
	// scan checks the content while it is read, in constant memory. It runs first, so that whole
	// never decodes a content that is over a limit.
	scan func(io.Reader) error
	// whole, if set, checks the content in memory.
	whole func(json.RawMessage) error
	// workersJSON reports that the check is only that the content is JSON by the workersJSON rules.
	workersJSON bool
}

// checkUploaded checks an uploaded content. checked is false if the upload is incomplete. refused
// is the reason why the content is refused. err is the reason why it could not be read.
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

// readFailure records the error of a failed read, which is not a fault of the content.
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

// checkWhole checks a content in memory. Only one large content is in memory at a time.
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
