package rules

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// compactionNeeds returns the ids of the entries that checkCompaction reads for the entry e.
func compactionNeeds(e perdure.NewEntry) []uuid.UUID {
	if e.Type != perdure.EntryCompaction {
		return nil
	}
	c, err := e.Range()
	if err != nil {
		return nil // append refuses the entry
	}
	var needs []uuid.UUID
	if c.Last != uuid.Nil {
		needs = append(needs, c.Last)
	}
	if c.KeepFrom != nil {
		needs = append(needs, *c.KeepFrom)
	}
	return append(needs, c.Pinned...)
}

// checkCompaction checks an entry that is a compaction, and returns the range that it covers; nil
// if the range is empty or the entry is no compaction. A compaction must cover whole turns: no tool
// call may be open after the last covered entry, and the first later entry that the model still
// reads (the field KeepFrom) must not be a tool result. The covered entries that the model still
// reads (the field Pinned) must be messages of the user or the system. A compaction that is the
// first entry of the conversation must cover nothing. Error: invalid_transcript.
func (d *draft) checkCompaction(e perdure.NewEntry, parent *perdure.EntryHead) (*perdure.CompactionRange, error) {
	if e.Type != perdure.EntryCompaction {
		return nil, nil
	}
	c, err := e.Range()
	if err != nil {
		return nil, err
	}
	if c.Last == uuid.Nil {
		if parent != nil || c.KeepFrom != nil || len(c.Pinned) > 0 {
			return nil, wrongCompaction(e.Entry, "covers nothing, but it is not the beginning of the conversation")
		}
		return nil, nil
	}
	if parent == nil {
		return nil, wrongCompaction(e.Entry, "covers nothing: it is the first entry")
	}
	last, ok := d.s.Entries[c.Last]
	switch {
	case !ok || !onPath(last):
		return nil, wrongCompaction(e.Entry, "covers up to %s, which is no entry of the path", c.Last)
	case len(last.Open) > 0:
		return nil, wrongCompaction(e.Entry, "covers up to %s, after which tool calls are open", c.Last)
	}
	if c.KeepFrom != nil {
		first, ok := d.s.Entries[*c.KeepFrom]
		if !ok || !onPath(first) || first.Role == perdure.RoleToolResult {
			return nil, wrongCompaction(e.Entry, "keeps from %s, which begins no turn after what it covers", *c.KeepFrom)
		}
	}
	for _, id := range c.Pinned {
		if p, ok := d.s.Entries[id]; !ok || p.Role != perdure.RoleUser && p.Role != perdure.RoleSystem {
			return nil, wrongCompaction(e.Entry, "pins %s, which is no message of the user or the system", id)
		}
	}
	return &c, nil
}

func onPath(h perdure.EntryHead) bool { return perdure.Entry{Type: h.Type}.OnPath() }

func wrongCompaction(e perdure.Entry, format string, args ...any) error {
	err := perdure.Errorf(perdure.InvalidTranscript, "compaction "+e.ID.String()+" "+format, args...)
	err.Fields = []perdure.FieldError{{Location: "entries." + e.ID.String(), Message: err.Message}}
	return err
}
