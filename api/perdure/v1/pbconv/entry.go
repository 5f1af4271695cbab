package pbconv

import (
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

// EntryToProto converts an entry to its message.
func EntryToProto(e perdure.Entry) *perdurev1.Entry {
	return &perdurev1.Entry{
		Id: UUIDToProto(e.ID), ParentId: idPtrToProto(e.ParentID),
		EntryType: entryTypes.to[e.Type], Role: roles.to[e.Role],
		TurnId: e.TurnID, ResponseId: e.ResponseID, MessageId: e.MessageID,
		Content: ContentToProto(e.Content, e.Blob), Metadata: e.Metadata, CreatedAt: timeToProto(e.CreatedAt),
		Key: e.Key, Calls: e.Calls, Answers: e.Answers,
	}
}

// EntryFromProto converts an entry from its message. Errors: invalid_argument.
func EntryFromProto(m *perdurev1.Entry) (perdure.Entry, error) { return decode(m, (*decoder).entry) }

func (d *decoder) entry(m *perdurev1.Entry) perdure.Entry {
	e := perdure.Entry{
		ID: d.id("entry.id", m.GetId()), ParentID: d.idPtr("entry.parent_id", m.GetParentId()),
		Type: read(d, entryTypes, "entry.entry_type", m.GetEntryType()), Role: read(d, roles, "entry.role", m.GetRole()),
		TurnID: m.GetTurnId(), ResponseID: m.GetResponseId(), MessageID: m.GetMessageId(),
		Metadata: raw(m.GetMetadata()), CreatedAt: d.time("entry.created_at", m.GetCreatedAt()),
		Key: m.GetKey(), Calls: m.GetCalls(), Answers: m.GetAnswers(),
	}
	e.Content, e.Blob = d.content("entry.content", m.GetContent())
	return e
}

func newEntryToProto(e perdure.NewEntry) *perdurev1.NewEntry {
	m := &perdurev1.NewEntry{Entry: EntryToProto(e.Entry), Content: ContentToProto(e.Content, e.Blob)}
	m.Entry.Content = nil
	if c := e.Covers; c != nil {
		m.Covers = &perdurev1.CompactionRange{
			LastEntryId: UUIDToProto(c.Last), KeepFromEntryId: idPtrToProto(c.KeepFrom), PinnedEntryIds: each(c.Pinned, UUIDToProto),
		}
	}
	return m
}

// NewEntryFromProto converts the message of an entry that a commit appends. It takes the content
// from m itself, and ignores a blob in the entry inside m. Errors: invalid_argument.
func NewEntryFromProto(m *perdurev1.NewEntry) (perdure.NewEntry, error) {
	return decode(m, (*decoder).newEntry)
}

func (d *decoder) newEntry(m *perdurev1.NewEntry) perdure.NewEntry {
	e := perdure.NewEntry{Entry: d.entry(m.GetEntry())}
	e.Entry.Blob = nil
	e.Content, e.Blob = d.content("entry.content", m.GetContent())
	if c := m.GetCovers(); c != nil {
		e.Covers = &perdure.CompactionRange{
			Last: d.id("covers.last_entry_id", c.GetLastEntryId()), KeepFrom: d.idPtr("covers.keep_from_entry_id", c.KeepFromEntryId),
			Pinned: d.ids("covers.pinned_entry_ids", c.GetPinnedEntryIds()),
		}
	}
	return e
}

// SignalToProto converts a signal to its message.
func SignalToProto(s perdure.Signal) *perdurev1.Signal {
	return &perdurev1.Signal{
		SignalId: s.ID, SignalName: s.Name, SignalValue: ContentToProto(s.Value, s.Blob),
		State: signalStates.to[s.State], ResponseId: s.ResponseID, CreatedAt: timeToProto(s.CreatedAt),
		Order: s.Order, TakenAt: s.TakenAt,
	}
}

// SignalFromProto converts a signal from its message. Errors: invalid_argument.
func SignalFromProto(m *perdurev1.Signal) (perdure.Signal, error) {
	return decode(m, (*decoder).signal)
}

func (d *decoder) signal(m *perdurev1.Signal) perdure.Signal {
	s := perdure.Signal{
		ID: m.GetSignalId(), Name: m.GetSignalName(), State: read(d, signalStates, "signal.state", m.GetState()),
		ResponseID: m.GetResponseId(), CreatedAt: d.time("signal.created_at", m.GetCreatedAt()),
		Order: m.GetOrder(), TakenAt: m.GetTakenAt(),
	}
	s.Value, s.Blob = d.content("signal.signal_value", m.GetSignalValue())
	return s
}

func placeToProto(p perdure.Place) *perdurev1.Place {
	if p == (perdure.Place{}) {
		return nil
	}
	return &perdurev1.Place{ResponseId: p.ResponseID, TurnId: p.TurnID, MessageId: p.MessageID, ToolCallId: p.ToolCallID}
}

// PlaceFromProto converts a position in a conversation from its message.
func PlaceFromProto(m *perdurev1.Place) perdure.Place {
	return perdure.Place{
		ResponseID: m.GetResponseId(), TurnID: m.GetTurnId(),
		MessageID: m.GetMessageId(), ToolCallID: m.GetToolCallId(),
	}
}
