package remote

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// PutBlob implements perdure.Dispatch. It does not retry, because the content can be read only once. Only
// one chunk of the content is in memory at a time.
func (c *Client) PutBlob(ctx context.Context, owner perdure.BlobOwner, length int64, content io.Reader) (perdure.BlobRef, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out, err := c.worker.PutBlob(ctx)
	if err != nil {
		return perdure.BlobRef{}, c.fail(ctx, err)
	}
	read, ended, err := upload(out, pbconv.BlobOwnerToProto(owner, length), content)
	if err != nil {
		return perdure.BlobRef{}, err
	}
	reply, err := out.CloseAndRecv()
	if err != nil {
		return perdure.BlobRef{}, cutShort(c.fail(ctx, err), read > length || ended && read < length)
	}
	ref, err := pbconv.BlobFromProto(reply.GetBlob())
	if err != nil || ref == nil {
		return perdure.BlobRef{}, err
	}
	return *ref, nil
}

// cutShort returns the error of an upload that ended with err. If the server says that the length
// is wrong, although the client has sent the right one, the connection has lost bytes, and the
// returned error is unavailable.
func cutShort(err error, wrongLength bool) error {
	var coded *perdure.Error
	if wrongLength || !errors.As(err, &coded) || coded.Code != perdure.InvalidArgument {
		return err
	}
	if slices.ContainsFunc(coded.Fields, func(f perdure.FieldError) bool { return f.Location == "length" }) {
		return &perdure.Error{Code: perdure.Unavailable, Message: "a content did not arrive whole; send it again", Err: err}
	}
	return err
}

// upload sends the header and the content. It returns how many bytes it read, and whether the
// content has ended. The error that it returns is a failure to read the content. If the server ends
// the call, upload returns no error, because the server's reply has the reason.
func upload(out perdurev1.WorkerDispatch_PutBlobClient, header *perdurev1.PutBlobHeader, content io.Reader) (read int64, ended bool, err error) {
	if out.Send(&perdurev1.PutBlobRequest{Part: &perdurev1.PutBlobRequest_Header{Header: header}}) != nil {
		return 0, false, nil
	}
	buf := make([]byte, perdure.BlobChunk)
	for {
		n, err := io.ReadFull(content, buf)
		read += int64(n)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return read, false, err
		}
		if n > 0 && out.Send(&perdurev1.PutBlobRequest{Part: &perdurev1.PutBlobRequest_Chunk{Chunk: buf[:n]}}) != nil || ended {
			return read, ended, nil
		}
	}
}

// GetBlob implements perdure.Dispatch. The caller must close the reader. If there is no such blob, GetBlob
// itself returns not_found, before anything is read.
func (c *Client) GetBlob(ctx context.Context, execution, blob uuid.UUID) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	in, err := c.worker.GetBlob(ctx, &perdurev1.GetBlobRequest{
		ExecutionId: pbconv.UUIDToProto(execution), BlobId: pbconv.UUIDToProto(blob),
	})
	if err != nil {
		cancel()
		return nil, c.fail(ctx, err)
	}
	r := &blobReader{c: c, ctx: ctx, cancel: cancel, in: in}
	// The first chunk or error shows whether the blob exists.
	if err := r.next(); err != nil && !errors.Is(err, io.EOF) {
		cancel()
		return nil, err
	}
	return r, nil
}

// blobReader reads a blob chunk by chunk, as the chunks arrive.
type blobReader struct {
	c      *Client
	ctx    context.Context
	cancel context.CancelFunc
	in     perdurev1.WorkerDispatch_GetBlobClient
	left   []byte
	err    error
}

func (r *blobReader) next() error {
	m, err := r.in.Recv()
	switch {
	case errors.Is(err, io.EOF):
		r.err = io.EOF
	case err != nil:
		r.err = r.c.fail(r.ctx, err)
	default:
		r.left = m.GetChunk()
	}
	return r.err
}

func (r *blobReader) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

func (r *blobReader) Close() error {
	r.cancel()
	return nil
}
