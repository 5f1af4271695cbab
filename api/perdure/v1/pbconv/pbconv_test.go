package pbconv

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv/pbconvtest"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"
)

// roundTrip checks that values of D are unchanged after conversion to M, encoding, decoding and
// conversion back. It checks one value with all fields set, and values with random fields. If
// messages omit some fields of D, the function `stays` clears these fields before the conversion;
// otherwise `stays` is nil.
func roundTrip[D any, M proto.Message](t *testing.T, to func(D) M, from func(M) (D, error), stays func(*D)) {
	t.Helper()
	check := func(t interface{ Fatalf(string, ...any) }, f pbconvtest.Filler) {
		want := pbconvtest.Fill[D](f)
		if stays != nil {
			stays(&want)
		}
		raw, err := proto.Marshal(to(want))
		if err != nil {
			t.Fatalf("%T does not encode: %v", want, err)
		}
		m := (*new(M)).ProtoReflect().New().Interface().(M)
		if err := proto.Unmarshal(raw, m); err != nil {
			t.Fatalf("%T does not decode: %v", want, err)
		}
		got, err := from(m)
		if err != nil {
			t.Fatalf("%T is refused: %v", want, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%T changed on the wire (-sent +received):\n%s", want, diff)
		}
	}
	check(t, pbconvtest.Filler{Rand: rand.New(rand.NewPCG(1, 1)), Full: true})
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		check(rt, pbconvtest.Filler{Rand: rand.New(rand.NewPCG(seed, 2))})
	})
}

func TestEveryFieldSurvivesTheWire(t *testing.T) {
	t.Run("execution", func(t *testing.T) {
		roundTrip(t, func(x perdure.Execution) *perdurev1.Execution { return ExecutionToProto(&x) },
			deref(ExecutionFromProto), stayOnServer)
	})
	t.Run("checkpoint", func(t *testing.T) {
		roundTrip(t, func(c perdure.Checkpoint) *perdurev1.Checkpoint { return CheckpointToProto(&c) }, deref(CheckpointFromProto), nil)
	})
	t.Run("entry", func(t *testing.T) { roundTrip(t, EntryToProto, EntryFromProto, nil) })
	t.Run("signal", func(t *testing.T) { roundTrip(t, SignalToProto, SignalFromProto, nil) })
	t.Run("task", func(t *testing.T) {
		roundTrip(t, func(task perdure.Task) *perdurev1.Task { return TaskToProto(&task) }, deref(TaskFromProto), nil)
	})
	t.Run("agent claim", func(t *testing.T) {
		roundTrip(t, func(c perdure.AgentClaim) *perdurev1.AgentClaim { return AgentClaimToProto(&c) },
			deref(AgentClaimFromProto), func(c *perdure.AgentClaim) {
				if c.Execution != nil {
					stayOnServer(c.Execution)
				}
			})
	})
	t.Run("task claim", func(t *testing.T) { roundTrip(t, TaskClaimToProto, TaskClaimFromProto, nil) })
	t.Run("commit", func(t *testing.T) {
		roundTrip(t, CommitToProto, CommitFromProto, func(c *perdure.Commit) {
			c.Offer.Embedded = false
			for i := range c.Entries {
				c.Entries[i].Entry.Blob = nil // a message has only NewEntry's own Blob
			}
		})
	})
	t.Run("commit reply", func(t *testing.T) { roundTrip(t, CommitReplyToProto, CommitReplyFromProto, nil) })
	t.Run("finish", func(t *testing.T) {
		roundTrip(t, FinishToProto, FinishFromProto, func(f *perdure.TaskFinish) { f.Embedded = false })
	})
	t.Run("error", func(t *testing.T) {
		roundTrip(t, func(e perdure.Error) *perdurev1.Error { return ErrorToProto(&e) },
			func(m *perdurev1.Error) (perdure.Error, error) { return *ErrorFromProto(m), nil }, nil)
	})
}

