package react

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// tooLongCode is the code of a model call whose context the provider refused as too long.
const tooLongCode perdure.Code = "model_context_length"

// compaction is a compaction whose summary a task writes. The task was scheduled in the commit that
// stored this state.
type compaction struct {
	N      int                      `json:"n"`
	Task   uuid.UUID                `json:"task"`
	Model  perdure.ModelConfig      `json:"model"`
	Record perdure.CompactionRecord `json:"record"`
	// Partial reports that another compaction follows, because the window is too small for one.
	Partial bool `json:"partial,omitempty"`
	// Instructions are those of the client.
	Instructions string `json:"instructions,omitempty"`
}

// compactionEvent is the content of the data events of a compaction.
type compactionEvent struct {
	Type         string                   `json:"type"` // compaction
	State        string                   `json:"state"`
	Reason       perdure.CompactionReason `json:"reason"`
	Messages     int                      `json:"messages,omitempty"`
	TokensBefore int                      `json:"tokensBefore,omitempty"`
	TokensAfter  int                      `json:"tokensAfter,omitempty"`
	EntryID      *uuid.UUID               `json:"entryId,omitempty"`
	Error        string                   `json:"error,omitempty"`
}

// The states of a compaction in its events.
const (
	compactionStarted   = "started"
	compactionCompleted = "completed"
	compactionFailed    = "failed"
)

func (l *loop) emitCompaction(e compactionEvent) error {
	e.Type = "compaction"
	return l.ctx.Emit(e)
}

// compactIfDue begins a compaction if the context of the next call of the model is over the
// threshold. It reports whether one was begun; the loop then awaits its summary first.
func (l *loop) compactIfDue(m perdure.ModelConfig) (begun bool, err error) {
	size := l.st.Size.of(m, l.fixedSize())
	if begun, err = l.compactIfAsked(m); begun || err != nil {
		return begun, err
	}
	if due, automatic := l.dueSize(m); !automatic || size < max(due, l.st.CompactFrom) {
		return false, nil
	}
	return l.compact(perdure.CompactionAutomatic, m, "")
}

// compactIfAsked begins a compaction if a client has asked for one during the response.
func (l *loop) compactIfAsked(m perdure.ModelConfig) (begun bool, err error) {
	signals, err := l.ctx.DrainSignals(perdure.CompactSignal)
	if err != nil || len(signals) == 0 {
		return false, err
	}
	return l.compactFor(signals[len(signals)-1], m)
}

// threshold returns the size from which the context is compacted.
func (l *loop) threshold(m perdure.ModelConfig) int {
	in, limits := l.asked(), l.limits(m)
	output := min(limits.MaxOutput, limits.Window/4)
	if n := in.Config.MaxTokens; n != nil {
		output = min(*n, limits.Window/2)
	}
	return int(float64(limits.Window-output) * in.Config.Compaction.Threshold())
}

// compactFor begins the compaction that a client asked for. If there is nothing to compact, an event
// says so.
func (l *loop) compactFor(s perdure.Signal, m perdure.ModelConfig) (begun bool, err error) {
	var r perdure.CompactionRequest
	if err := json.Unmarshal(s.Value, &r); err != nil || r.Check() != nil {
		r = perdure.CompactionRequest{} // the server checks the value before it stores it
	}
	why := "there is nothing to compact"
	if len(l.st.Open) > 0 {
		why = "a tool call of the client is not answered yet"
	} else if begun, err = l.compact(perdure.CompactionManual, m, r.Instructions); err != nil || begun {
		return begun, err
	}
	return false, l.emitCompaction(compactionEvent{State: compactionFailed, Reason: perdure.CompactionManual, Error: why})
}

