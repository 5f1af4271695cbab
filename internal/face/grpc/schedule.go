package grpcapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"

	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// largestKeyed is the maximum size in bytes of the input of a task that is scheduled without a task
// key. The server reads such an input into memory to derive the key from its canonical form.
const largestKeyed = 1 << 20

func (s *agentService) ScheduleAgentTask(stream perdurev1.AgentDispatch_ScheduleAgentTaskServer) error {
	first, err := stream.Recv()
	if err != nil {
		return noHeader(err)
	}
	header := first.GetHeader()
	if header == nil {
		return noHeader(io.EOF)
	}
	if err := s.checkInput(header); err != nil {
		return err
	}
	ctx := stream.Context()
	input := &chunkReader{next: func() ([]byte, error) {
		m, err := stream.Recv()
		return m.GetChunk(), err
	}}
	var key string
	answer, err := one(ctx, header.GetLease(), header.GetNumber(), func(c *perdure.Commit) error {
		task, err := newTask(ctx, c.Lease, header, input)
		c.Tasks, c.Place, key = []perdure.NewTask{task}, task.Place, task.Key
		return err
	})
	if err != nil {
		return err
	}
	id := perdure.TaskID(key)
	return stream.SendAndClose(&perdurev1.ScheduleAgentTaskResponse{TaskId: pbconv.UUIDToProto(id), Commit: answer})
}

// checkInput returns an error if a task's input is too large. It checks the size in the header,
// before any byte of the input is read.
func (s *agentService) checkInput(m *perdurev1.ScheduleAgentTaskHeader) error {
	length := m.GetLength()
	switch {
	case length < 0:
		return perdure.FieldErrorf("length", "must be how many bytes the input has")
	case length > s.limit:
		return perdure.Errorf(perdure.PayloadTooLarge, "the input has %d bytes; the limit is %d", length, s.limit)
	case length > largestKeyed && m.GetOptions().GetKey() == "":
		return perdure.Errorf(perdure.PayloadTooLarge,
			"the input has %d bytes; without options.key it may have %d, since the server has to hash its canonical form", length, largestKeyed)
	}
	return nil
}

// receiveInput reads the whole input of a task, if it is small enough to be kept in memory.
func receiveInput(input io.Reader, length int64) ([]byte, error) {
	whole := make([]byte, length)
	n, err := io.ReadFull(input, whole)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, perdure.FieldErrorf("length", "the input ended after %d of %d bytes", n, length)
	}
	if err != nil {
		return nil, err
	}
	if n, _ := input.Read(make([]byte, 1)); n > 0 {
		return nil, perdure.FieldErrorf("length", "the input goes on after the %d bytes that were announced", length)
	}
	return whole, nil
}

// newTask reads the input of a new task and returns the task. A large input is stored in a blob
// while it is read.
func newTask(ctx context.Context, lease perdure.Lease, m *perdurev1.ScheduleAgentTaskHeader, input io.Reader) (perdure.NewTask, error) {
	options, err := pbconv.TaskOptionsFromProto(m.GetOptions())
	if err != nil {
		return perdure.NewTask{}, err
	}
	task := perdure.NewTask{Kind: m.GetKind(), Options: options, Place: pbconv.PlaceFromProto(m.GetPlace())}
	if options.Key != "" {
		task.Key = perdure.CallerTaskKey(lease.ExecutionID, task.Kind, options.Key)
	}
	if m.GetLength() <= largestKeyed {
		whole, err := receiveInput(input, m.GetLength())
		if err != nil {
			return task, err
		}
		if options.Key == "" {
			if task.Key, err = perdure.DefaultTaskKey(lease.ExecutionID, task.Kind, whole, options.Instance); err != nil {
				return task, err
			}
		}
		if len(whole) <= perdure.InlineLimit {
			task.Input, task.InputHash = perdure.Inline(whole), sha256.Sum256(whole)
			return task, nil
		}
		input = bytes.NewReader(whole)
	}
	owner := perdure.BlobOwner{ExecutionID: lease.ExecutionID, Lease: &lease}
	ref, err := callerOf(ctx).PutBlob(ctx, owner, m.GetLength(), input)
	if err != nil {
		return task, err
	}
	task.Input, task.InputHash = perdure.Payload{Blob: &ref}, ref.SHA256
	return task, nil
}
