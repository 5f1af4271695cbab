package server_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// rpcs says, for each gRPC method, what a worker of the org rival gets if it calls the method with ids and
// leases of the org acme: an error or an empty response. A test fails if a method is missing here.
var rpcs = map[string]string{
	"AgentDispatch/PollAgent":           "nothing",
	"AgentDispatch/Commit":              "error",
	"AgentDispatch/GetExecution":        "error",
	"AgentDispatch/GetEntries":          "error",
	"AgentDispatch/GetTasks":            "error",
	"AgentDispatch/GetQuestions":        "error",
	"AgentDispatch/GetStreamedText":     "error",
	"AgentDispatch/GetEnded":            "error",
	"AgentDispatch/GetSignals":          "error",
	"AgentDispatch/GetLatestCheckpoint": "error",
	"AgentDispatch/AppendEntry":         "error",
	"AgentDispatch/SubmitCheckpoint":    "error",
	"AgentDispatch/ScheduleAgentTask":   "error",
	"AgentDispatch/SuspendAgent":        "error",
	"AgentDispatch/CompleteAgent":       "error",
	"AgentDispatch/FailAgent":           "error",
	"AgentDispatch/ConsumeSignals":      "error",
	"AgentDispatch/HasSignal":           "error",
	"AgentDispatch/SignalAgent":         "error",
	"AgentDispatch/StreamAgentData":     "error",
	"WorkerDispatch/Register":           "nothing",
	"WorkerDispatch/Heartbeat":          "nothing",
	"WorkerDispatch/Release":            "nothing",
	"WorkerDispatch/PollTask":           "nothing",
	"WorkerDispatch/FinishTask":         "error",
	"WorkerDispatch/StreamData":         "nothing",
	"WorkerDispatch/PutBlob":            "error",
	"WorkerDispatch/GetBlob":            "error",
	"WorkerDispatch/ServeContents":      "nothing",
	"WorkerDispatch/WatchLeases":        "nothing",
}

// methods returns the methods in the proto files of the server, by name. Methods of gRPC's own services are
// left out.
func methods(t *testing.T) map[string]protoreflect.MethodDescriptor {
	t.Helper()
	all := map[string]protoreflect.MethodDescriptor{}
	protoregistry.GlobalFiles.RangeFilesByPackage("perdure.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			for j := range s.Methods().Len() {
				all[string(s.Name())+"/"+string(s.Methods().Get(j).Name())] = s.Methods().Get(j)
			}
		}
		return true
	})
	for name := range all {
		if _, ok := rpcs[name]; !ok {
			t.Errorf("%s is in no table of access; give it a line in rpcs", name)
		}
	}
	for name := range rpcs {
		if all[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
	return all
}

// requestFiller creates gRPC requests. They have the ids and the lease that are in the fields of
// requestFiller. All other members of a request have valid values, so that only the access check
// can refuse the request.
type requestFiller struct {
	execution, task, entry, blob uuid.UUID
	claim, taskClaim             uuid.UUID
	fence                        int64
	worker                       uuid.UUID
}

func (w *world) acmeFiller() requestFiller {
	return requestFiller{
		execution: w.lease.ExecutionID, task: w.task.TaskID, entry: uuid.MustParse(w.names["entryId"]), blob: uuid.MustParse(w.names["blob"]),
		claim: w.lease.ClaimID, taskClaim: w.task.ClaimID, fence: w.lease.Fence, worker: uuid.New(),
	}
}

func namingNothing() requestFiller {
	return requestFiller{execution: uuid.New(), task: uuid.New(), entry: uuid.New(), blob: uuid.New(), claim: uuid.New(), taskClaim: uuid.New(), fence: 1, worker: uuid.New()}
}

// fill sets all members of a message. Of each oneof it sets only the member with the index `place`,
// or the last one if the oneof has fewer members.
func (n requestFiller) fill(m protoreflect.Message, place int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if one := f.ContainingOneof(); one != nil && !one.IsSynthetic() && one.Fields().Get(min(place, one.Fields().Len()-1)) != f {
			continue
		}
		switch {
		case f.IsMap(), strings.HasSuffix(string(f.Name()), "_blob"): // excluded by another member
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			if slices.Contains([]string{"entries", "leases", "agents", "tasks", "frames", "executions"}, string(f.Name())) {
				list := m.Mutable(f).List()
				n.fill(list.AppendMutable().Message(), 0)
			}
		case f.IsList() && f.Kind() == protoreflect.StringKind:
			m.Mutable(f).List().Append(protoreflect.ValueOfString(map[bool]string{true: "default", false: "agent"}[f.Name() == "queues"]))
		case f.IsList() && f.Kind() == protoreflect.BytesKind:
			m.Mutable(f).List().Append(protoreflect.ValueOfBytes(n.bytes(m, f)))
		case f.IsList():
		case f.Kind() == protoreflect.MessageKind:
			n.message(m, f)
		default:
			n.scalar(m, f)
		}
	}
}

