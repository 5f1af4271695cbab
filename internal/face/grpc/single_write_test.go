package grpcapi_test

import (
	"crypto/sha256"
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	lease     = perdure.Lease{ExecutionID: uuid.MustParse("7d1f7a3c-6d8e-4f0a-9a55-0d6f0c1b2a3d"), Fence: 4, ClaimID: uuid.New()}
	wireLease = pbconv.LeaseToProto(lease)
)

func inline(s string) *perdurev1.Content { return &perdurev1.Content{Inline: []byte(s)} }

func TestSingleWritesAreCommitsOfOneCommand(t *testing.T) {
	w := start(t)
	ctx, conn := w.raw(t, "worker")
	agents := perdurev1.NewAgentDispatchClient(conn)
	entry, wait := uuid.New(), perdure.WaitSignal("userMessage")
	writes := map[string]struct {
		do   func() error
		want perdure.Commit
	}{
		"AppendEntry": {func() error {
			_, err := agents.AppendEntry(ctx, &perdurev1.AppendEntryRequest{Lease: wireLease, Number: 2, SignalIds: []string{"s1", "s2"}, Entry: &perdurev1.NewEntry{
				Entry: &perdurev1.Entry{Id: entry[:], EntryType: perdurev1.EntryType_ENTRY_TYPE_MESSAGE, Role: perdurev1.Role_ROLE_USER, Key: "signal:s1"}, Content: inline(`{"parts":[]}`),
			}})
			return err
		}, perdure.Commit{Take: []string{"s1", "s2"}, Entries: []perdure.NewEntry{{Entry: perdure.Entry{
			ID: entry, Type: perdure.EntryMessage, Role: perdure.RoleUser, Key: "signal:s1", Content: json.RawMessage(`{"parts":[]}`),
		}}}}},
		"SubmitCheckpoint": {func() error {
			_, err := agents.SubmitCheckpoint(ctx, &perdurev1.SubmitCheckpointRequest{Lease: wireLease, Number: 2, Checkpoint: &perdurev1.NewCheckpoint{State: inline(`1`), Reason: "turn"}})
			return err
		}, perdure.Commit{Checkpoint: &perdure.NewCheckpoint{State: perdure.Inline([]byte("1")), Reason: "turn"}}},
		"SuspendAgent": {func() error {
			_, err := agents.SuspendAgent(ctx, &perdurev1.SuspendAgentRequest{Lease: wireLease, Number: 2, Wait: &perdurev1.Wait{Signal: "userMessage"}})
			return err
		}, perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait}}},
		"CompleteAgent": {func() error {
			_, err := agents.CompleteAgent(ctx, &perdurev1.CompleteAgentRequest{Lease: wireLease, Number: 2, Output: inline(`{}`), Unless: []string{"userMessage"}})
			return err
		}, perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Inline([]byte("{}")), Unless: []string{"userMessage"}}}},
		"FailAgent": {func() error {
			_, err := agents.FailAgent(ctx, &perdurev1.FailAgentRequest{Lease: wireLease, Number: 2, Error: &perdurev1.TaskError{OtherCode: "mine", Message: "no"}})
			return err
		}, perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeFail, Error: &perdure.TaskError{Code: "mine", Message: "no"}}}},
		"ConsumeSignals": {func() error {
			_, err := agents.ConsumeSignals(ctx, &perdurev1.ConsumeSignalsRequest{Lease: wireLease, Number: 2, SignalIds: []string{"s1"}})
			return err
		}, perdure.Commit{Take: []string{"s1"}}},
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			if err := write.do(); err != nil {
				t.Fatal(err)
			}
			write.want.Lease, write.want.Number = lease, 2
			same(t, "the commit", any(write.want), w.fake.last(t))
		})
	}
}

