package pbconv

import (
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

// EndedToProto converts a page of ended steps and tasks to its message.
func EndedToProto(p perdure.EndedPage) *perdurev1.EndedPage {
	return &perdurev1.EndedPage{Heads: each(p.Heads, endedHeadToProto), From: p.From, Next: p.Next, More: p.More, Whole: p.Whole}
}

// EndedFromProto converts a page of ended steps and tasks from its message. Errors:
// invalid_argument.
func EndedFromProto(m *perdurev1.EndedPage) (perdure.EndedPage, error) {
	return decode(m, (*decoder).ended)
}

func (d *decoder) ended(m *perdurev1.EndedPage) perdure.EndedPage {
	return perdure.EndedPage{Heads: each(m.GetHeads(), d.endedHead), From: m.GetFrom(), Next: m.GetNext(), More: m.GetMore(), Whole: m.GetWhole()}
}

func endedPtrToProto(p *perdure.EndedPage) *perdurev1.EndedPage {
	if p == nil {
		return nil
	}
	return EndedToProto(*p)
}

func (d *decoder) endedPtr(m *perdurev1.EndedPage) *perdure.EndedPage {
	if m == nil {
		return nil
	}
	p := d.ended(m)
	return &p
}

func endedHeadToProto(h perdure.EndedHead) *perdurev1.EndedHead {
	return &perdurev1.EndedHead{
		Id: UUIDToProto(h.ID), Kind: h.Kind, Step: h.Step, Status: taskStatuses.to[h.Status], Size: h.Size, InputSize: h.InputSize,
		Result: PayloadToProto(h.Result), Error: taskErrorToProto(h.Error), Partial: h.Partial,
	}
}

func (d *decoder) endedHead(m *perdurev1.EndedHead) perdure.EndedHead {
	return perdure.EndedHead{
		ID: d.id("ended.id", m.GetId()), Kind: m.GetKind(), Step: m.GetStep(),
		Status: read(d, taskStatuses, "ended.status", m.GetStatus()), Size: m.GetSize(), InputSize: m.GetInputSize(),
		Result: d.payload("ended.result", m.GetResult()), Error: d.taskError(m.GetError()), Partial: m.GetPartial(),
	}
}

// EndedQueryToProto converts a request for a page of ended steps and tasks to its message.
func EndedQueryToProto(q perdure.EndedQuery) *perdurev1.GetEndedRequest {
	return &perdurev1.GetEndedRequest{Lease: LeaseToProto(q.Lease), After: q.After}
}

// EndedQueryFromProto converts a request for a page of ended steps and tasks from its message.
// Errors: invalid_argument.
func EndedQueryFromProto(m *perdurev1.GetEndedRequest) (perdure.EndedQuery, error) {
	return decode(m, func(d *decoder, m *perdurev1.GetEndedRequest) perdure.EndedQuery {
		return perdure.EndedQuery{Lease: d.lease(m.GetLease()), After: m.GetAfter()}
	})
}