func (n requestFiller) message(m protoreflect.Message, f protoreflect.FieldDescriptor) {
	switch f.Message().FullName() {
	case "google.protobuf.Duration":
		if f.Name() != "wait" { // polls return immediately
			m.Set(f, protoreflect.ValueOfMessage(durationpb.New(time.Second).ProtoReflect()))
		}
	case "google.protobuf.Timestamp":
	case "perdure.v1.TaskLease":
		if m.Descriptor().Fields().ByName("agent_lease") == nil {
			n.fill(m.Mutable(f).Message(), 0)
		}
	case "perdure.v1.Wait":
		wait := m.Mutable(f).Message()
		wait.Set(wait.Descriptor().Fields().ByName("signal"), protoreflect.ValueOfString("s"))
	default:
		if slices.Contains([]string{"lease", "task_lease", "header", "entry", "owner", "frame", "key", "agent_lease", "open", "result", "error", "wait", "checkpoint", "state", "input"}, string(f.Name())) {
			n.fill(m.Mutable(f).Message(), 0)
		}
	}
}

// something is a JSON text that every member that contains JSON accepts.
const something = `"x"`

func (n requestFiller) scalar(m protoreflect.Message, f protoreflect.FieldDescriptor) {
	switch f.Kind() {
	case protoreflect.BytesKind:
		m.Set(f, protoreflect.ValueOfBytes(n.bytes(m, f)))
	case protoreflect.Int64Kind:
		v := int64(1)
		switch f.Name() {
		case "fence":
			v = n.fence
		case "length":
			v = int64(len(something))
		}
		m.Set(f, protoreflect.ValueOfInt64(v))
	case protoreflect.StringKind:
		m.Set(f, protoreflect.ValueOfString("x"))
	}
}

func (n requestFiller) bytes(m protoreflect.Message, f protoreflect.FieldDescriptor) []byte {
	id := n.execution
	switch name := string(f.Name()); {
	case strings.HasPrefix(name, "task"), name == "cancel_tasks", name == "stop_tasks", name == "withdraw_questions", strings.HasPrefix(name, "question"):
		id = n.task
	case strings.Contains(name, "claim_id"):
		id = n.claim
		if m.Descriptor().Fields().ByName("task_id") != nil {
			id = n.taskClaim
		}
	case strings.HasPrefix(name, "worker_id"):
		id = n.worker
	case strings.Contains(name, "blob"):
		id = n.blob
	case strings.Contains(name, "execution_id"):
	case strings.HasPrefix(name, "question"), name == "withdraw_questions":
		id = n.entry
	case name == "id", strings.HasPrefix(name, "entry"), name == "leaf", name == "after":
		id = n.entry
		if strings.Contains(string(m.Descriptor().Name()), "Blob") {
			id = n.blob
		}
	case strings.HasSuffix(name, "_id"):
		id = n.entry
	case strings.Contains(name, "sha256"), strings.Contains(name, "hash"):
		sum := sha256.Sum256([]byte(something))
		return sum[:]
	case name == "labels", name == "input_schema", name == "output_schema":
		return []byte("{}")
	case name == "discarded":
	default:
		return []byte(something)
	}
	return id[:]
}

// requests returns the messages to send in one call of a method. If the method takes a stream of
// messages with a oneof, these are two messages, with the first and the second member of the oneof.
// Otherwise it is one message.
func (n requestFiller) requests(m protoreflect.MethodDescriptor) (all []proto.Message) {
	count := 1
	for i := range m.Input().Oneofs().Len() {
		if one := m.Input().Oneofs().Get(i); m.IsStreamingClient() && !one.IsSynthetic() {
			count = min(2, one.Fields().Len())
		}
	}
	for place := range count {
		request := dynamicpb.NewMessage(m.Input())
		n.fill(request, place)
		all = append(all, request)
	}
	return all
}

