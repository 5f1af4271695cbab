package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Stream is the row of a general durable stream, which belongs to no execution. Its content only
// grows and can be read from any position. A position is a number of bytes from the start.
type Stream struct {
	ID   uuid.UUID
	Org  string
	Path string // unique among the org's streams that are not deleted
	// ContentType is the media type of the content. It was set when the stream was created.
	ContentType string
	Tail        int64 // the position after the last byte of the content
	Closed      bool
	// Seq is the last value of the header Stream-Seq that a writer has sent; "" if no writer has
	// sent one.
	Seq string
	// ClosedBy identifies the append by which a producer closed the stream. It is nil if no producer
	// has closed it.
	ClosedBy  *StreamProducer
	CreatedAt perdure.Time
	// KeyID is the id of the API key that created the stream. The stream counts against the limits
	// of that key.
	KeyID *uuid.UUID
}

// StreamProducer is the progress of one producer that appends to a stream. Each producer that has
// ever appended to the stream has one small row, which is stored as long as the stream.
type StreamProducer struct {
	ID    string
	Epoch int64
	Seq   int64 // the last accepted sequence number in Epoch
}

// StreamChange is the change that a command makes to a stream. All fields are committed in one
// transaction, so the stored progress of a producer never includes content that is not stored.
type StreamChange struct {
	// Stream is the stream's row, to be inserted or replaced. Its Tail must already include the
	// content in Append.
	Stream Stream
	// Append is the content to append, as one element for each row. No row may be empty.
	Append [][]byte
	// Producer is the row of the appending producer, to be inserted or replaced.
	Producer *StreamProducer
	// Delete marks the stream as deleted: readers and commands no longer see it, and its path is
	// free. Changes.DropStreams deletes its rows later.
	Delete bool
}

// StreamPiece is one row of the content of a stream.
type StreamPiece struct {
	At      int64 // the position of the piece's first byte
	Content []byte
}

// StreamReader reads durable streams.
type StreamReader interface {
	// Stream returns a stream by its path. Errors: not_found if there is none.
	Stream(ctx context.Context, org, path string) (*Stream, error)
	// StreamContent returns the rows that contain the content of a stream after a position, in
	// order. It also returns the stream's own row at the same moment. The parameter `bytes` limits
	// the total size of the rows, but at least one row is returned if there is any. If `bytes` is
	// 0, no row is returned. The first row may begin before the position. Errors: not_found once
	// the stream is deleted.
	StreamContent(ctx context.Context, id uuid.UUID, after int64, bytes int) ([]StreamPiece, *Stream, error)
}
