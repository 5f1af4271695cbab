package grpcapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// The calls of one command, for workers that commit piece by piece.

// largestSignal is the most bytes of a signal's value in a message.
const largestSignal = 1 << 20

// one commits what add puts into a commit of the lease.
func one(ctx context.Context, lease *perdurev1.Lease, number int64, add func(*perdure.Commit) error) (*perdurev1.CommitResponse, error) {
	if number < 1 {
		return nil, perdure.FieldErrorf("number", "must be the number of the commit, from 1 in each claim")
	}
	l, err := pbconv.LeaseFromProto(lease)
	if err != nil {
		return nil, err
	}
	commit := perdure.Commit{Lease: l, Number: number}
	if err := add(&commit); err != nil {
		return nil, err
	}
	return doCommit(ctx, commit)
}

func (s *agentService) AppendEntry(ctx context.Context, m *perdurev1.AppendEntryRequest) (*perdurev1.AppendEntryResponse, error) {
	stored := m.GetEntry().GetEntry().GetId()
	answer, err := one(ctx, m.GetLease(), m.GetNumber(), func(c *perdure.Commit) error {
		entry, err := pbconv.NewEntryFromProto(m.GetEntry())
		if err == nil && entry.ID == uuid.Nil {
			err = perdure.FieldErrorf("entry.id", "must be a random UUID, made by the worker")
		}
		c.Entries, c.Take = []perdure.NewEntry{entry}, m.GetSignalIds()
		return err
	})
	for _, adopted := range answer.GetAdopted() {
		if bytes.Equal(adopted.GetAppendedId(), stored) {
			stored = adopted.GetStoredId()
			break
		}
	}
	return &perdurev1.AppendEntryResponse{EntryId: stored, Commit: answer}, err
}

func (s *agentService) SubmitCheckpoint(ctx context.Context, m *perdurev1.SubmitCheckpointRequest) (*perdurev1.SubmitCheckpointResponse, error) {
	answer, err := one(ctx, m.GetLease(), m.GetNumber(), func(c *perdure.Commit) (err error) {
		c.Checkpoint, err = pbconv.NewCheckpointFromProto(m.GetCheckpoint())
		if err == nil && c.Checkpoint == nil {
			err = perdure.FieldErrorf("checkpoint", "must be given")
		}
		return err
	})
	return &perdurev1.SubmitCheckpointResponse{Sequence: answer.GetCheckpointSeq(), Commit: answer}, err
}

func (s *agentService) SuspendAgent(ctx context.Context, m *perdurev1.SuspendAgentRequest) (*perdurev1.SuspendAgentResponse, error) {
	answer, err := one(ctx, m.GetLease(), m.GetNumber(), func(c *perdure.Commit) error {
		wait, err := pbconv.WaitFromProto(m.GetWait())
		if err == nil && wait == nil {
			err = perdure.FieldErrorf("wait", "must be given")
		}
		c.Outcome = perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: wait}
		return err
	})
	return &perdurev1.SuspendAgentResponse{Commit: answer}, err
}

func (s *agentService) CompleteAgent(ctx context.Context, m *perdurev1.CompleteAgentRequest) (*perdurev1.CompleteAgentResponse, error) {
	answer, err := one(ctx, m.GetLease(), m.GetNumber(), func(c *perdure.Commit) error {
		output, err := pbconv.PayloadFromProto(m.GetOutput())
		c.Outcome = perdure.Outcome{Kind: perdure.OutcomeComplete, Output: output, Unless: m.GetUnless()}
		return err
	})
	return &perdurev1.CompleteAgentResponse{Commit: answer}, err
}

func (s *agentService) FailAgent(ctx context.Context, m *perdurev1.FailAgentRequest) (*perdurev1.FailAgentResponse, error) {
	answer, err := one(ctx, m.GetLease(), m.GetNumber(), func(c *perdure.Commit) error {
		why, err := pbconv.TaskErrorFromProto(m.GetError())
		if err == nil && why == nil {
			err = perdure.FieldErrorf("error", "must be given")
		}
		c.Outcome = perdure.Outcome{Kind: perdure.OutcomeFail, Error: why}
		return err
	})
	return &perdurev1.FailAgentResponse{Commit: answer}, err
}

func (s *agentService) ConsumeSignals(ctx context.Context, m *perdurev1.ConsumeSignalsRequest) (*perdurev1.ConsumeSignalsResponse, error) {
	answer, err := one(ctx, m.GetLease(), m.GetNumber(), func(c *perdure.Commit) error {
		c.Take = m.GetSignalIds()
		return nil
	})
	return &perdurev1.ConsumeSignalsResponse{Commit: answer}, err
}