// call calls a method, which may be a stream, with the given API key. It sends all requests, and
// returns all responses as one text.
func (w *world) call(conn *grpc.ClientConn, key string, m protoreflect.MethodDescriptor, requests ...proto.Message) (answers string, err error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(withKey(w.Context(), key), 20*time.Second)
	defer cancel()
	name := fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name())
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, name)
	w.must(err)
	for _, request := range requests {
		if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
			w.Fatal(err)
		}
	}
	w.must(stream.CloseSend())
	for {
		answer := dynamicpb.NewMessage(m.Output())
		if err := stream.RecvMsg(answer); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return answers, err
		}
		answers += prototext.Format(answer) + "\n"
	}
}

// TestRolesReachTheCallsTheyMay calls each gRPC method with keys of all roles. The server refuses calls
// without a key, with a revoked key, and with keys of the roles client and approver. Calls with keys of the
// roles worker and admin pass the access check.
func TestRolesReachTheCallsTheyMay(t *testing.T) {
	w := newWorld(t)
	conn := connect(t, w.Server)
	var rows []string
	for name, m := range methods(t) {
		for who, want := range map[string]codes.Code{"": codes.Unauthenticated, "acme revoked": codes.Unauthenticated, "acme client": codes.PermissionDenied, "acme approver": codes.PermissionDenied, "acme worker": codes.OK, "acme admin": codes.OK} {
			_, err := w.call(conn, w.keys[who], m, dynamicpb.NewMessage(m.Input()))
			got := grpcstatus.Code(err)
			if refused := got == codes.Unauthenticated || got == codes.PermissionDenied; got != want && (want != codes.OK || refused) {
				t.Errorf("%s with the key %q: %v", name, who, err)
			}
		}
		rows = append(rows, fmt.Sprintf("| `%s` |  | yes |  | yes |", name))
	}
	slices.Sort(rows)
	documented(t, "protocol.md", rows)
}

// TestCallsOfAnotherOrgReachNothing checks that a worker of another org cannot read or change
// anything of the org acme with any method, even if it sends a lease of acme. The responses are the
// same as for objects that do not exist.
func TestCallsOfAnotherOrgReachNothing(t *testing.T) {
	w := newWorld(t)
	conn := connect(t, w.Server)
	before := w.everything()
	all := methods(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m := all[name]
		ask := func(n requestFiller) (string, error) {
			answers, err := w.call(conn, w.keys["rival worker"], m, n.requests(m)...)
			text := fmt.Sprint(answers, "\n", err)
			for what, id := range map[string]uuid.UUID{"execution": n.execution, "task": n.task, "entry": n.entry, "blob": n.blob, "claim": n.claim, "worker": n.worker} {
				text = strings.ReplaceAll(text, id.String(), what)
				text = strings.ReplaceAll(text, prototextBytes(id), what)
			}
			return text, err
		}
		named := w.acmeFiller()
		got, err := ask(named)
		none := namingNothing()
		none.fence = named.fence
		want, _ := ask(none)
		if strings.Contains(got, canary) {
			t.Errorf("%s tells another org: %s", name, got)
		}
		if got != want {
			t.Errorf("%s tells another org:\n%s\nand of what is nowhere:\n%s", name, got, want)
		}
		if failed := err != nil; failed != (rpcs[name] == "error") {
			t.Errorf("%s is answered %v, want %s", name, err, rpcs[name])
		}
		if code := grpcstatus.Code(err); code == codes.InvalidArgument {
			t.Errorf("%s is refused for what it says, not for whom it is of: %v", name, err)
		}
	}
	if after := w.everything(); after != before {
		t.Errorf("what acme has was changed:\n%s\nbefore:\n%s", after, before)
	}
	read := all["AgentDispatch/GetExecution"]
	own, err := w.call(conn, w.keys["acme worker"], read, w.acmeFiller().requests(read)...)
	if err != nil || !strings.Contains(own, canary) {
		t.Errorf("acme's own worker is told %q, %v", own, err)
	}
}

// prototextBytes returns an id as it appears in the result of world.call, which is in the text format
// of protobuf messages.
func prototextBytes(id uuid.UUID) string {
	text := prototext.MarshalOptions{}.Format(&perdurev1.GetEntriesRequest{ExecutionId: id[:]})
	_, value, _ := strings.Cut(text, ":")
	return strings.Trim(strings.TrimSpace(value), `"`)
}
