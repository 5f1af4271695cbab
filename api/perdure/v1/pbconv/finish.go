package pbconv

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// pollMessage has the getters that the messages of agent polls and task polls share.
type pollMessage interface {
	GetWorkerId() []byte
	GetQueues() []string
	GetKinds() []string
	GetSlots() int64
	GetWait() *durationpb.Duration
	GetLocal() bool
	GetFeatures() []string
}

// ReleaseToProto converts a release of claims to its message.
func ReleaseToProto(r perdure.Release) *perdurev1.ReleaseRequest {
	return &perdurev1.ReleaseRequest{
		WorkerId: UUIDToProto(r.WorkerID),
		Agents: each(r.Agents, func(a perdure.AgentRelease) *perdurev1.AgentRelease {
			return &perdurev1.AgentRelease{Lease: LeaseToProto(a.Lease), Panic: text(a.Panic), Unfit: text(a.Unfit)}
		}),
		Tasks: each(r.Tasks, func(t perdure.TaskRelease) *perdurev1.TaskRelease {
			return &perdurev1.TaskRelease{Lease: taskLeaseToProto(t.Lease), Started: t.Started}
		}),
		Discarded: each(r.Discarded, UUIDToProto),
	}
}

// ReleaseFromProto converts a release of claims from its message. Errors: invalid_argument.
func ReleaseFromProto(m *perdurev1.ReleaseRequest) (perdure.Release, error) {
	return decode(m, func(d *decoder, m *perdurev1.ReleaseRequest) perdure.Release {
		return perdure.Release{
			WorkerID: d.id("worker_id", m.GetWorkerId()),
			Agents: each(m.GetAgents(), func(a *perdurev1.AgentRelease) perdure.AgentRelease {
				return perdure.AgentRelease{Lease: d.lease(a.GetLease()), Panic: a.GetPanic(), Unfit: a.GetUnfit()}
			}),
			Tasks: each(m.GetTasks(), func(t *perdurev1.TaskRelease) perdure.TaskRelease {
				return perdure.TaskRelease{Lease: d.taskLease(t.GetLease()), Started: t.GetStarted()}
			}),
			Discarded: each(m.GetDiscarded(), func(id []byte) uuid.UUID { return d.id("discarded", id) }),
		}
	})
}

// FinishToProto converts the end of an attempt to its message.
func FinishToProto(f perdure.TaskFinish) *perdurev1.FinishTaskRequest {
	return &perdurev1.FinishTaskRequest{
		WorkerId: UUIDToProto(f.WorkerID), Lease: taskLeaseToProto(f.Lease),
		Result: PayloadToProto(f.Result), Error: taskErrorToProto(f.Error),
		Blocks: each(f.Blocks, BlockEndToProto), Events: each(f.Events, newEventToProto), Parked: f.Parked,
		Kept: keptToProto(f.Retained), Features: f.Features.Names(),
	}
}

// FinishFromProto converts the end of an attempt from its message. Errors: invalid_argument.
func FinishFromProto(m *perdurev1.FinishTaskRequest) (perdure.TaskFinish, error) {
	return decode(m, func(d *decoder, m *perdurev1.FinishTaskRequest) perdure.TaskFinish {
		return perdure.TaskFinish{
			WorkerID: d.id("worker_id", m.GetWorkerId()), Lease: d.taskLease(m.GetLease()),
			Result: d.payload("result", m.GetResult()), Error: d.taskError(m.GetError()),
			Blocks: each(m.GetBlocks(), d.blockEnd), Events: each(m.GetEvents(), d.newEvent), Parked: m.GetParked(),
			Retained: d.kept(m.GetKept()), Features: perdure.FeaturesOf(m.GetFeatures()),
		}
	})
}

