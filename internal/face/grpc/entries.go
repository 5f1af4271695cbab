package grpcapi

import (
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
	"google.golang.org/protobuf/proto"
)

const (
	// batchEntries and batchBytes limit a message with several entries. Small entries are sent in
	// one message, because a message costs about as much as some kilobytes of content.
	batchEntries = 256
	batchBytes   = 128 << 10
)

// GetEntries streams the entries from the root to the requested entry. If an error occurs, the
// entries that were read before it are sent first.
func (s *agentService) GetEntries(m *perdurev1.GetEntriesRequest, out perdurev1.AgentDispatch_GetEntriesServer) error {
	q, err := pbconv.EntryQueryFromProto(m)
	if err != nil {
		return err
	}
	c := callerOf(out.Context())
	parts := parts{ctx: out.Context(), from: c, chunk: func(chunk []byte) error {
		return out.Send(&perdurev1.GetEntriesResponse{Part: &perdurev1.GetEntriesResponse_Chunk{Chunk: chunk}})
	}}
	to := entrySender{out: out, batches: m.GetBatches()}
	for entry, err := range c.Entries(out.Context(), q) {
		if err != nil {
			return to.flushBefore(err)
		}
		head := pbconv.EntryToProto(entry)
		follow, err := parts.detach(q.ExecutionID, head.GetContent())
		if err != nil {
			return to.flushBefore(err)
		}
		if err := to.add(head, follow); err != nil {
			return err
		}
	}
	return to.flush()
}

// entrySender sends entries. It sends them in batches if the client supports batches.
type entrySender struct {
	out     perdurev1.AgentDispatch_GetEntriesServer
	batches bool
	held    []*perdurev1.Entry
	bytes   int // size of the entries in held
}

// add sends an entry, or adds it to the batch. The function `follow` sends the entry's content; add
// calls it after the message with the entry was sent. `follow` is nil if the entry contains its
// content.
func (s *entrySender) add(e *perdurev1.Entry, follow func() error) error {
	if !s.batches {
		err := s.out.Send(&perdurev1.GetEntriesResponse{Part: &perdurev1.GetEntriesResponse_Entry{Entry: e}})
		if err == nil && follow != nil {
			err = follow()
		}
		return err
	}
	size := proto.Size(e)
	if s.bytes+size > batchBytes {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.held, s.bytes = append(s.held, e), s.bytes+size
	if follow == nil && len(s.held) < batchEntries {
		return nil
	}
	if err := s.flush(); err != nil || follow == nil {
		return err
	}
	return follow()
}

func (s *entrySender) flush() error {
	if len(s.held) == 0 {
		return nil
	}
	batch := &perdurev1.EntryBatch{Entries: s.held}
	s.held, s.bytes = nil, 0 // a new slice, because gRPC may still use the old one
	return s.out.Send(&perdurev1.GetEntriesResponse{Part: &perdurev1.GetEntriesResponse_Batch{Batch: batch}})
}

// flushBefore sends the batch. It then returns `cause`, which is the error that ends the stream.
func (s *entrySender) flushBefore(cause error) error {
	if err := s.flush(); err != nil {
		return err
	}
	return cause
}
