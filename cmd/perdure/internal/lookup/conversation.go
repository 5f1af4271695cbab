package lookup

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
)

// promptChangedText is the remark beside an answer of the model if the prompt of its model call did
// not begin with the prompt of the previous call. The provider could then not use its cache.
const promptChangedText = "(the prompt began otherwise than the one before: the provider's cache was missed)"

// readConversation returns the path of a run, from its first entry. The result `changed` has the
// ids of the model's answers that get the remark promptChangedText, oldest first. readConversation
// reads all entries of the run once, also the llm_call entries, which record whether the prompt
// changed.
func readConversation(ctx context.Context, conn *connection.Conn, run uuid.UUID) (path []perdure.Entry, changed []uuid.UUID, err error) {
	s, err := conn.Snapshot(ctx, run, 1)
	if err != nil {
		return nil, nil, err
	}
	changed = []uuid.UUID{}
	var messages []perdure.Entry
	at := map[uuid.UUID]int{} // indexes in messages, by the id of the entry
	for e, err := range conn.AllEntries(ctx, run) {
		switch {
		case err != nil:
			return nil, nil, err
		case e.OnPath():
			at[e.ID] = len(messages)
			messages = append(messages, e)
		case promptChanged(e):
			changed = append(changed, *e.ParentID)
		}
	}
	if len(s.Entries) == 0 {
		return nil, changed, nil
	}
	for id := &s.Entries[0].ID; id != nil; id = path[len(path)-1].ParentID {
		i, ok := at[*id]
		if !ok {
			return nil, nil, perdure.Errorf(perdure.NotFound, "run %s has no entry %s any more", run, id)
		}
		path = append(path, messages[i])
	}
	slices.Reverse(path)
	return path, changed, nil
}

// promptChanged reports whether an llm_call entry records a changed prompt.
func promptChanged(e perdure.Entry) bool {
	var record struct {
		Prompt struct {
			Changed bool `json:"changed"`
		} `json:"prompt"`
	}
	return e.Type == perdure.EntryLLMCall && e.ParentID != nil && json.Unmarshal(e.Metadata, &record) == nil && record.Prompt.Changed
}
