package pbconv

import (
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// messageBudget is the maximum number of bytes of inline content in one message. gRPC limits a
	// message to 4 MiB, so 3 MiB remain for the other fields.
	messageBudget = 1 << 20
	// smallest is the minimum size in bytes of a content that a Fitter replaces by a reference. A
	// reference to a smaller content would save little.
	smallest = 1 << 10
)

// Fitter makes one message fit the size limit of gRPC. It replaces a content by a reference to a blob
// if the content is larger than InlineLimit, or if the message would exceed messageBudget. It counts
// the bytes of one message, so each message needs its own Fitter.
type Fitter struct {
	// Put stores a content that has no blob yet, and returns the reference to its new blob.
	Put func(owner perdure.BlobOwner, content []byte) (perdure.BlobRef, error)
	// Answer marks references from Put as temporary. It is set for messages that the server sends:
	// no stored object refers to the blobs that Put creates for them.
	Answer bool

	used int
}

// Content replaces the content in m by a reference if the message has no room for it. Errors: those of
// Put.
func (f *Fitter) Content(m *perdurev1.Content, owner perdure.BlobOwner) error {
	size := len(m.GetInline())
	fits := size <= perdure.InlineLimit && f.used+size <= messageBudget
	if fits || size < smallest {
		f.used += size
		return nil
	}
	if m.Blob == nil {
		ref, err := f.Put(owner, m.Inline)
		if err != nil {
			return err
		}
		m.Blob, m.Temporary = BlobToProto(&ref), f.Answer
	}
	m.Inline = nil
	return nil
}

// contents calls Content for each content in the list, with the same owner.
func (f *Fitter) contents(owner perdure.BlobOwner, list ...*perdurev1.Content) error {
	for _, m := range list {
		if err := f.Content(m, owner); err != nil {
			return err
		}
	}
	return nil
}

// Tasks replaces a task by a deferred task if the message has no room for it, or if the task has
// content over InlineLimit without a blob. A deferred task has only its ids, and the receiver requests
// the rest in another call. If content over InlineLimit has a blob, Tasks removes the inline copy.
func (f *Fitter) Tasks(list []*perdurev1.Task) {
	for i, t := range list {
		large := dropStored(t.GetInput()) || dropStored(t.GetResult())
		size := proto.Size(t)
		if large || f.used+size > messageBudget {
			list[i] = &perdurev1.Task{Id: t.GetId(), AgentExecutionId: t.GetAgentExecutionId(), Deferred: true}
			continue
		}
		f.used += size
	}
}

// dropStored removes inline content over InlineLimit if m also refers to a blob with that content.
// It reports whether content over InlineLimit remains, because m refers to no blob.
func dropStored(m *perdurev1.Content) bool {
	if len(m.GetInline()) <= perdure.InlineLimit {
		return false
	}
	if m.Blob == nil {
		return true
	}
	m.Inline = nil
	return false
}

// AgentClaim makes the claim of an execution fit the message, with blobs for large contents. The lease
// of the claim owns new blobs. The tasks in m.Results may become deferred tasks, and the page m.Ended
// may become empty. Errors: those of Put.
func (f *Fitter) AgentClaim(m *perdurev1.AgentClaim, lease perdure.Lease) error {
	if m == nil {
		return nil
	}
	f.used += len(m.GetExecution().GetGate()) // the gate is always inline
	owner := perdure.BlobOwner{ExecutionID: lease.ExecutionID, Lease: &lease}
	if err := f.contents(owner, m.GetExecution().GetInput(), m.GetExecution().GetOutput(), m.GetCheckpoint().GetState()); err != nil {
		return err
	}
	if err := f.Signals(m.GetAgain(), owner); err != nil {
		return err
	}
	if err := f.Signals(m.GetSignals(), owner); err != nil {
		return err
	}
	f.Tasks(m.GetResults())
	f.ended(m.GetEnded())
	return nil
}

// ended removes all elements (Heads) of a page of ended steps and tasks if the message has no room
// for them. The page then names its own position as the position of the next page, so that the
// receiver requests the elements in another call.
func (f *Fitter) ended(m *perdurev1.EndedPage) {
	if m == nil {
		return
	}
	size := proto.Size(m)
	if f.used+size > messageBudget {
		m.Heads, m.Next, m.More = nil, m.GetFrom(), true
		return
	}
	f.used += size
}

// Signals calls Content for the value of each signal.
func (f *Fitter) Signals(list []*perdurev1.Signal, owner perdure.BlobOwner) error {
	for _, s := range list {
		if err := f.Content(s.GetSignalValue(), owner); err != nil {
			return err
		}
	}
	return nil
}

// TaskClaim makes a claimed attempt fit the message, with blobs for a large input and result. The lease
// of the attempt owns new blobs. Errors: those of Put.
func (f *Fitter) TaskClaim(m *perdurev1.TaskClaim, lease perdure.TaskLease) error {
	owner := perdure.BlobOwner{ExecutionID: lease.ExecutionID, TaskLease: &lease}
	return f.contents(owner, m.GetTask().GetInput(), m.GetTask().GetResult())
}

// Commit makes a commit fit the message, with blobs for large contents. The lease of the commit owns
// new blobs. Errors: those of Put.
func (f *Fitter) Commit(m *perdurev1.CommitRequest, lease perdure.Lease) error {
	owner := perdure.BlobOwner{ExecutionID: lease.ExecutionID, Lease: &lease}
	if err := f.contents(owner, m.GetCheckpoint().GetState(), m.GetOutcome().GetOutput()); err != nil {
		return err
	}
	for _, e := range m.GetEntries() {
		if err := f.Content(e.GetContent(), owner); err != nil {
			return err
		}
	}
	for _, t := range m.GetTasks() {
		if err := f.Content(t.GetInput(), owner); err != nil {
			return err
		}
	}
	for _, s := range m.GetSteps() {
		if err := f.Content(s.GetResult(), owner); err != nil {
			return err
		}
	}
	return nil
}
