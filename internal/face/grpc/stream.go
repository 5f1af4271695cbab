package grpcapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// inFlight is the maximum number of batches of one stream that are appended at the same time. The
// stream is not read while this many are being appended.
const inFlight = 16

// StreamData appends the batches of events and text that a worker streams. The reply to a refused
// batch contains the error, and the stream stays open.
func (s *workerService) StreamData(stream perdurev1.WorkerDispatch_StreamDataServer) error {
	ctx := stream.Context()
	batches, broken := receive(ctx, stream)
	free := make(chan struct{}, inFlight)
	var running sync.WaitGroup
	defer running.Wait()
	var sending sync.Mutex
	for {
		select {
		case m := <-batches:
			free <- struct{}{}
			running.Go(func() {
				defer func() { <-free }()
				reply := s.append(ctx, m)
				sending.Lock()
				defer sending.Unlock()
				// An error of Send is ignored: if the stream is broken, the loop also gets the
				// error of reading it.
				_ = stream.Send(reply)
			})
		case err := <-broken:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.draining:
			return perdure.Errorf(perdure.Unavailable, "the server stops; send again what was not answered")
		}
	}
}

// receive reads the stream in a goroutine, so that the handler can return although no message
// arrives. The goroutine ends soon afterwards, because the stream ends when the handler returns.
func receive(ctx context.Context, stream perdurev1.WorkerDispatch_StreamDataServer) (<-chan *perdurev1.StreamDataRequest, <-chan error) {
	batches, broken := make(chan *perdurev1.StreamDataRequest), make(chan error, 1)
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				broken <- err
				return
			}
			select {
			case batches <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	return batches, broken
}

// append appends one batch to the log and returns the reply to the worker.
func (s *workerService) append(ctx context.Context, m *perdurev1.StreamDataRequest) (reply *perdurev1.StreamDataResponse) {
	const method = perdurev1.WorkerDispatch_StreamData_FullMethodName
	reply = &perdurev1.StreamDataResponse{Id: m.GetId()}
	refuse := func(err error) {
		reply.Replies = nil
		reply.Error = pbconv.ErrorToProto(s.answers.shown(ctx, method, err))
	}
	defer func() {
		if reason := recover(); reason != nil {
			refuse(fmt.Errorf("panic: %v\n%s", reason, debug.Stack()))
		}
	}()
	frames, err := pbconv.FramesFromProto(m.GetFrames())
	if err != nil {
		refuse(err)
		return reply
	}
	answered, err := callerOf(ctx).Append(ctx, frames)
	if err != nil {
		refuse(err)
		return reply
	}
	for _, r := range answered {
		if r.Err != nil {
			r.Err = s.answers.shown(ctx, method, r.Err)
		}
		reply.Replies = append(reply.Replies, pbconv.FrameReplyToProto(r))
	}
	return reply
}

func (s *agentService) StreamAgentData(stream perdurev1.AgentDispatch_StreamAgentDataServer) error {
	var held heldBlocks
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(held.response())
		}
		if err != nil {
			return err
		}
		frames, err := pbconv.FramesFromProto(m.GetFrames())
		if err != nil {
			return err
		}
		replies, err := callerOf(stream.Context()).Append(stream.Context(), frames)
		if err != nil {
			return err
		}
		if err := held.note(frames, replies); err != nil {
			return err
		}
	}
}

// heldBlocks collects, for each block that was written, how many bytes of it the server has stored.
type heldBlocks struct {
	order  []perdure.BlockKey
	length map[perdure.BlockKey]int64
}

// note records the replies to frames. It returns the error of the first refused frame.
func (h *heldBlocks) note(frames []perdure.Frame, replies []perdure.FrameReply) error {
	if h.length == nil {
		h.length = map[perdure.BlockKey]int64{}
	}
	for i, r := range replies {
		if r.Err != nil {
			return r.Err
		}
		if i >= len(frames) || frames[i].Fields != nil {
			continue
		}
		key := blockOf(frames[i])
		if _, known := h.length[key]; !known {
			h.order = append(h.order, key)
		}
		h.length[key] = r.Held
	}
	return nil
}

func (h *heldBlocks) response() *perdurev1.StreamAgentDataResponse {
	m := &perdurev1.StreamAgentDataResponse{}
	for _, key := range h.order {
		m.Held = append(m.Held, pbconv.BlockEndToProto(perdure.BlockEnd{Key: key, Length: h.length[key]}))
	}
	return m
}

// blockOf returns the key of the block that a frame belongs to.
func blockOf(f perdure.Frame) perdure.BlockKey {
	if f.Lease != nil {
		return perdure.BlockKey{TaskID: f.Lease.TaskID, Attempt: int64(f.Lease.Attempt), Block: f.Block}
	}
	key := perdure.BlockKey{TaskID: uuid.Nil, Block: f.Block}
	if f.AgentLease != nil {
		key.Attempt = f.AgentLease.Fence
	}
	return key
}
