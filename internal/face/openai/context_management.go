package openai

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/perdure/perdure"
	eventlog "github.com/perdure/perdure/internal/log"
)

// minCompactThreshold is the smallest accepted value of compact_threshold, in tokens.
const minCompactThreshold = 1_000

// parseContextManagement parses the parameter context_management, a list with at most one
// compaction.
func parseContextManagement(r *request, raw json.RawMessage) error {
	const param, first = "context_management", "context_management[0]"
	var all []json.RawMessage
	if err := decode(raw, param, &all, "an array of objects"); err != nil {
		return err
	}
	if len(all) == 0 {
		return nil
	}
	if len(all) > 1 {
		return invalid(param, "array_above_max_length", "Invalid '%s': it has over 1 element.", param)
	}
	members, err := givenMembers(all[0], first)
	if err != nil {
		return err
	}
	var kind string
	r.CompactFrom = new(int)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		switch name {
		case "type":
			err = decode(members[name], first+".type", &kind, "a string")
		case "compact_threshold":
			err = decode(members[name], first+".compact_threshold", r.CompactFrom, "a whole number")
			if err == nil && *r.CompactFrom < minCompactThreshold {
				err = invalid(first+".compact_threshold", "integer_below_min_value", "Invalid '%s.compact_threshold': must be at least %d.", first, minCompactThreshold)
			}
		default:
			err = invalid(first+"."+name, "unknown_parameter", "Unknown parameter: '%s.%s'.", first, name)
		}
		if err != nil {
			return err
		}
	}
	return oneOf(first+".type", kind, itemCompaction)
}

// showsCompaction reports whether a log item is a compaction that appears in the response's output.
func (f *fold) showsCompaction(i eventlog.Item) bool {
	return f.sealSummary != nil && f.begun() && i.Event == perdure.EventEntry && i.Entry != nil && i.Entry.Type == perdure.EntryCompaction
}

// compacted adds a compaction to the output if it summarises the whole conversation before it. A
// compaction of a part is not shown. The agent compacts only a part if the whole conversation is
// too large for the model that writes the summary.
func (f *fold) compacted(ctx context.Context, e *perdure.Entry) (err error) {
	if e.ContentBytes != 0 {
		if e, err = f.entry(ctx, e.ID); err != nil {
			return err
		}
	}
	record, err := e.Compaction()
	if err != nil || record.KeepFrom != nil || record.Reason == perdure.CompactionInput {
		return err
	}
	m, err := e.Message()
	if err != nil {
		return err
	}
	summary := newSummary(m.PlainText(), record)
	raw, err := json.Marshal(summary)
	if err != nil {
		return err
	}
	g := f.add(Item{Type: itemCompaction, Encrypted: f.sealSummary(raw), summary: summary}, "")
	g.entry, g.closed, g.part = e.ID, true, m.Parts[0]
	f.itemDone(g)
	return nil
}