func TestSingleWritesAreAnswered(t *testing.T) {
	w := start(t)
	ctx, conn := w.raw(t, "worker")
	agents := perdurev1.NewAgentDispatchClient(conn)
	appended, stored := uuid.New(), uuid.New()
	w.fake.answer = func(string, any) (any, error) {
		return perdure.CommitReply{CheckpointSeq: 9, Suspended: true, Adopted: map[uuid.UUID]uuid.UUID{appended: stored}}, nil
	}
	entry, err := agents.AppendEntry(ctx, &perdurev1.AppendEntryRequest{Lease: wireLease, Number: 1, Entry: &perdurev1.NewEntry{Entry: &perdurev1.Entry{Id: appended[:]}}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the id of the entry that has the key", stored[:], entry.GetEntryId())
	checkpoint, err := agents.SubmitCheckpoint(ctx, &perdurev1.SubmitCheckpointRequest{Lease: wireLease, Number: 1, Checkpoint: &perdurev1.NewCheckpoint{}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the checkpoint's number", int64(9), checkpoint.GetSequence())
	suspended, err := agents.SuspendAgent(ctx, &perdurev1.SuspendAgentRequest{Lease: wireLease, Number: 1, Wait: &perdurev1.Wait{Signal: "s"}})
	if err != nil || !suspended.GetCommit().GetSuspended() {
		t.Fatalf("the suspend was answered %v, %v", suspended, err)
	}
}

func TestASingleWriteNamesWhatIsMissing(t *testing.T) {
	w := start(t)
	ctx, conn := w.raw(t, "worker")
	agents := perdurev1.NewAgentDispatchClient(conn)
	for field, do := range map[string]func() error{
		"number": func() error {
			_, err := agents.ConsumeSignals(ctx, &perdurev1.ConsumeSignalsRequest{Lease: wireLease})
			return err
		},
		"entry.id": func() error {
			_, err := agents.AppendEntry(ctx, &perdurev1.AppendEntryRequest{Lease: wireLease, Number: 1})
			return err
		},
		"wait": func() error {
			_, err := agents.SuspendAgent(ctx, &perdurev1.SuspendAgentRequest{Lease: wireLease, Number: 1})
			return err
		},
		"error": func() error {
			_, err := agents.FailAgent(ctx, &perdurev1.FailAgentRequest{Lease: wireLease, Number: 1})
			return err
		},
		"checkpoint": func() error {
			_, err := agents.SubmitCheckpoint(ctx, &perdurev1.SubmitCheckpointRequest{Lease: wireLease, Number: 1})
			return err
		},
		"lease.execution_id": func() error {
			_, err := agents.CompleteAgent(ctx, &perdurev1.CompleteAgentRequest{Lease: &perdurev1.Lease{ExecutionId: []byte("short")}, Number: 1})
			return err
		},
	} {
		var coded *perdure.Error
		if err := pbconv.FromStatus(do()); !asError(err, &coded) || len(coded.Fields) != 1 || coded.Fields[0].Location != field {
			t.Errorf("without %s: %v", field, err)
		}
	}
	if len(w.fake.asked) != 0 {
		t.Errorf("%d commits got through", len(w.fake.asked))
	}
}

func TestScheduleAgentTaskDerivesTheKey(t *testing.T) {
	w := start(t)
	ctx, conn := w.raw(t, "worker")
	agents := perdurev1.NewAgentDispatchClient(conn)
	for name, c := range map[string]struct {
		size    int
		options *perdurev1.TaskOptions
	}{
		"small":          {100, nil},
		"large":          {200_000, &perdurev1.TaskOptions{Instance: "2"}},
		"with a own key": {100, &perdurev1.TaskOptions{Key: "mine"}},
	} {
		t.Run(name, func(t *testing.T) {
			input := jsonOf(c.size)
			response, err := schedule(ctx, agents, &perdurev1.ScheduleAgentTaskHeader{
				Lease: wireLease, Number: 3, Kind: "bash", Options: c.options, Length: int64(len(input)), Place: &perdurev1.Place{TurnId: "t"},
			}, input)
			if err != nil {
				t.Fatal(err)
			}
			key := perdure.CallerTaskKey(lease.ExecutionID, "bash", c.options.GetKey())
			if c.options.GetKey() == "" {
				key, _ = perdure.DefaultTaskKey(lease.ExecutionID, "bash", input, c.options.GetInstance())
			}
			id := perdure.TaskID(key)
			same(t, "the id", id[:], response.GetTaskId())
			commit := w.fake.last(t).(perdure.Commit)
			task := commit.Tasks[0]
			if commit.Lease != lease || commit.Number != 3 || task.Key != key || task.Kind != "bash" || task.InputHash != perdure.Hash(sha256.Sum256(input)) || task.Place.TurnID != "t" {
				t.Errorf("the commit is %+v", commit)
			}
			if (task.Input.Blob != nil) != (c.size > perdure.InlineLimit) {
				t.Errorf("an input of %d bytes came as %+v", c.size, task.Input.Blob)
			}
			same(t, "the input", []byte(input), resolve(t, w.fake, task.Input))
		})
	}
	_, err := schedule(ctx, agents, &perdurev1.ScheduleAgentTaskHeader{Lease: wireLease, Number: 3, Length: 1 << 40}, nil)
	if !perdure.IsCode(pbconv.FromStatus(err), perdure.PayloadTooLarge) {
		t.Errorf("a huge input gives %v", err)
	}
	_, err = schedule(ctx, agents, &perdurev1.ScheduleAgentTaskHeader{Lease: wireLease, Number: 3, Length: 5}, []byte("1"))
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("a short input gives %v", err)
	}
}
