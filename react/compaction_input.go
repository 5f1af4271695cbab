package react

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/llm"
)

// inputEntry is an input message that was appended to the conversation, with the id of its entry.
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
// key, so that it is the same when the message is appended again after a crash. The record of a
// summary in the same input contains such ids.
func (l *loop) inputID(key string) uuid.UUID { return uuid.NewSHA1(l.ctx.ID(), []byte("input:"+key)) }

// appendSummaryOf appends a summary that a client sent. The summary covers the whole path before
// it. User and system messages that come directly before it in the same input are pinned (they stay
// in the context): the client received them together with the summary, as the result of an earlier
// compaction.
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

// directlyBefore returns the user and system messages at the end of a list, but at most the newest
// perdure.MaxPinned of these messages.
func directlyBefore(before []inputEntry) []inputEntry {
	n := len(before)
	for n > 0 && len(before)-n < perdure.MaxPinned && (before[n-1].role == perdure.RoleUser || before[n-1].role == perdure.RoleSystem) {
		n--
	}
	return before[n:]
}
