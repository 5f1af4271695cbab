package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Stream is the row of a general durable stream, which belongs to no execution. Its content is only
// appended, never changed, and can be read from any position. A position is a number of bytes from
// the start.
type Stream struct {
	ID   uuid.UUID
	Org  string
	Path string // unique among the org's streams that are not deleted
	// ContentType is the content type given when the stream was created.
	ContentType string
	Tail        int64 // the position after the last byte of the content
	Closed      bool
	// Seq is the last Stream-Seq of a writer; "" if no writer has sent one.
	Seq string
	// ClosedBy identifies the append by which a producer closed the stream. It is nil if no producer
	// has closed it.
	ClosedBy  *StreamProducer
	CreatedAt perdure.Time
	// KeyID is the API key that created the stream. The stream counts towards the limits of that
	// key.
	KeyID *uuid.UUID
}

// StreamProducer is the progress of a producer of a stream. It is one small row for each producer
// that has ever appended. The row is stored as long as the stream.
type StreamProducer struct {
	ID    string
	Epoch int64
	Seq   int64 // the last accepted sequence number in Epoch
}

// StreamChange is a command's change to a stream. All of it is committed at once, so a producer's
// progress never includes content that is not stored.
type StreamChange struct {
	// Stream is the whole row, to be inserted or replaced. Its tail is the tail after Append.
	Stream Stream
	// Append is the content to append, as one element for each row. No row may be empty.
	Append [][]byte
	// Producer is the new progress of the appending producer; its row is inserted or replaced.
	Producer *StreamProducer
	// Delete marks the stream as deleted: readers and commands no longer see it, and its path is
	// free. Changes.DropStreams deletes its rows later.
	Delete bool
}

// StreamPiece is a row of a stream's content.
type StreamPiece struct {
	At      int64 // the position of the piece's first byte
	Content []byte
}

// StreamReader reads durable streams.
type StreamReader interface {
	// Stream returns a stream by its path. Errors: not_found if there is none.
	Stream(ctx context.Context, org, path string) (*Stream, error)
	// StreamContent returns the rows of a stream with the content after the position, in order, and
	// the stream's row at the same moment. It returns at most the given number of bytes, but always
	// one row if there is any. For 0 bytes it returns none. The first row may begin before the
	// position. Errors: not_found once the stream is deleted.
	StreamContent(ctx context.Context, id uuid.UUID, after int64, bytes int) ([]StreamPiece, *Stream, error)
}
