package grpcapi

import (
	"bytes"
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// This file implements the calls for workers that commit one change at a time. Each such call
// contains exactly one command.

// largestSignal is the maximum size in bytes of a signal's value in the message itself.
const largestSignal = 1 << 20

// one sends the engine a commit with a single change. The function `add` adds the change to the
// commit.
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
	signals, err := callerOf(ctx).Signals(ctx, id, []string{m.GetSignalName()}, 0, 1)
	return &perdurev1.HasSignalResponse{Pending: len(signals) > 0}, err
}

func (s *agentService) SignalAgent(ctx context.Context, m *perdurev1.SignalAgentRequest) (*perdurev1.SignalAgentResponse, error) {
	id, err := pbconv.UUIDFromProto("execution_id", m.GetExecutionId())
	if err != nil {
		return nil, err
	}
	value, err := signalValue(m)
	if err != nil {
		return nil, err
	}
	signal, status, err := s.backend.Signal(ctx, callerOf(ctx).Org, id, m.GetSignalName(), value, m.GetSignalId())
	if err != nil {
		return nil, err
	}
	return &perdurev1.SignalAgentResponse{SignalId: signal, Status: pbconv.StatusToProto(status)}, nil
}

// signalValue returns the signal's value: the bytes in the message, or the blob that was uploaded.
func signalValue(m *perdurev1.SignalAgentRequest) (perdure.Payload, error) {
	value := m.GetSignalValue()
	switch {
	case len(value) > largestSignal:
		return perdure.Payload{}, perdure.Errorf(perdure.PayloadTooLarge,
			"the value has %d bytes; in the message it may have %d, larger ones go ahead with PutBlob and are named by signal_value_blob", len(value), largestSignal)
	case len(value) > 0 && len(m.GetSignalValueBlob()) > 0:
		return perdure.Payload{}, perdure.FieldErrorf("signal_value_blob", "stands in place of signal_value; give one of them")
	case len(value) > 0:
		return perdure.Inline(value), nil
	case len(m.GetSignalValueBlob()) > 0:
		id, err := pbconv.UUIDFromProto("signal_value_blob", m.GetSignalValueBlob())
		return perdure.Payload{Blob: &perdure.BlobRef{ID: id}}, err
	}
	return perdure.Payload{}, nil
}

func (s *agentService) GetLatestCheckpoint(ctx context.Context, m *perdurev1.GetLatestCheckpointRequest) (*perdurev1.GetLatestCheckpointResponse, error) {
	id, err := pbconv.UUIDFromProto("execution_id", m.GetExecutionId())
	if err != nil {
		return nil, err
	}
	c := callerOf(ctx)
	// The call fails if the execution does not exist. An execution without a checkpoint is no
	// error.
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