// FrameToProto converts a frame (a streamed event or chunk of a block) to its message. It replaces
// invalid UTF-8 in all strings except Text, which is sent as bytes. Many frames are sent in one
// message, and a frame that cannot be encoded would block the others.
func FrameToProto(f perdure.Frame) *perdurev1.Frame {
	f.Place = perdure.Place{
		ResponseID: text(f.Place.ResponseID), TurnID: text(f.Place.TurnID),
		MessageID: text(f.Place.MessageID), ToolCallID: text(f.Place.ToolCallID),
	}
	return &perdurev1.Frame{
		Lease: taskLeasePtrToProto(f.Lease), AgentLease: leasePtrToProto(f.AgentLease),
		Block: f.Block, Type: eventTypes.to[f.Type], Place: placeToProto(f.Place),
		Offset: f.Offset, Text: []byte(f.Text), Stream: text(f.Stream), ToolCallId: text(f.ToolCallID),
		Close: f.Close, Reason: blockReasons.to[f.Reason], Fields: f.Fields,
		Sha256: hashToProto(f.Sum),
	}
}

// FramesToProto converts frames to their messages.
func FramesToProto(frames []perdure.Frame) []*perdurev1.Frame { return each(frames, FrameToProto) }

// FramesFromProto converts frames from their messages. Errors: invalid_argument.
func FramesFromProto(list []*perdurev1.Frame) ([]perdure.Frame, error) {
	return decode(list, func(d *decoder, list []*perdurev1.Frame) []perdure.Frame { return each(list, d.frame) })
}

func (d *decoder) frame(m *perdurev1.Frame) perdure.Frame {
	return perdure.Frame{
		Lease: d.taskLeasePtr(m.GetLease()), AgentLease: d.leasePtr(m.GetAgentLease()),
		Block: m.GetBlock(), Type: read(d, eventTypes, "frames.type", m.GetType()), Place: PlaceFromProto(m.GetPlace()),
		Offset: m.GetOffset(), Text: string(m.GetText()), Stream: m.GetStream(), ToolCallID: m.GetToolCallId(),
		Close: m.GetClose(), Reason: read(d, blockReasons, "frames.reason", m.GetReason()), Fields: raw(m.GetFields()),
		Sum: d.hash("frames.sha256", m.GetSha256()),
	}
}

// FrameReplyToProto converts the reply to a frame to its message.
func FrameReplyToProto(r perdure.FrameReply) *perdurev1.FrameReply {
	return &perdurev1.FrameReply{Held: r.Held, Error: ErrorToProto(r.Err)}
}

// FrameRepliesFromProto converts the replies to frames from their messages.
func FrameRepliesFromProto(list []*perdurev1.FrameReply) []perdure.FrameReply {
	return each(list, func(m *perdurev1.FrameReply) perdure.FrameReply {
		return perdure.FrameReply{Held: m.GetHeld(), Err: ErrorFromProto(m.GetError())}
	})
}

// EntryQueryToProto converts a request for a path of entries to its message.
func EntryQueryToProto(q perdure.EntryQuery) *perdurev1.GetEntriesRequest {
	return &perdurev1.GetEntriesRequest{
		ExecutionId: UUIDToProto(q.ExecutionID), LeafEntryId: UUIDToProto(q.Leaf),
		AfterEntryId: idPtrToProto(q.After), Newest: int64(q.Newest), Context: q.Context,
	}
}

// EntryQueryFromProto converts a request for a path of entries from its message. Errors:
// invalid_argument.
func EntryQueryFromProto(m *perdurev1.GetEntriesRequest) (perdure.EntryQuery, error) {
	return decode(m, func(d *decoder, m *perdurev1.GetEntriesRequest) perdure.EntryQuery {
		return perdure.EntryQuery{
			ExecutionID: d.id("execution_id", m.GetExecutionId()), Leaf: d.id("leaf_entry_id", m.GetLeafEntryId()),
			After: d.idPtr("after_entry_id", m.AfterEntryId), Newest: int(m.GetNewest()), Context: m.GetContext(),
		}
	})
}
