package rules

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// compactionNeeds returns the entries whose heads checkCompaction needs.
func compactionNeeds(e perdure.Entry) []uuid.UUID {
	if e.Type != perdure.EntryCompaction {
		return nil
	}
	c, err := e.Compaction()
	if err != nil {
		return nil // append refuses the entry
	}
	needs := []uuid.UUID{c.Last}
	if c.KeepFrom != nil {
		needs = append(needs, *c.KeepFrom)
	}
	return append(needs, c.Pinned...)
}

// checkCompaction checks that a compaction covers whole turns of this execution: that no tool call
// is open at its last entry, that it keeps the conversation from the entry after that one, and that
// it pins messages of the user or the system. The record of a LOCAL execution is checked by its worker.
// Error: invalid_transcript.
func (d *draft) checkCompaction(e perdure.Entry, parent *perdure.EntryHead) error {
	if e.Type != perdure.EntryCompaction {
		return nil
	}
	if parent == nil {
		return wrongCompaction(e, "covers nothing: it is the first entry")
	}
	if d.local() {
		return nil // the record is content, which only the worker has
	}
	c, err := e.Compaction()
	if err != nil {
		return err
	}
	last, ok := d.s.Entries[c.Last]
	switch {
	case !ok || !onPath(last):
		return wrongCompaction(e, "covers up to %s, which is no entry of the path", c.Last)
	case len(last.Open) > 0:
		return wrongCompaction(e, "covers up to %s, after which tool calls are open", c.Last)
	}
	if c.KeepFrom != nil {
		first, ok := d.s.Entries[*c.KeepFrom]
		if !ok || !onPath(first) || first.Role == perdure.RoleToolResult {
			return wrongCompaction(e, "keeps from %s, which begins no turn after what it covers", *c.KeepFrom)
		}
	}
	for _, id := range c.Pinned {
		if p, ok := d.s.Entries[id]; !ok || p.Role != perdure.RoleUser && p.Role != perdure.RoleSystem {
			return wrongCompaction(e, "pins %s, which is no message of the user or the system", id)
		}
	}
	return nil
}

func onPath(h perdure.EntryHead) bool { return perdure.Entry{Type: h.Type}.OnPath() }

func wrongCompaction(e perdure.Entry, format string, args ...any) error {
	err := perdure.Errorf(perdure.InvalidTranscript, "compaction "+e.ID.String()+" "+format, args...)
	err.Fields = []perdure.FieldError{{Location: "entries." + e.ID.String(), Message: err.Message}}
	return err
}
