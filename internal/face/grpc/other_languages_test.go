package grpcapi_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func asError(err error, target **perdure.Error) bool { return errors.As(err, target) }

// schedule schedules a task with the gRPC call that workers in other languages than Go use.
func schedule(ctx context.Context, agents perdurev1.AgentDispatchClient, header *perdurev1.ScheduleAgentTaskHeader, input []byte) (*perdurev1.ScheduleAgentTaskResponse, error) {
	stream, err := agents.ScheduleAgentTask(ctx)
	if err != nil {
		return nil, err
	}
	parts := []*perdurev1.ScheduleAgentTaskRequest{{Part: &perdurev1.ScheduleAgentTaskRequest_Header{Header: header}}}
	for len(input) > 0 {
		n := min(len(input), perdure.BlobChunk)
		parts = append(parts, &perdurev1.ScheduleAgentTaskRequest{Part: &perdurev1.ScheduleAgentTaskRequest_Chunk{Chunk: input[:n]}})
		input = input[n:]
	}
	for _, part := range parts {
		if stream.Send(part) != nil {
			break // the answer contains the reason
		}
	}
	return stream.CloseAndRecv()
}

func TestSignalsOfOtherLanguages(t *testing.T) {
	w := start(t)
	ctx, conn := w.raw(t, "worker")
	agents := perdurev1.NewAgentDispatchClient(conn)
	execution := uuid.New()
	w.backend.signal = func(org string, id uuid.UUID, name string, value perdure.Payload, signal string) (string, perdure.Status, error) {
		same(t, "the signal", []any{"acme", execution, "userMessage", `{"text":"hi"}`, "s1"}, []any{org, id, name, string(value.Bytes), signal})
		return "s1", perdure.StatusWaiting, nil
	}
	sent, err := agents.SignalAgent(ctx, &perdurev1.SignalAgentRequest{
		ExecutionId: execution[:], SignalName: "userMessage", SignalValue: []byte(`{"text":"hi"}`), SignalId: "s1",
	})
	if err != nil || sent.GetSignalId() != "s1" || sent.GetStatus() != perdurev1.ExecutionStatus_EXECUTION_STATUS_WAITING {
		t.Errorf("the signal was answered %v, %v", sent, err)
	}
	_, err = agents.SignalAgent(ctx, &perdurev1.SignalAgentRequest{ExecutionId: execution[:], SignalValue: make([]byte, 1<<20+1)})
	if status.Code(err) != codes.OutOfRange {
		t.Errorf("a huge value gives %v", err)
	}
	for _, pending := range []bool{false, true} {
		w.fake.answer = func(string, any) (any, error) { return make([]perdure.Signal, map[bool]int{true: 1}[pending]), nil }
		has, err := agents.HasSignal(ctx, &perdurev1.HasSignalRequest{ExecutionId: execution[:], SignalName: "user*"})
		if err != nil || has.GetPending() != pending {
			t.Errorf("HasSignal gave %v, %v", has, err)
		}
		same(t, "what was looked for", any(args{execution, []string{"user*"}, int64(0), 1}), w.fake.last(t))
	}
}

func TestGetLatestCheckpoint(t *testing.T) {
	w := start(t)
	ctx, conn := w.raw(t, "worker")
	agents := perdurev1.NewAgentDispatchClient(conn)
	execution := uuid.New()
	ask := func() *perdurev1.GetLatestCheckpointResponse {
		t.Helper()
		got, err := agents.GetLatestCheckpoint(ctx, &perdurev1.GetLatestCheckpointRequest{ExecutionId: execution[:]})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := ask(); got.GetCheckpoint() != nil {
		t.Errorf("before the first there is %v", got)
	}
	state := jsonOf(3 << 20)
	ref := w.fake.keep(state)
	w.backend.checkpoint = &perdure.Checkpoint{Sequence: 3, State: state, Blob: &ref}
	got := ask()
	if got.GetCheckpoint().GetSequence() != 3 || proto.Size(got) > roomy || got.GetCheckpoint().GetState().GetBlob().GetLength() != int64(len(state)) {
		t.Errorf("the checkpoint came with %d bytes as %v", proto.Size(got), got.GetCheckpoint().GetSequence())
	}
	w.fake.answer = func(string, any) (any, error) { return nil, perdure.Errorf(perdure.NotFound, "no such execution") }
	if _, err := agents.GetLatestCheckpoint(ctx, &perdurev1.GetLatestCheckpointRequest{ExecutionId: execution[:]}); status.Code(err) != codes.NotFound {
		t.Errorf("another org's execution gives %v", err)
	}
}

func TestStreamAgentData(t *testing.T) {
	w := start(t)
	ctx, conn := w.raw(t, "worker")
	var b block
	w.fake.appendFrames = func(_ context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
		if frames[0].Text == "late" {
			return []perdure.FrameReply{{Err: perdure.Errorf(perdure.LeaseLost, "over")}}, nil
		}
		return b.add(frames), nil
	}
	send := func(texts ...string) (*perdurev1.StreamAgentDataResponse, error) {
		stream, err := perdurev1.NewAgentDispatchClient(conn).StreamAgentData(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			frame := &perdurev1.Frame{AgentLease: wireLease, Block: 2, Type: perdurev1.EventType_EVENT_TYPE_TOKEN, Offset: int64(i * 3), Text: []byte(text)}
			if stream.Send(&perdurev1.StreamAgentDataRequest{Frames: []*perdurev1.Frame{frame}}) != nil {
				break
			}
		}
		return stream.CloseAndRecv()
	}
	got, err := send("abc", "def", "ghi")
	if err != nil || b.text != "abcdefghi" {
		t.Fatalf("the block is %q, %v", b.text, err)
	}
	want := []*perdurev1.BlockEnd{{Attempt: lease.Fence, Block: 2, Length: 9}}
	if len(got.GetHeld()) != 1 || !proto.Equal(got.GetHeld()[0], want[0]) {
		t.Errorf("the server holds %v", got.GetHeld())
	}
	if _, err := send("late"); status.Code(err) != codes.Aborted {
		t.Errorf("a refused frame gives %v", err)
	}
}
