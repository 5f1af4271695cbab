package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Stream is the row of a general durable stream. Its content is only appended, never changed, and
// can be read from any position. It belongs to no execution. A position is the number of bytes
// before it.
type Stream struct {
	ID   uuid.UUID
	Org  string
	Path string // unique among the org's streams that are not deleted
	// ContentType is the content type given when the stream was created.
	ContentType string
	Tail        int64 // the position after all content
	Closed      bool
	// Seq is the last Stream-Seq of a writer; "" if no writer has sent one.
	Seq string
	// ClosedBy is the producer's append that closed the stream; nil if no producer closed it.
	ClosedBy  *StreamProducer
	CreatedAt perdure.Time
	// KeyID is the key that created the stream. The stream counts towards its limits.
	KeyID *uuid.UUID
}

// StreamProducer is the progress of a producer of a stream. It is stored as long as the stream, as
// one small row for each producer that has ever appended.
type StreamProducer struct {
	ID    string
	Epoch int64
	Seq   int64 // the last accepted one in that epoch
}

// StreamChange is a command's change to a stream. It commits as a whole, so a producer's state
// never covers content that is not stored.
type StreamChange struct {
	// Stream is the whole row, inserted or replaced. Its tail is the tail after Append.
	Stream Stream
	// Append holds the content to append, divided into rows. No row may be empty.
	Append [][]byte
	// Producer is inserted or replaced.
	Producer *StreamProducer
	// Delete marks the stream as deleted: readers and commands no longer see it, and its path is
	// free. Changes.DropStreams deletes its rows later.
	Delete bool
}

// StreamPiece is a row of a stream's content.
type StreamPiece struct {
	At      int64 // the position of the first byte
	Content []byte
}

// StreamReader reads durable streams.
type StreamReader interface {
	// Stream returns a stream by its path. Errors: not_found if there is none.
	Stream(ctx context.Context, org, path string) (*Stream, error)
	// StreamContent returns the rows of a stream with the content after the position, in order, and
	// the stream as of the same moment. It returns at most that many bytes, but at least one row if
	// there is any, and none for 0 bytes. The first row may begin before the position. Errors:
	// not_found once the stream is deleted.
	StreamContent(ctx context.Context, id uuid.UUID, after int64, bytes int) ([]StreamPiece, *Stream, error)
}
