package store

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Stream is the row of a general durable stream: content that is appended,
// never changed, and read from any position. It belongs to no execution. A
// position is the number of bytes before it.
type Stream struct {
	ID   uuid.UUID
	Org  string
	Path string // unique among the org's streams that are not deleted
	// ContentType is as the stream's creation said it.
	ContentType string
	Tail        int64 // the position after all content
	Closed      bool
	// Seq is the last Stream-Seq of a writer, "" if none gave one.
	Seq string
	// ClosedBy is the producer's append that closed the stream, if one did.
	ClosedBy  *StreamProducer
	CreatedAt perdure.Time
	// KeyID is the key that it was made with, whose limits count it.
	KeyID *uuid.UUID
}

// StreamProducer is how far a producer of a stream has come. It is kept as long
// as the stream: one small row for each producer that ever appended.
type StreamProducer struct {
	ID    string
	Epoch int64
	Seq   int64 // the last that was accepted, in that epoch
}

// StreamChange is what a command decided on a stream. All of it commits at
// once: a producer's state never tells of content that is not there.
type StreamChange struct {
	// Stream is the whole row, inserted or replaced, with the tail as it is
	// after Append.
	Stream Stream
	// Append holds what follows the tail as it was, cut into the rows in which
	// it rests. None of them is empty.
	Append [][]byte
	// Producer is inserted or replaced.
	Producer *StreamProducer
	// Delete marks the stream: no reader and no command sees it from then on,
	// and its path is free. Its rows go with Changes.DropStreams.
	Delete bool
}

// StreamPiece is a row of a stream's content.
type StreamPiece struct {
	At      int64 // the position where it begins
	Content []byte
}
