package react

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// finishCompaction waits for the summary and appends it to the conversation. If the summary could
// not be written, or is larger than the entries that it covers, the conversation continues without
// it.
func (l *loop) finishCompaction() error {
	c := l.st.Compaction
	results, err := l.await(c.future())
	if err != nil || results == nil {
		return err
	}
	_, err = l.finish(c, results[0])
	return err
}

// compactRest begins the compaction that follows a partial compaction.
func (l *loop) compactRest() error {
	c := l.st.Rest
	l.st.Rest = nil
	_, err := l.compact(c.Record.Reason, c.Model, c.Instructions)
	return err
}

// finish ends the compaction c, whose task has ended, and appends the summary if it is usable. The
// result `used` says whether the summary was appended. The summary and the end of the compaction
// are stored in one commit.
func (l *loop) finish(c *compaction, r agent.Result) (used bool, err error) {
	l.st.Compaction = nil
	l.place()
	if used, err = l.takeSummary(c, r); err != nil {
		return false, err
	}
	if used && c.Partial && c.Record.Reason != perdure.CompactionAutomatic { // an automatic one follows if it is due
		l.st.Rest = c
	}
	return used, l.save("compacted")
}

// takeSummary appends the summary that the task of c has written, and reports whether the summary was
// usable.
func (l *loop) takeSummary(c *compaction, r agent.Result) (used bool, err error) {
	if failure := r.Err(); failure != nil {
		return false, l.compactionFailed(c, perdure.CodeOf(failure), failure.Error())
	}
	var a modelAnswer
	if err := json.Unmarshal(r.Task.Result, &a); err != nil {
		return false, l.compactionFailed(c, perdure.Internal, "the answer does not decode: "+err.Error())
	}
	return l.appendSummary(c, a, r.Task)
}

// appendSummary appends two entries: the summary of the compaction, and the record of the model call that
// wrote it.
func (l *loop) appendSummary(c *compaction, a modelAnswer, t *perdure.Task) (used bool, err error) {
	path, err := l.path()
	if err != nil {
		return false, err
	}
	summary := perdure.ValidText(strings.TrimSpace(a.Content.PlainText()))
	if why := l.unusable(c, a, summary, path); why != "" {
		return false, l.unusedSummary(c, a, t, why)
	}
	before, after, touches, err := l.sizes(c, path, summary)
	if err != nil {
		return false, err
	}
	if after >= before && !l.onlyCompacts() {
		return false, l.unusedSummary(c, a, t, fmt.Sprintf("the summary is longer than what it covers: %d tokens in place of %d", after, before))
	}
	c.Record.TokensBefore, c.Record.TokensAfter = before, after
	id, err := l.ctx.Append(summaryMessage(summary), agent.AsCompaction(c.Record), agent.WithKey(perdure.TaskEntryKey(t.ID)))
	if err != nil {
		return false, err
	}
	if err := l.recordSummary(c, a, t); err != nil {
		return false, err
	}
	l.compacted(c, after)
	l.promptCompacted(id, touches)
	return true, l.emitCompaction(compactionEvent{
		State: compactionCompleted, Reason: c.Record.Reason, Messages: c.Record.Messages,
		TokensBefore: before, TokensAfter: after, EntryID: &id,
	})
}

// compacted stores the size of the context after a compaction. The parameter `after` is this size
// in tokens, including the system prompt and the tools. compacted also sets the sizes at which the
// next compactions are tried.
func (l *loop) compacted(c *compaction, after int) {
	l.st.Size, l.st.CompactFrom, l.st.BackgroundFrom = contextSize{Tokens: after - l.fixedSize()}, 0, 0
	if c.Partial {
		return
	}
	again := after + l.limits(c.Model).Window/10
	if due, _ := l.dueSize(c.Model); after >= due {
		l.st.CompactFrom = again
	}
	l.st.BackgroundFrom = again
}