func TestEveryFieldOfAWorkerSurvivesTheWire(t *testing.T) {
	t.Run("registration", func(t *testing.T) {
		roundTrip(t, func(r perdure.Registration) *perdurev1.RegisterRequest {
			m, err := RegistrationToProto(r)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}, RegistrationFromProto, func(r *perdure.Registration) {
			r.Embedded = false
			for _, k := range append(slices.Clone(r.Agents), r.Tasks...) {
				for i := range k.Endpoints {
					k.Endpoints[i].Queue = "" // only the server sets it
				}
			}
		})
	})
	t.Run("settings", func(t *testing.T) { roundTrip(t, SettingsToProto, SettingsFromProto, nil) })
	notEmbedded := func(p *perdure.Poll) { p.Embedded = false }
	t.Run("poll agents", func(t *testing.T) {
		roundTrip(t, PollAgentsToProto, PollFromProto[*perdurev1.PollAgentRequest], notEmbedded)
	})
	t.Run("poll tasks", func(t *testing.T) {
		roundTrip(t, PollTasksToProto, PollFromProto[*perdurev1.PollTaskRequest], func(p *perdure.Poll) {
			notEmbedded(p)
			p.Ended = false // a poll for tasks does not have this field
		})
	})
	t.Run("ended page", func(t *testing.T) { roundTrip(t, EndedToProto, EndedFromProto, nil) })
	t.Run("ended query", func(t *testing.T) { roundTrip(t, EndedQueryToProto, EndedQueryFromProto, nil) })
	t.Run("heartbeat", func(t *testing.T) { roundTrip(t, HeartbeatToProto, HeartbeatFromProto, nil) })
	t.Run("heartbeat reply", func(t *testing.T) { roundTrip(t, HeartbeatReplyToProto, HeartbeatReplyFromProto, nil) })
	t.Run("release", func(t *testing.T) { roundTrip(t, ReleaseToProto, ReleaseFromProto, nil) })
	t.Run("entry query", func(t *testing.T) { roundTrip(t, EntryQueryToProto, EntryQueryFromProto, nil) })
	t.Run("frames", func(t *testing.T) {
		roundTrip(t, func(frames []perdure.Frame) *perdurev1.StreamDataRequest {
			return &perdurev1.StreamDataRequest{Frames: FramesToProto(frames)}
		}, func(m *perdurev1.StreamDataRequest) ([]perdure.Frame, error) { return FramesFromProto(m.GetFrames()) }, nil)
	})
	t.Run("frame reply", func(t *testing.T) {
		roundTrip(t, FrameReplyToProto, func(m *perdurev1.FrameReply) (perdure.FrameReply, error) {
			return FrameRepliesFromProto([]*perdurev1.FrameReply{m})[0], nil
		}, nil)
	})
	t.Run("blob owner", func(t *testing.T) {
		roundTrip(t, func(o perdure.BlobOwner) *perdurev1.PutBlobHeader { return BlobOwnerToProto(o, 1) }, BlobOwnerFromProto, nil)
	})
}

func stayOnServer(x *perdure.Execution) {
	x.Answer, x.NextSignal = nil, 0
	x.ReadyAt, x.NotBefore, x.CancelBy, x.CheckpointAt = perdure.Time{}, perdure.Time{}, perdure.Time{}, perdure.Time{}
}

func deref[M, D any](from func(M) (*D, error)) func(M) (D, error) {
	return func(m M) (D, error) {
		v, err := from(m)
		if err != nil {
			return *new(D), err
		}
		return *v, nil
	}
}

func TestAnEmptyAllStaysApartFromNone(t *testing.T) {
	want := &perdure.Wait{All: []perdure.Wait{}}
	got, err := WaitFromProto(waitToProto(want))
	if err != nil || got.All == nil || got.Any != nil {
		t.Fatalf("the wait for nothing became %+v, %v", got, err)
	}
}

func TestWhatAMessageCannotHoldIsRefused(t *testing.T) {
	cases := map[string]struct {
		m     *perdurev1.CommitRequest
		field string
	}{
		"an id of 15 bytes":                   {&perdurev1.CommitRequest{Lease: &perdurev1.Lease{ExecutionId: make([]byte, 15)}}, "lease.execution_id"},
		"a hash of 3 bytes":                   {&perdurev1.CommitRequest{Tasks: []*perdurev1.NewTask{{InputHash: []byte("abc")}}}, "tasks.input_hash"},
		"an attempt that is no number of one": {&perdurev1.CommitRequest{Blocks: []*perdurev1.BlockEnd{{Attempt: 1 << 40}}}, "blocks.attempt"},
		"an unknown enum number":              {&perdurev1.CommitRequest{Outcome: &perdurev1.Outcome{Kind: 99}}, "outcome.kind"},
		"a time beyond the calendar": {&perdurev1.CommitRequest{Outcome: &perdurev1.Outcome{
			Wait: &perdurev1.Wait{Timer: &timestamppb.Timestamp{Nanos: -1}},
		}}, "wait.timer"},
		"a duration that is none": {&perdurev1.CommitRequest{Tasks: []*perdurev1.NewTask{{
			Options: &perdurev1.TaskOptions{BackoffBase: &durationpb.Duration{Seconds: 1, Nanos: -1}},
		}}}, "options.backoff_base"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := CommitFromProto(c.m)
			var coded *perdure.Error
			if !errors.As(err, &coded) || coded.Code != perdure.InvalidArgument || coded.Fields[0].Location != c.field {
				t.Fatalf("got %v, want invalid_argument at %s", err, c.field)
			}
		})
	}
}

func TestTextThatIsNotUTF8Encodes(t *testing.T) {
	message := perdure.TaskError{Code: perdure.Internal, Message: "exit \xff status"}
	raw, err := proto.Marshal(FinishToProto(perdure.TaskFinish{Error: &message}))
	if err != nil || len(raw) == 0 {
		t.Fatalf("a task's error with a broken byte cannot be sent: %v", err)
	}
	frame := perdure.Frame{Text: "\xff\xfe"}
	got, err := FramesFromProto([]*perdurev1.Frame{FrameToProto(frame)})
	if err != nil || got[0].Text != frame.Text {
		t.Fatalf("a frame's bytes moved: %+v, %v", got, err)
	}
}

func TestNoTaskIsNil(t *testing.T) {
	got, err := TaskFromProto(TaskToProto(nil))
	if err != nil || got != nil {
		t.Fatalf("no task became %v, %v", got, err)
	}
	if _, err := UUIDFromProto("id", UUIDToProto(uuid.Nil)); err != nil {
		t.Fatal(err)
	}
}
