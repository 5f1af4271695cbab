package uploads

import (
	"context"
	"errors"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// uploadPiece is the number of bytes of a content in one transaction. Larger pieces make an upload
// faster, because each piece waits until the previous one is on disk. But they need more memory,
// because each upload has one piece in memory.
const uploadPiece = 4 * perdure.BlobChunk

// upload is a content that is being stored. Its method Read returns the bytes and also stores them,
// in pieces.
type upload struct {
	to      *Uploads
	ctx     context.Context
	org     string
	owner   perdure.BlobOwner
	ref     perdure.BlobRef
	content io.Reader
	stored  int64
	buf     []byte // bytes that are read but not stored yet
	err     error
}

func (u *Uploads) newUpload(ctx context.Context, org string, owner perdure.BlobOwner, length int64, content io.Reader) *upload {
	return &upload{
		to: u, ctx: ctx, org: org, owner: owner, ref: perdure.BlobRef{ID: uuid.New(), Length: length}, content: content,
		buf: make([]byte, 0, min(uploadPiece, max(1, length))),
	}
}

// Read implements [io.Reader]: it reads the content, up to the announced length.
func (u *upload) Read(p []byte) (int, error) {
	n := copy(p, u.next(len(p)))
	if n == 0 && u.done() {
		return 0, io.EOF
	}
	return n, u.err
}

func (u *upload) done() bool { return u.err == nil && u.stored == u.ref.Length }

// next reads and returns at most `most` bytes of the content. It stores the bytes when they fill a
// piece or the content is complete. The returned bytes are valid until the next call.
func (u *upload) next(most int) []byte {
	if u.err != nil || u.done() {
		return nil
	}
	at := u.stored + int64(len(u.buf))
	room := u.buf[len(u.buf):cap(u.buf)]
	n, err := u.content.Read(room[:min(int64(len(room)), int64(most), u.ref.Length-at)])
	u.buf, at = u.buf[:len(u.buf)+n], at+int64(n)
	switch {
	case len(u.buf) == cap(u.buf) || at == u.ref.Length:
		u.err = u.store()
	case err != nil:
		u.err = shortContent(err, at, u.ref.Length)
	}
	return room[:n]
}

// store stores the bytes in buf as the next piece.
func (u *upload) store() (err error) {
	if u.ref.SHA256, err = u.to.putChunk(u.ctx, u.org, u.owner, u.ref, u.stored, u.buf); err == nil {
		u.stored, u.buf = u.stored+int64(len(u.buf)), u.buf[:0]
	}
	return err
}

// finish reads and stores the rest of the content. Error: invalid_argument, if the content is
// longer or shorter than announced.
func (u *upload) finish() error {
	for u.err == nil && !u.done() {
		u.next(uploadPiece)
	}
	if u.err != nil {
		return u.err
	}
	if n, _ := u.content.Read(make([]byte, 1)); n > 0 {
		return perdure.FieldErrorf("length", "the content goes on after the %d bytes that were announced", u.ref.Length)
	}
	return nil
}

func shortContent(err error, got, want int64) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return perdure.FieldErrorf("length", "the content ended after %d of %d bytes", got, want)
	}
	return err
}