// unusable returns why the summary cannot be used, or "" if it can. If the record of c keeps no
// entry, but the conversation has grown since the compaction began, unusable changes the record so
// that it keeps the new entries.
func (l *loop) unusable(c *compaction, a modelAnswer, summary string, path []perdure.Entry) string {
	last := slices.IndexFunc(path, func(e perdure.Entry) bool { return e.ID == c.Record.Last })
	switch {
	case last < 0:
		return "the conversation no longer contains what the summary covers"
	case !whole(a.Content.StopReason):
		return "the summary is not whole: the model stopped with " + string(a.Content.StopReason)
	case summary == "":
		return "the summary is empty"
	}
	if c.Record.KeepFrom == nil {
		c.Record.KeepFrom = firstMessage(path[last+1:])
	}
	return ""
}

// firstMessage returns the id of the path's first entry that is not a compaction, or nil if there
// is none.
func firstMessage(path []perdure.Entry) *uuid.UUID {
	for _, e := range path {
		if e.Type != perdure.EntryCompaction {
			return &e.ID
		}
	}
	return nil
}

func summaryMessage(summary string) perdure.Message {
	return perdure.Message{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{perdure.Compaction(summary)}}}
}

// whole reports whether an answer that ended for this reason is complete.
func whole(reason perdure.StopReason) bool {
	return reason == "" || reason == perdure.StopEndTurn || reason == perdure.StopToolUse
}

// unusedSummary records the model call that wrote a summary that is not used.
func (l *loop) unusedSummary(c *compaction, a modelAnswer, t *perdure.Task, why string) error {
	if err := l.recordSummary(c, a, t); err != nil {
		return err
	}
	return l.compactionFailed(c, perdure.Internal, why)
}

// recordSummary appends the llm_call entry about the model call that wrote the summary, and counts
// the call's usage.
func (l *loop) recordSummary(c *compaction, a modelAnswer, t *perdure.Task) error {
	call := llmCall(c.writer(), a, nil)
	call["purpose"] = purposeCompaction
	record, err := json.Marshal(call)
	if err != nil {
		return err
	}
	if a.Content.Usage != nil {
		l.st.count(c.writer(), *a.Content.Usage)
	}
	_, err = l.ctx.Append(perdure.Message{Content: perdure.Content{Parts: []perdure.Part{}}},
		agent.AsRecord(record), agent.WithKey("llm_call:"+t.ID.String()))
	return err
}

// compactionFailed emits an event that says why there is no summary. It ends a response that only
// compacts. The next automatic compaction is tried when new messages fill a tenth of the window.
func (l *loop) compactionFailed(c *compaction, code perdure.Code, why string) error {
	l.st.CompactFrom = l.st.Size.of(c.Model, l.fixedSize()) + l.limits(c.Model).Window/10
	err := l.emitCompaction(compactionEvent{State: compactionFailed, Reason: c.Record.Reason, Error: reason(fmt.Errorf("%s", why))})
	if err != nil {
		return err
	}
	return l.compactOnlyFailed(code, why)
}

// sizes estimates the size of the context, in tokens, before and after a compaction with this
// summary. The result `touches` is the number of messages at the beginning of the context that the
// compaction does not change.
func (l *loop) sizes(c *compaction, path []perdure.Entry, summary string) (before, after, touches int, err error) {
	e, err := perdure.NewMessageEntry(summaryMessage(summary))
	if err != nil {
		return 0, 0, 0, err
	}
	agent.AsCompaction(c.Record)(&e)
	p := planner{limits: l.limits(c.Model)}
	old, _, err := p.pieces(path)
	if err != nil {
		return 0, 0, 0, err
	}
	pieces, _, err := p.pieces(append(slices.Clip(path), e))
	for touches < min(len(old), len(pieces)) && old[touches].isSame(pieces[touches]) {
		touches++
	}
	return l.fixedSize() + sum(old), l.fixedSize() + sum(pieces), touches, err
}

// isSame reports whether a model sees the same message in both pieces.
func (p piece) isSame(other piece) bool {
	return p.Entry.ID == other.Entry.ID && p.Rewritten == other.Rewritten && p.ResultBytes == other.ResultBytes
}