// tooLong handles a model call whose context was refused as too long: it compacts once for the
// turn, and otherwise ends the response.
func (l *loop) tooLong(failure error) error {
	p := l.st.Pending
	if l.st.TooLong != p.Turn+1 && l.asked().Compact != perdure.CompactNever {
		l.st.TooLong, l.st.Pending = p.Turn+1, nil
		begun, err := l.compact(perdure.CompactionContextLength, p.Model, "")
		if begun || err != nil {
			return err
		}
		l.st.Pending = p
	}
	l.ctx.Stream().Error(failure.Error(), perdure.CodeOf(failure))
	return l.endResponse(perdure.StopContextLength, failure.Error())
}

// compact schedules the task that writes a summary. It returns false if there is nothing to cover.
func (l *loop) compact(reason perdure.CompactionReason, m perdure.ModelConfig, instructions string) (begun bool, err error) {
	path, err := l.path()
	if err != nil {
		return false, err
	}
	limits := l.limits(m)
	p := planner{
		limits: limits, fixed: l.fixedSize(), newestOnly: reason == perdure.CompactionContextLength,
		all: l.coversAll(), pinnedAlone: l.onlyCompacts(),
	}
	record, partial, ok, err := p.plan(path)
	if !ok && reason == perdure.CompactionManual && err == nil {
		p.newestOnly = true
		record, partial, ok, err = p.plan(path)
	}
	if !ok || err != nil {
		return false, err
	}
	record.Reason = reason
	c := &compaction{N: l.st.Compactions, Model: m, Record: record, Partial: partial, Instructions: instructions}
	l.st.Compactions++
	l.place()
	request := modelRequest{
		Turn: l.st.TurnIndex, Model: m, LeafEntryID: *l.ctx.Leaf(), Settings: l.st.Settings,
		Compaction: &compactionRequest{
			Last: record.Last, ResultBytes: record.ResultBytes, MaxTokens: p.summaryTokens(), Instructions: instructions,
		},
	}
	future := l.ctx.Schedule(ModelTask, request, compactionOptions(c, l.ctx.Place())...)
	if future.Err() != nil {
		return false, future.Err()
	}
	c.Task, l.st.Compaction = future.ID, c
	if err := l.emitCompaction(compactionEvent{State: compactionStarted, Reason: reason, Messages: record.Messages, TokensBefore: record.TokensBefore}); err != nil {
		return false, err
	}
	return true, l.save("compaction")
}

// path returns the entries of the path from which the context is built.
func (l *loop) path() ([]perdure.Entry, error) {
	var path []perdure.Entry
	for e, err := range l.ctx.ContextPath() {
		if err != nil {
			return nil, err
		}
		path = append(path, e)
	}
	return path, nil
}

func compactionOptions(c *compaction, at perdure.Place) []agent.TaskOption {
	return []agent.TaskOption{
		agent.Instance(fmt.Sprintf("compact.%d", c.N)), agent.Attempts(modelAttempts),
		agent.Backoff(modelBackoff, modelBackoffMost), agent.OnLost(perdure.OnLostRetry), agent.ReadsContext(), agent.At(at),
	}
}

// finishCompaction waits for the summary and appends it to the conversation. If there is none, or
// it is larger than what it covers, the conversation goes on as it is.
func (l *loop) finishCompaction() error {
	c := l.st.Compaction
	results, err := l.ctx.Await(agent.All, agent.FutureOf(c.Task, ModelTask))
	if err != nil {
		return err
	}
	l.st.Compaction = nil
	used, err := l.takeSummary(c, results[0])
	if err != nil {
		return err
	}
	if err := l.save("compacted"); err != nil || !used {
		return err
	}
	if c.Partial && c.Record.Reason != perdure.CompactionAutomatic { // an automatic one follows if it is due
		_, err = l.compact(c.Record.Reason, c.Model, c.Instructions)
	}
	return err
}

// takeSummary appends the summary if it can be used, and reports whether it can.
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

