package pbconv

import (
	"encoding/json"

	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

// RegistrationToProto converts a worker's registration to its message. Errors: invalid_argument, if the
// labels cannot be encoded as JSON.
func RegistrationToProto(r perdure.Registration) (*perdurev1.RegisterRequest, error) {
	m := &perdurev1.RegisterRequest{
		WorkerId: UUIDToProto(r.WorkerID), Queues: r.Queues,
		Agents: each(r.Agents, kindToProto), Tasks: each(r.Tasks, kindToProto),
		Version: r.Version, Features: r.Features.Names(),
		AgentSlots: int64(r.AgentSlots), TaskSlots: int64(r.TaskSlots),
	}
	if r.Labels == nil {
		return m, nil
	}
	var err error
	if m.Labels, err = json.Marshal(r.Labels); err != nil {
		return nil, perdure.FieldErrorf("labels", "do not encode as JSON: %v", err)
	}
	return m, nil
}

// RegistrationFromProto converts a worker's registration from its message. Errors: invalid_argument,
// also if the labels are not a JSON object or have a key twice.
func RegistrationFromProto(m *perdurev1.RegisterRequest) (perdure.Registration, error) {
	return decode(m, func(d *decoder, m *perdurev1.RegisterRequest) perdure.Registration {
		r := perdure.Registration{
			WorkerID: d.id("worker_id", m.GetWorkerId()), Queues: m.GetQueues(),
			Agents: each(m.GetAgents(), kind), Tasks: each(m.GetTasks(), kind),
			Version: m.GetVersion(), Features: perdure.FeaturesOf(m.GetFeatures()),
			AgentSlots: int(m.GetAgentSlots()), TaskSlots: int(m.GetTaskSlots()),
		}
		if m.GetLabels() != nil && json.Unmarshal(m.GetLabels(), &r.Labels) != nil {
			d.fail("labels", "must be a JSON object")
		}
		if perdure.CheckNoDoubledKeys("labels", m.GetLabels()) != nil {
			d.fail("labels", "has a key twice; give each key once")
		}
		return r
	})
}

func kindToProto(k perdure.KindSpec) *perdurev1.KindSpec {
	return &perdurev1.KindSpec{
		Kind: k.Kind, Description: text(k.Description), InputSchema: k.InputSchema, Providers: k.Providers,
		Endpoints: each(k.Endpoints, endpointToProto), Signals: each(k.Signals, signalSpecToProto),
		OutputSchema: k.OutputSchema, Tags: k.Tags,
	}
}

func signalSpecToProto(s perdure.SignalSpec) *perdurev1.SignalSpec {
	return &perdurev1.SignalSpec{Name: s.Name, Description: text(s.Description), Schema: s.Schema}
}

func signalSpec(m *perdurev1.SignalSpec) perdure.SignalSpec {
	return perdure.SignalSpec{Name: m.GetName(), Description: m.GetDescription(), Schema: raw(m.GetSchema())}
}

func endpointToProto(e perdure.ModelEndpoint) *perdurev1.ModelEndpoint {
	return &perdurev1.ModelEndpoint{Origin: e.Origin, ApiKeyEnv: text(e.APIKeyEnv), Provider: text(e.Provider)}
}

func kind(m *perdurev1.KindSpec) perdure.KindSpec {
	return perdure.KindSpec{
		Kind: m.GetKind(), Description: m.GetDescription(),
		InputSchema: raw(m.GetInputSchema()), Providers: m.GetProviders(),
		Endpoints: each(m.GetEndpoints(), endpoint), Signals: each(m.GetSignals(), signalSpec),
		OutputSchema: raw(m.GetOutputSchema()), Tags: m.GetTags(),
	}
}

func endpoint(m *perdurev1.ModelEndpoint) perdure.ModelEndpoint {
	return perdure.ModelEndpoint{Origin: m.GetOrigin(), APIKeyEnv: m.GetApiKeyEnv(), Provider: m.GetProvider()}
}

// SettingsToProto converts the server's settings to their message.
func SettingsToProto(s perdure.Settings) *perdurev1.RegisterResponse {
	return &perdurev1.RegisterResponse{Lease: durationToProto(s.Lease), PayloadLimit: s.PayloadLimit, Org: s.Org}
}

// SettingsFromProto converts the server's settings from their message. Errors: invalid_argument.
func SettingsFromProto(m *perdurev1.RegisterResponse) (perdure.Settings, error) {
	return decode(m, func(d *decoder, m *perdurev1.RegisterResponse) perdure.Settings {
		return perdure.Settings{Lease: d.duration("lease", m.GetLease()), PayloadLimit: m.GetPayloadLimit(), Org: m.GetOrg()}
	})
}

// PollAgentsToProto converts a poll for executions to its message.
func PollAgentsToProto(p perdure.Poll) *perdurev1.PollAgentRequest {
	return &perdurev1.PollAgentRequest{
		WorkerId: UUIDToProto(p.WorkerID), Queues: p.Queues, Kinds: p.Kinds,
		Slots: int64(p.Slots), Wait: durationToProto(p.Wait), Local: p.Local, Ended: p.Ended,
		Features: p.Features.Names(),
	}
}

// PollTasksToProto converts a poll for tasks to its message.
func PollTasksToProto(p perdure.Poll) *perdurev1.PollTaskRequest {
	return &perdurev1.PollTaskRequest{
		WorkerId: UUIDToProto(p.WorkerID), Queues: p.Queues, Kinds: p.Kinds,
		Slots: int64(p.Slots), Wait: durationToProto(p.Wait), Local: p.Local, Features: p.Features.Names(),
	}
}

// PollMessage is the message of a poll for executions or for tasks.
type PollMessage interface {
	*perdurev1.PollAgentRequest | *perdurev1.PollTaskRequest
	pollMessage
}

// PollFromProto converts a poll for executions or for tasks from its message. Errors:
// invalid_argument.
func PollFromProto[M PollMessage](m M) (perdure.Poll, error) {
	return decode(m, func(d *decoder, m M) perdure.Poll {
		p := perdure.Poll{
			WorkerID: d.id("worker_id", m.GetWorkerId()), Queues: m.GetQueues(), Kinds: m.GetKinds(),
			Slots: int(m.GetSlots()), Wait: d.duration("wait", m.GetWait()), Local: m.GetLocal(),
			Features: perdure.FeaturesOf(m.GetFeatures()),
		}
		if agents, ok := any(m).(*perdurev1.PollAgentRequest); ok {
			p.Ended = agents.GetEnded()
		}
		return p
	})
}

// HeartbeatToProto converts a heartbeat to its message.
func HeartbeatToProto(h perdure.Heartbeat) *perdurev1.HeartbeatRequest {
	return &perdurev1.HeartbeatRequest{
		WorkerId: UUIDToProto(h.WorkerID), Agents: each(h.Agents, LeaseToProto),
		Tasks: each(h.Tasks, func(b perdure.TaskHeartbeat) *perdurev1.TaskBeat {
			return &perdurev1.TaskBeat{Lease: taskLeaseToProto(b.Lease), Progress: b.Progress, Alive: b.Alive}
		}),
		Parked: each(h.Parked, func(p perdure.ParkedExecution) *perdurev1.Parked {
			return &perdurev1.Parked{ExecutionId: UUIDToProto(p.ExecutionID), At: commitNumberToProto(p.At)}
		}),
	}
}

// HeartbeatFromProto converts a heartbeat from its message. Errors: invalid_argument.
func HeartbeatFromProto(m *perdurev1.HeartbeatRequest) (perdure.Heartbeat, error) {
	return decode(m, func(d *decoder, m *perdurev1.HeartbeatRequest) perdure.Heartbeat {
		return perdure.Heartbeat{
			WorkerID: d.id("worker_id", m.GetWorkerId()), Agents: each(m.GetAgents(), d.lease),
			Tasks: each(m.GetTasks(), func(b *perdurev1.TaskBeat) perdure.TaskHeartbeat {
				return perdure.TaskHeartbeat{Lease: d.taskLease(b.GetLease()), Progress: raw(b.GetProgress()), Alive: b.GetAlive()}
			}),
			Parked: each(m.GetParked(), func(p *perdurev1.Parked) perdure.ParkedExecution {
				return perdure.ParkedExecution{ExecutionID: d.id("parked.execution_id", p.GetExecutionId()), At: d.commitNumber("parked.at.claim_id", p.GetAt())}
			}),
		}
	})
}

// HeartbeatReplyToProto converts the reply to a heartbeat to its message.
func HeartbeatReplyToProto(r perdure.HeartbeatReply) *perdurev1.HeartbeatResponse {
	return &perdurev1.HeartbeatResponse{
		Agents: each(r.Agents, func(b perdure.AgentHeartbeatReply) *perdurev1.AgentBeat {
			return &perdurev1.AgentBeat{Lost: b.Lost, CancelRequested: b.CancelRequested, SignalsPending: b.SignalsPending, Unknown: b.Unknown}
		}),
		Tasks: each(r.Tasks, func(b perdure.TaskHeartbeatReply) *perdurev1.TaskBeatReply {
			return &perdurev1.TaskBeatReply{Lost: b.Lost, CancelRequested: b.CancelRequested, Unknown: b.Unknown}
		}),
		Parked: each(r.Parked, func(s perdure.ParkedState) perdurev1.ParkedState { return parkedStates.to[s] }),
	}
}

// HeartbeatReplyFromProto converts the reply to a heartbeat from its message. Errors: invalid_argument.
func HeartbeatReplyFromProto(m *perdurev1.HeartbeatResponse) (perdure.HeartbeatReply, error) {
	return decode(m, func(d *decoder, m *perdurev1.HeartbeatResponse) perdure.HeartbeatReply {
		return perdure.HeartbeatReply{
			Agents: each(m.GetAgents(), func(b *perdurev1.AgentBeat) perdure.AgentHeartbeatReply {
				return perdure.AgentHeartbeatReply{Lost: b.GetLost(), CancelRequested: b.GetCancelRequested(), SignalsPending: b.GetSignalsPending(), Unknown: b.GetUnknown()}
			}),
			Tasks: each(m.GetTasks(), func(b *perdurev1.TaskBeatReply) perdure.TaskHeartbeatReply {
				return perdure.TaskHeartbeatReply{Lost: b.GetLost(), CancelRequested: b.GetCancelRequested(), Unknown: b.GetUnknown()}
			}),
			Parked: each(m.GetParked(), func(s perdurev1.ParkedState) perdure.ParkedState {
				return read(d, parkedStates, "parked", s)
			}),
		}
	})
}
