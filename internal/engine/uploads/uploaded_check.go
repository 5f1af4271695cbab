package uploads

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// largeContent is the length in bytes above which a content is large. Only one large content of an
// org is checked at a time.
const largeContent = 4 << 20

// Rule describes how an uploaded content is checked.
type Rule struct {
	What string // name of the content in errors
	// Scan checks the content while it is read, in constant memory. It runs before Whole, so that
	// Whole never decodes a content that is over a limit.
	Scan func(io.Reader) error
	// Whole, if set, checks the complete content in memory.
	Whole func(json.RawMessage) error
	// workersJSON reports whether the content must only satisfy the rules in the variable
	// workersJSON. If so, Check does not read a content in the uploadCache again, because the
	// content was checked by these rules during its upload.
	workersJSON bool
}

// Check checks an uploaded content. The result `checked` is false if the upload is incomplete. The
// result `refused` is the error if the content breaks the rule, and `err` is the error if the
// content cannot be read.
func (u *Uploads) Check(ctx context.Context, org string, execution, blob uuid.UUID, c Rule) (checked bool, refused, err error) {
	b, err := u.store.BlobRow(ctx, execution, blob)
	if perdure.IsCode(err, perdure.NotFound) || err == nil && b.Held != b.Length {
		return false, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	if err := u.CheckSize(c.What, b.Length); err != nil {
		return false, nil, err
	}
	if c.workersJSON && u.cache.has(blob) {
		return true, nil, nil
	}
	if b.Length > largeContent {
		done, err := u.large.ofOrg(ctx, org)
		if err != nil {
			return false, nil, notRead(c.What, err)
		}
		defer done()
	}
	if refused, err := u.scanUploaded(ctx, execution, b, c); refused != nil || err != nil || c.Whole == nil {
		return true, refused, err
	}
	refused, err = u.checkWhole(ctx, execution, b, c)
	return true, refused, err
}

func notRead(what string, cause error) error {
	return &perdure.Error{Code: perdure.Unavailable, Message: what + " could not be read in time", Err: cause}
}

func (u *Uploads) scanUploaded(ctx context.Context, execution uuid.UUID, b *store.Blob, c Rule) (refused, err error) {
	content, err := u.store.Blob(ctx, execution, b.ID)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	read := &readFailure{Reader: content}
	refused = c.Scan(read)
	if read.err != nil {
		return nil, notRead(c.What, read.err)
	}
	return refused, nil
}

// readFailure is a reader that records the error of a failed read, to distinguish it from an error
// of the content.
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
func (u *Uploads) checkWhole(ctx context.Context, execution uuid.UUID, b *store.Blob, c Rule) (refused, err error) {
	if b.Length > largeContent {
		done, err := u.large.ofAll(ctx)
		if err != nil {
			return nil, notRead(c.What, err)
		}
		defer done()
	}
	content, err := u.store.Blob(ctx, execution, b.ID)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	value := make([]byte, b.Length)
	if _, err := io.ReadFull(content, value); err != nil {
		return nil, notRead(c.What, err)
	}
	return c.Whole(value), nil
}