// appendSummary appends the compaction's entry and the record of its model call.
func (l *loop) appendSummary(c *compaction, a modelAnswer, t *perdure.Task) (used bool, err error) {
	summary := perdure.ValidText(strings.TrimSpace(a.Content.PlainText()))
	after, err := l.sizeWith(c, summary)
	switch {
	case err != nil:
		return false, err
	case !whole(a.Content.StopReason):
		return false, l.unusedSummary(c, a, t, "the summary is not whole: the model stopped with "+string(a.Content.StopReason))
	case summary == "":
		return false, l.unusedSummary(c, a, t, "the summary is empty")
	case after >= c.Record.TokensBefore && !l.onlyCompacts():
		return false, l.unusedSummary(c, a, t, fmt.Sprintf("the summary is longer than what it covers: %d tokens in place of %d", after, c.Record.TokensBefore))
	}
	c.Record.TokensAfter = after
	m := perdure.Message{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{perdure.Compaction(summary)}}}
	id, err := l.ctx.Append(m, agent.AsCompaction(c.Record), agent.WithKey(perdure.TaskEntryKey(t.ID)))
	if err != nil {
		return false, err
	}
	if err := l.recordSummary(c, a, t); err != nil {
		return false, err
	}
	l.st.Size, l.st.CompactFrom = contextSize{Tokens: after - l.fixedSize()}, 0
	l.st.Prompt = "" // the prompt of the next call begins with another text, as it must
	if due, _ := l.dueSize(c.Model); after >= due && !c.Partial {
		l.st.CompactFrom = after + l.limits(c.Model).Window/10
	}
	return true, l.emitCompaction(compactionEvent{
		State: compactionCompleted, Reason: c.Record.Reason, Messages: c.Record.Messages,
		TokensBefore: c.Record.TokensBefore, TokensAfter: after, EntryID: &id,
	})
}

// whole reports whether an answer with this stop reason is all that the model wanted to say.
func whole(reason perdure.StopReason) bool {
	return reason == "" || reason == perdure.StopEndTurn || reason == perdure.StopToolUse
}

// unusedSummary records the model call of a summary that is not used.
func (l *loop) unusedSummary(c *compaction, a modelAnswer, t *perdure.Task, why string) error {
	if err := l.recordSummary(c, a, t); err != nil {
		return err
	}
	return l.compactionFailed(c, perdure.Internal, why)
}

// recordSummary appends the llm_call entry of the compaction's model call, and counts its usage.
func (l *loop) recordSummary(c *compaction, a modelAnswer, t *perdure.Task) error {
	call := llmCall(c.Model, a, false)
	call["purpose"] = purposeCompaction
	record, err := json.Marshal(call)
	if err != nil {
		return err
	}
	if a.Content.Usage != nil {
		l.st.count(c.Model, *a.Content.Usage)
	}
	_, err = l.ctx.Append(perdure.Message{Content: perdure.Content{Parts: []perdure.Part{}}},
		agent.AsRecord(record), agent.WithKey("llm_call:"+t.ID.String()))
	return err
}

// compactionFailed emits why there is no summary. The next automatic compaction is tried when a
// tenth of the window is new.
func (l *loop) compactionFailed(c *compaction, code perdure.Code, why string) error {
	l.st.CompactFrom = l.st.Size.of(c.Model, l.fixedSize()) + l.limits(c.Model).Window/10
	err := l.emitCompaction(compactionEvent{State: compactionFailed, Reason: c.Record.Reason, Error: reason(fmt.Errorf("%s", why))})
	if err != nil {
		return err
	}
	return l.compactOnlyFailed(code, why)
}

// sizeWith estimates the context after a compaction with this summary.
func (l *loop) sizeWith(c *compaction, summary string) (int, error) {
	path, err := l.path()
	if err != nil {
		return 0, err
	}
	m := perdure.Message{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{perdure.Compaction(summary)}}}
	e, err := perdure.NewMessageEntry(m)
	if err != nil {
		return 0, err
	}
	agent.AsCompaction(c.Record)(&e)
	p := planner{limits: l.limits(c.Model)}
	pieces, _, err := p.pieces(append(path, e))
	return l.fixedSize() + sum(pieces), err
}
