package durablestream

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// The functions of this file that decide about a request are pure. The committer may therefore run
// them again with newer state.

// creation is a PUT request, which creates a stream.
type creation struct {
	org, path   string
	id          uuid.UUID // the id of the stream if it is created
	contentType string
	rows        [][]byte
	closed      bool
	key         *uuid.UUID // the creator's key; nil without one
}

// roomFor returns an error if a write of the rows exceeds the storage limits of the key that
// created the stream. Errors: rate_limited.
func roomFor(st *store.State, rows [][]byte) error {
	if k := st.Limited; k != nil && k.Use != nil && len(rows) > 0 {
		return k.Limits.Store(*k.Use, length(rows))
	}
	return nil
}

// outcome is the result of a command that creates, changes or deletes a stream.
type outcome struct {
	stream store.Stream // the stream after the command
	made   bool         // the command created the stream
	// stored is set if the command wrote something. It is false for a repeat of a command that was
	// stored before.
	stored   bool
	producer *store.StreamProducer // after an append that names a producer
}

// decideCreate creates a stream. If the stream exists already, it must have the requested properties;
// its content may differ.
func (s *Streams) decideCreate(st *store.State, c creation) (*store.Changes, error) {
	x := st.Stream
	switch {
	case x == nil:
		if st.Streams >= s.most {
			return nil, s.full(st.Streams)
		}
		if err := roomFor(st, c.rows); err != nil {
			return nil, err
		}
		made := store.Stream{
			ID: c.id, Org: c.org, Path: c.path, ContentType: c.contentType, Tail: length(c.rows), Closed: c.closed, CreatedAt: st.Now, KeyID: c.key,
		}
		return &store.Changes{
			Stream: &store.StreamChange{Stream: made, Append: c.rows},
			Answer: outcome{stream: made, made: true, stored: true},
		}, nil
	case !sameType(x.ContentType, c.contentType):
		return nil, refuse(http.StatusConflict, perdure.AlreadyExists, "there is a stream at this path with the content type %s", x.ContentType)
	case x.Closed && !c.closed:
		return nil, s.closed(x)
	case c.closed && !x.Closed:
		return nil, refuse(http.StatusConflict, perdure.AlreadyExists, "there is a stream at this path that is not closed")
	}
	return &store.Changes{Answer: outcome{stream: *x}}, nil
}

// full returns the error for an org that already has the maximum number of streams. The parameter
// `there` is the number that the org has.
func (s *Streams) full(there int) error {
	return &perdure.Error{Code: perdure.RateLimited, RetryAfter: time.Minute, Message: fmt.Sprintf(
		"the org has %d streams, and may have %d; delete some (DELETE /v1/stream/{path}), or have the servers started with a higher --streams-per-org", there, s.most)}
}

// addition is a POST request to a stream: it appends content, closes the stream, or both.
type addition struct {
	path        string
	contentType string // "" if there are no rows
	rows        [][]byte
	seq         string // the writer's Stream-Seq; "" without one
	closes      bool
	producer    *store.StreamProducer // the producer that the request names; nil without one
}

// decideAppend appends content, closes the stream, or recognises a request that was already stored.
// It reports a closed stream before any fault of the request, so that the client always learns of the
// end.
func (s *Streams) decideAppend(st *store.State, a addition) (*store.Changes, error) {
	x := st.Stream
	switch {
	case x == nil:
		return nil, noStream(a.path)
	case x.Closed:
		return s.appendClosed(st, a)
	case len(a.rows) > 0 && !sameType(x.ContentType, a.contentType):
		return nil, refuse(http.StatusConflict, perdure.Conflict, "the stream's content type is %s", x.ContentType)
	}
	if a.producer != nil {
		known, err := admit(st.Producer, *a.producer)
		if err != nil {
			return nil, err
		}
		if known {
			return &store.Changes{Answer: outcome{stream: *x, producer: st.Producer}}, nil
		}
	}
	if a.seq != "" && a.seq <= x.Seq {
		return nil, refuse(http.StatusConflict, perdure.Conflict, "the last Stream-Seq was %q, which %q does not follow", x.Seq, a.seq)
	}
	if err := roomFor(st, a.rows); err != nil {
		return nil, err
	}
	now := *x
	now.Tail += length(a.rows)
	if a.seq != "" {
		now.Seq = a.seq
	}
	if a.closes {
		now.Closed, now.ClosedBy = true, a.producer
	}
	return &store.Changes{
		Stream: &store.StreamChange{Stream: now, Append: a.rows, Producer: a.producer},
		Answer: outcome{stream: now, stored: true, producer: a.producer},
	}, nil
}

// appendClosed handles a POST request to a closed stream. It accepts a repeated close, and refuses
// everything else.
func (s *Streams) appendClosed(st *store.State, a addition) (*store.Changes, error) {
	x := st.Stream
	again := a.closes && len(a.rows) == 0
	if a.producer != nil {
		again = x.ClosedBy != nil && *x.ClosedBy == *a.producer
	}
	if !again {
		return nil, s.closed(x)
	}
	return &store.Changes{Answer: outcome{stream: *x, producer: a.producer}}, nil
}

func (s *Streams) closed(x *store.Stream) *Refusal {
	return refuse(http.StatusConflict, perdure.Conflict, "the stream is closed").
		with(headerClosed, "true").with(headerNext, s.offset(x, x.Tail))
}

// admit reports whether the append p of a producer was stored before, where last is the newest stored
// append of the producer, nil if there is none. It returns an error if the append may not be stored
// now.
func admit(last *store.StreamProducer, p store.StreamProducer) (known bool, err error) {
	expected := int64(0)
	switch {
	case last == nil:
	case p.Epoch < last.Epoch:
		return false, refuse(http.StatusForbidden, perdure.PermissionDenied,
			"another run of the producer has begun epoch %d: this one's is over", last.Epoch).number(headerEpoch, last.Epoch)
	case p.Epoch > last.Epoch && p.Seq != 0:
		return false, perdure.FieldErrorf(headerSeq, "must be 0 in a new epoch")
	case p.Epoch == last.Epoch && p.Seq <= last.Seq:
		return true, nil
	case p.Epoch == last.Epoch:
		expected = last.Seq + 1
	}
	if p.Seq != expected {
		return false, refuse(http.StatusConflict, perdure.Conflict, "the producer's next Producer-Seq is %d, not %d", expected, p.Seq).
			number(headerExpected, expected).number(headerReceived, p.Seq)
	}
	return false, nil
}

// decideDelete marks a stream as deleted.
func decideDelete(st *store.State, path string) (*store.Changes, error) {
	if st.Stream == nil {
		return nil, noStream(path)
	}
	return &store.Changes{
		Stream: &store.StreamChange{Stream: *st.Stream, Delete: true},
		Answer: outcome{stream: *st.Stream, stored: true},
	}, nil
}

func length(rows [][]byte) (n int64) {
	for _, row := range rows {
		n += int64(len(row))
	}
	return n
}
