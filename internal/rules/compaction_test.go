package rules

import (
	"cmp"
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// TestCheckCompaction checks that a compaction is refused if it cuts a turn in two, or if it names
// entries that are not on one path of the conversation.
func TestCheckCompaction(t *testing.T) {
	head := func(role perdure.Role, open ...string) perdure.EntryHead {
		return perdure.EntryHead{ID: uuid.New(), Type: perdure.EntryMessage, Role: role, Open: open}
	}
	user, answer, result, record := head(perdure.RoleUser), head(perdure.RoleAssistant, "c"), head(perdure.RoleToolResult), head("")
	record.Type = perdure.EntryLLMCall
	s := &store.State{Entries: map[uuid.UUID]perdure.EntryHead{user.ID: user, answer.ID: answer, result.ID: result, record.ID: record}}
	d := &draft{s: s, x: &perdure.Execution{PersistenceMode: perdure.Remote}}
	id := func(h perdure.EntryHead) *uuid.UUID { return &h.ID }
	for name, c := range map[string]struct {
		last   uuid.UUID
		keep   *uuid.UUID
		pinned []uuid.UUID
		reason perdure.CompactionReason
		parent *perdure.EntryHead
		ok     bool
	}{
		"all":                      {last: result.ID, parent: &result, ok: true},
		"keeps an answer":          {last: user.ID, keep: id(answer), parent: &result, ok: true},
		"pins a message":           {last: result.ID, pinned: []uuid.UUID{user.ID}, parent: &result, ok: true},
		"nothing before it":        {last: result.ID},
		"an unknown entry":         {last: uuid.New(), parent: &result},
		"a record":                 {last: record.ID, parent: &result},
		"an open call":             {last: answer.ID, parent: &result},
		"keeps a result":           {last: user.ID, keep: id(result), parent: &result},
		"keeps a record":           {last: user.ID, keep: id(record), parent: &result},
		"keeps from somewhere":     {last: user.ID, keep: &uuid.UUID{1}, parent: &result},
		"pins an answer":           {last: result.ID, pinned: []uuid.UUID{answer.ID}, parent: &result},
		"pins what does not exist": {last: result.ID, pinned: []uuid.UUID{{1}}, parent: &result},

		"a client's":                        {last: result.ID, pinned: []uuid.UUID{user.ID}, reason: perdure.CompactionInput, parent: &result, ok: true},
		"a client's at the beginning":       {reason: perdure.CompactionInput, ok: true},
		"a client's that covers nothing":    {reason: perdure.CompactionInput, parent: &result},
		"a client's that pins a message":    {reason: perdure.CompactionInput, pinned: []uuid.UUID{user.ID}},
		"a client's that keeps a message":   {reason: perdure.CompactionInput, keep: id(user)},
		"a client's at an open call":        {last: answer.ID, reason: perdure.CompactionInput, parent: &result},
		"a client's of what does not exist": {last: uuid.New(), reason: perdure.CompactionInput, parent: &result},
	} {
		metadata, err := json.Marshal(perdure.CompactionRecord{
			Last: c.last, KeepFrom: c.keep, Pinned: c.pinned, Reason: cmp.Or(c.reason, perdure.CompactionManual),
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.checkCompaction(perdure.NewEntry{Entry: perdure.Entry{ID: uuid.New(), Type: perdure.EntryCompaction, Metadata: metadata}}, c.parent)
		if c.ok && err != nil || !c.ok && !perdure.IsCode(err, perdure.InvalidTranscript) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
