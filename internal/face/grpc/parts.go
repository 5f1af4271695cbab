package grpcapi

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// parts sends messages about one execution, each followed by chunks of the contents that are too
// large for the message.
type parts struct {
	ctx   context.Context
	from  perdure.Dispatch
	chunk func([]byte) error
	mode  perdure.PersistenceMode // the execution's mode; "" until it was read
}

// send sends one message with the function `head`, and then the contents that are too large for the
// message or are stored in a blob.
func (p *parts) send(execution uuid.UUID, head func() error, contents ...*perdurev1.Content) error {
	var following []func() error
	for _, m := range contents {
		follow, err := p.detach(execution, m)
		if err != nil {
			return err
		}
		if follow != nil {
			following = append(following, follow)
		}
	}
	if err := head(); err != nil {
		return err
	}
	for _, follow := range following {
		if err := follow(); err != nil {
			return err
		}
	}
	return nil
}

// detach removes a large content from its message, and returns the function that sends the content.
// It returns nil if the content stays in the message.
func (p *parts) detach(execution uuid.UUID, m *perdurev1.Content) (follow func() error, err error) {
	switch {
	case m == nil || m.Inline != nil && len(m.Inline) <= perdure.InlineLimit:
		return nil, nil
	case m.Inline != nil:
		content, length := m.Inline, int64(len(m.Inline))
		m.Inline, m.Follows = nil, &length
		return func() error { return sendChunks(bytes.NewReader(content), length, p.chunk) }, nil
	}
	if withheld, err := p.withheld(execution, m); withheld || err != nil {
		return nil, err
	}
	ref := m.GetBlob()
	length := ref.GetLength()
	m.Follows = &length
	return func() error { return p.sendBlob(execution, ref) }, nil
}

// withheld reports whether only the execution's worker stores a content, so that the server cannot
// send it. The reference does not show this: it stays the same when the execution is promoted and
// the server stores the content.
func (p *parts) withheld(execution uuid.UUID, m *perdurev1.Content) (bool, error) {
	ref, err := pbconv.BlobFromProto(m.GetBlob())
	if err != nil || ref == nil || ref.ID != perdure.ContentID(execution, ref.SHA256) {
		return false, err
	}
	if p.mode == "" {
		x, err := p.from.Execution(p.ctx, execution)
		if err != nil {
			return false, err
		}
		p.mode = x.PersistenceMode
	}
	return p.mode == perdure.Local, nil
}

func (p *parts) sendBlob(execution uuid.UUID, ref *perdurev1.BlobRef) error {
	id, err := pbconv.UUIDFromProto("blob", ref.GetId())
	if err != nil {
		return err
	}
	content, err := p.from.GetBlob(p.ctx, execution, id)
	if err != nil {
		return err
	}
	defer content.Close()
	return sendChunks(content, ref.GetLength(), p.chunk)
}

// sendChunks sends a content in chunks: `length` bytes, or the whole content if the parameter
// `length` is -1.
func sendChunks(content io.Reader, length int64, send func([]byte) error) error {
	buf := make([]byte, perdure.BlobChunk)
	sent := int64(0)
	for sent != length {
		piece := buf
		if length >= 0 {
			piece = buf[:min(int64(len(buf)), length-sent)]
		}
		n, err := io.ReadFull(content, piece)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return err
		}
		if n > 0 {
			if err := send(piece[:n]); err != nil {
				return err
			}
			sent += int64(n)
		}
		if ended {
			break
		}
	}
	if length >= 0 && sent != length {
		return perdure.Errorf(perdure.Internal, "a content of %d bytes ended after %d", length, sent)
	}
	return nil
}
