package openai

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/sealed"
)

// sealedSummary is the plaintext of a compaction item's encrypted_content. Messages is the number
// of messages that the summary replaces.
type sealedSummary struct {
	Summary      string `json:"summary"`
	Messages     int    `json:"messages"`
	TokensBefore int    `json:"tokensBefore"`
	TokensAfter  int    `json:"tokensAfter"`
}

// summaryOf returns the sealedSummary for a compaction in the input of a create request.
func summaryOf(m perdure.InputMessage) *sealedSummary {
	return newSummary(perdure.Content{Parts: m.Parts}.PlainText(), *m.Compaction)
}

func newSummary(text string, c perdure.CompactionRecord) *sealedSummary {
	return &sealedSummary{text, c.Messages, c.TokensBefore, c.TokensAfter}
}

// message returns the summary as a message in the input of an execution.
func (s sealedSummary) message() perdure.InputMessage {
	return perdure.InputMessage{
		Role: perdure.RoleUser, Parts: []perdure.Part{perdure.Compaction(s.Summary)},
		Compaction: &perdure.CompactionRecord{
			Reason: perdure.CompactionInput, Pinned: []uuid.UUID{},
			Messages: s.Messages, TokensBefore: s.TokensBefore, TokensAfter: s.TokensAfter,
		},
	}
}

// openSummary decrypts the summary of a compaction item in the input. The item's message then
// contains the summary.
func (o *opener) openSummary(ctx context.Context, i *readItem) (err error) {
	if o.summary == nil {
		if o.summary, err = o.API.box(ctx, o.org, sealedCompaction); err != nil {
			return err
		}
	}
	raw, err := o.summary.Open(i.sealed)
	if err != nil {
		return notOpened(i, err, "Give it back as it came.")
	}
	var s sealedSummary
	if err := json.Unmarshal(raw, &s); err != nil {
		return notOpened(i, sealed.ErrForeign, "Give it back as it came.")
	}
	i.messages = []perdure.InputMessage{s.message()}
	return nil
}

func notOpened(i *readItem, why error, advice string) *Error {
	return invalid(i.at+".encrypted_content", "invalid_encrypted_content", "Invalid '%s.encrypted_content': %v. %s", i.at, why, advice)
}

// sealSummaries encrypts the summaries of the items that are compactions, and sets their
// encrypted_content.
func (a *API) sealSummaries(ctx context.Context, org string, items []Item) error {
	if !slices.ContainsFunc(items, func(i Item) bool { return i.summary != nil }) {
		return nil
	}
	box, err := a.box(ctx, org, sealedCompaction)
	if err != nil {
		return err
	}
	for n := range items {
		if items[n].summary == nil {
			continue
		}
		raw, err := json.Marshal(items[n].summary)
		if err != nil {
			return err
		}
		items[n].Encrypted = box.Seal(raw)
	}
	return nil
}

// onlySummaries reports whether all messages of an input are compactions. A response cannot begin
// with such an input, because the model needs a message to answer.
func onlySummaries(messages []perdure.InputMessage) bool {
	said := func(m perdure.InputMessage) bool { return m.Compaction == nil }
	return len(messages) > 0 && !slices.ContainsFunc(messages, said)
}

func noMessage() *Error {
	return invalid("input", "invalid_value", "Invalid 'input': it has only items of type compaction; add a message.")
}