func (s *agentService) HasSignal(ctx context.Context, m *perdurev1.HasSignalRequest) (*perdurev1.HasSignalResponse, error) {
	id, err := pbconv.UUIDFromProto("execution_id", m.GetExecutionId())
	if err != nil {
		return nil, err
	}
	signals, err := callerOf(ctx).Signals(ctx, id, []string{m.GetSignalName()}, 1)
	return &perdurev1.HasSignalResponse{Pending: len(signals) > 0}, err
}

func (s *agentService) SignalAgent(ctx context.Context, m *perdurev1.SignalAgentRequest) (*perdurev1.SignalAgentResponse, error) {
	id, err := pbconv.UUIDFromProto("execution_id", m.GetExecutionId())
	if err != nil {
		return nil, err
	}
	value := m.GetSignalValue()
	if len(value) > largestSignal {
		return nil, perdure.Errorf(perdure.PayloadTooLarge, "the value has %d bytes; a signal by gRPC has at most %d, the REST API takes larger ones", len(value), largestSignal)
	}
	if len(value) == 0 {
		value = nil
	}
	signal, status, err := s.backend.Signal(ctx, callerOf(ctx).Org, id, m.GetSignalName(), value, m.GetSignalId())
	if err != nil {
		return nil, err
	}
	return &perdurev1.SignalAgentResponse{SignalId: signal, Status: pbconv.StatusToProto(status)}, nil
}

func (s *agentService) GetLatestCheckpoint(ctx context.Context, m *perdurev1.GetLatestCheckpointRequest) (*perdurev1.GetLatestCheckpointResponse, error) {
	id, err := pbconv.UUIDFromProto("execution_id", m.GetExecutionId())
	if err != nil {
		return nil, err
	}
	c := callerOf(ctx)
	// An execution without a checkpoint has none; one that is not the org's is
	// not found.
	if _, err := c.Execution(ctx, id); err != nil {
		return nil, err
	}
	checkpoint, err := s.backend.LatestCheckpoint(ctx, c.Org, id)
	if err != nil && !perdure.IsCode(err, perdure.NotFound) {
		return nil, err
	}
	reply := &perdurev1.GetLatestCheckpointResponse{Checkpoint: pbconv.CheckpointToProto(checkpoint)}
	if state := reply.GetCheckpoint().GetState(); state.GetBlob() != nil && len(state.GetInline()) > perdure.InlineLimit {
		state.Inline = nil
	}
	return reply, nil
}

func (s *agentService) ScheduleAgentTask(stream perdurev1.AgentDispatch_ScheduleAgentTaskServer) error {
	first, err := stream.Recv()
	if err != nil {
		return noHeader(err)
	}
	header := first.GetHeader()
	if header == nil {
		return noHeader(io.EOF)
	}
	input, err := s.receiveInput(stream, header.GetLength())
	if err != nil {
		return err
	}
	ctx := stream.Context()
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

// receiveInput collects the chunks. The whole is needed at once, for the key is
// a hash of its canonical form.
func (s *agentService) receiveInput(stream perdurev1.AgentDispatch_ScheduleAgentTaskServer, length int64) ([]byte, error) {
	if length < 0 || length > s.limit {
		return nil, perdure.Errorf(perdure.PayloadTooLarge, "the input has %d bytes; the limit is %d", length, s.limit)
	}
	var input []byte
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if input = append(input, m.GetChunk()...); int64(len(input)) > length {
			return nil, perdure.FieldErrorf("length", "the input goes on after the %d bytes that were announced", length)
		}
	}
	if int64(len(input)) < length {
		return nil, perdure.FieldErrorf("length", "the input ended after %d of %d bytes", len(input), length)
	}
	return input, nil
}

func newTask(ctx context.Context, lease perdure.Lease, m *perdurev1.ScheduleAgentTaskHeader, input []byte) (perdure.NewTask, error) {
	options, err := pbconv.TaskOptionsFromProto(m.GetOptions())
	if err != nil {
		return perdure.NewTask{}, err
	}
	task := perdure.NewTask{
		Kind: m.GetKind(), InputHash: sha256.Sum256(input), Options: options, Place: pbconv.PlaceFromProto(m.GetPlace()),
		Input: perdure.Inline(input),
	}
	if options.Key != "" {
		task.Key = perdure.CallerTaskKey(lease.ExecutionID, task.Kind, options.Key)
	} else if task.Key, err = perdure.DefaultTaskKey(lease.ExecutionID, task.Kind, input, options.Instance); err != nil {
		return perdure.NewTask{}, err
	}
	if len(input) > perdure.InlineLimit {
		owner := perdure.BlobOwner{ExecutionID: lease.ExecutionID, Lease: &lease}
		ref, err := callerOf(ctx).PutBlob(ctx, owner, int64(len(input)), bytes.NewReader(input))
		if err != nil {
			return perdure.NewTask{}, err
		}
		task.Input = perdure.Payload{Blob: &ref}
	}
	return task, nil
}
