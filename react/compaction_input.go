package react

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/llm"
)

// inputEntry is the entry of an input message that was appended to the conversation.
type inputEntry struct {
	id     uuid.UUID
	role   perdure.Role
	tokens int
}

// hasSummary reports whether one of the messages is the summary of a compaction.
func hasSummary(messages []perdure.InputMessage) bool {
	return slices.ContainsFunc(messages, func(m perdure.InputMessage) bool { return m.Compaction != nil })
}

// inputID returns the id of the entry of an input message. The id is derived from the message's
// key, so a summary that is appended after a crash pins the entries that were appended before the
// crash.
func (l *loop) inputID(key string) uuid.UUID { return uuid.NewSHA1(l.ctx.ID(), []byte("input:"+key)) }

// appendSummaryOf appends a summary that a client sent. It covers the whole path before it. It pins
// the messages of the user and the system directly before it in the same input, because the client
// got them with the summary from an earlier compaction.
func (l *loop) appendSummaryOf(m perdure.InputMessage, key string, before []inputEntry) error {
	record := *m.Compaction
	record.Reason, record.KeepFrom, record.Pinned = perdure.CompactionInput, nil, []uuid.UUID{}
	if leaf := l.ctx.Leaf(); leaf != nil {
		record.Last = *leaf
	}
	message := perdure.Message{Role: perdure.RoleUser, Content: perdure.Content{Parts: m.Parts}}
	size := contextSize{New: llm.EstimateMessage(message, l.anyLimits())}
	for _, e := range directlyBefore(before) {
		record.Pinned = append(record.Pinned, e.id)
		size.New += e.tokens
	}
	id, err := l.ctx.Append(message, agent.AsCompaction(record), agent.WithEntryID(l.inputID(key)), agent.WithKey(key))
	if err != nil {
		return err
	}
	l.st.Size, l.st.CompactFrom = size, 0
	l.promptCompacted(id, 0)
	return nil
}

// directlyBefore returns the messages of the user and the system at the end of an input, the newest
// ones, at most perdure.MaxPinned.
func directlyBefore(before []inputEntry) []inputEntry {
	n := len(before)
	for n > 0 && len(before)-n < perdure.MaxPinned && (before[n-1].role == perdure.RoleUser || before[n-1].role == perdure.RoleSystem) {
		n--
	}
	return before[n:]
}
