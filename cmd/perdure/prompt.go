package main

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// promptChangedText marks an answer whose prompt did not begin with the prompt
// of the answer before.
const promptChangedText = "(the prompt began otherwise than the one before: the provider's cache was missed)"

// changedPrompts gives the answers of a run that were asked for with a prompt
// that did not go on from the one before, oldest first.
func (l *link) changedPrompts(ctx context.Context, id uuid.UUID) ([]uuid.UUID, error) {
	changed := []uuid.UUID{}
	for e, err := range l.AllEntries(ctx, id) {
		if err != nil {
			return nil, err
		}
		if promptChanged(e) {
			changed = append(changed, *e.ParentID)
		}
	}
	return changed, nil
}

// promptChanged tells whether an entry records a model call that says so.
func promptChanged(e perdure.Entry) bool {
	var record struct {
		Prompt struct {
			Changed bool `json:"changed"`
		} `json:"prompt"`
	}
	return e.Type == perdure.EntryLLMCall && e.ParentID != nil && json.Unmarshal(e.Metadata, &record) == nil && record.Prompt.Changed
}
