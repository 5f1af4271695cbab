package pbconv

import (
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// messageBudget is the most bytes of content that one message carries in
	// place. It leaves three of gRPC's four MiB to all else.
	messageBudget = 1 << 20
	// smallest content that goes by reference to keep a budget; below it the
	// reference would save little.
	smallest = 1 << 10
)

// Fitter makes one message fit: content over InlineLimit, and what the budget
// of the message has no room for, goes by reference.
type Fitter struct {
	// Put stores content that has no blob yet.
	Put func(owner perdure.BlobOwner, content []byte) (perdure.BlobRef, error)
	// Answer marks the blobs that Put makes as temporary: they only carry the
	// answer, and what is answered has no reference.
	Answer bool

	used int
}

// Content fits one content, in place. Errors are Put's.
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

// contents fits several contents of one owner.
func (f *Fitter) contents(owner perdure.BlobOwner, list ...*perdurev1.Content) error {
	for _, m := range list {
		if err := f.Content(m, owner); err != nil {
			return err
		}
	}
	return nil
}

// Tasks fits tasks that can be asked for again, by deferring what has no room.
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

// dropStored leaves only the reference of large content that has one, and tells
// whether content is left that is too large.
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

// AgentClaim fits a claim. Blobs that it needs are owned by the claim's lease.
func (f *Fitter) AgentClaim(m *perdurev1.AgentClaim, lease perdure.Lease) error {
	if m == nil {
		return nil
	}
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

// ended leaves the heads for which there is no room to the next page.
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

// Signals fits signals.
func (f *Fitter) Signals(list []*perdurev1.Signal, owner perdure.BlobOwner) error {
	for _, s := range list {
		if err := f.Content(s.GetSignalValue(), owner); err != nil {
			return err
		}
	}
	return nil
}

// TaskClaim fits a claimed attempt. Blobs that it needs are owned by its lease.
func (f *Fitter) TaskClaim(m *perdurev1.TaskClaim, lease perdure.TaskLease) error {
	owner := perdure.BlobOwner{ExecutionID: lease.ExecutionID, TaskLease: &lease}
	return f.contents(owner, m.GetTask().GetInput(), m.GetTask().GetResult())
}

// Commit fits a commit. Blobs that it needs are owned by its lease.
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
