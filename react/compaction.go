package react

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// tooLongCode is the error code of a model call that failed because the provider refused the
// context of the call as too long.
const tooLongCode perdure.Code = "model_context_length"

// compaction is the state of a compaction while a task writes its summary. It is stored in the
// commit that schedules the task.
type compaction struct {
	N    int       `json:"n"`
	Task uuid.UUID `json:"task"`
	// Model is the model of the next turn. Writer is the model that writes the summary, if it is
	// not Model.
	Model  perdure.ModelConfig      `json:"model"`
	Writer *perdure.ModelConfig     `json:"writer,omitempty"`
	Record perdure.CompactionRecord `json:"record"`
	// Partial says that the summary covers only some of the entries that it should cover, because
	// the window of the writing model is too small for all these entries. Another compaction
	// follows.
	Partial bool `json:"partial,omitempty"`
	// Instructions are the client's instructions about the content of the summary.
	Instructions string `json:"instructions,omitempty"`
	// Background says that the loop continues to call the model while the summary is written. A worker of
	// an older version ignores the field and waits for the summary.
	Background bool `json:"background,omitempty"`
	// maxTokens is the maximum size of the summary in tokens.
	maxTokens int
}

// writer returns the model that writes the summary.
func (c *compaction) writer() perdure.ModelConfig {
	if c.Writer != nil {
		return *c.Writer
	}
	return c.Model
}

// future returns the future of the task that writes the summary.
func (c *compaction) future() agent.Future { return agent.FutureOf(c.Task, ModelTask) }

// compactionEvent is the content of a data event about a compaction.
type compactionEvent struct {
	Type         string                   `json:"type"` // the constant "compaction"
	State        string                   `json:"state"`
	Reason       perdure.CompactionReason `json:"reason"`
	Messages     int                      `json:"messages,omitempty"`
	TokensBefore int                      `json:"tokensBefore,omitempty"`
	TokensAfter  int                      `json:"tokensAfter,omitempty"`
	EntryID      *uuid.UUID               `json:"entryId,omitempty"`
	Error        string                   `json:"error,omitempty"`
}

// The states of a compaction in its data events.
const (
	compactionScheduled = "scheduled" // the run does not wait for the summary
	compactionStarted   = "started"   // the run waits for the summary
	compactionCompleted = "completed"
	compactionFailed    = "failed"
)

func (l *loop) emitCompaction(e compactionEvent) error {
	e.Type = "compaction"
	return l.ctx.Emit(e)
}

// emitBegun emits the data event for a compaction whose summary a model begins to write.
func (l *loop) emitBegun(c *compaction) error {
	e := compactionEvent{State: compactionStarted, Reason: c.Record.Reason, Messages: c.Record.Messages, TokensBefore: c.Record.TokensBefore}
	if c.Background {
		e.State = compactionScheduled
	}
	return l.emitCompaction(e)
}

// compactFirst prepares the context of the next model call. It appends a summary that was written
// in the background, and begins a compaction if a client asked for one or the context is over the
// threshold. If the result `waits` is true, the loop must await a summary before the model call.
func (l *loop) compactFirst(m perdure.ModelConfig) (waits bool, err error) {
	there, err := l.ctx.HasSignal(perdure.CompactSignal)
	if err != nil || !there && l.st.Compaction == nil && !l.isDue(m) {
		return false, err
	}
	// Reading the path commits pending entries. This checkpoint is part of that commit, so nothing
	// is repeated after a crash.
	if err := l.save("turn"); err != nil {
		return false, err
	}
	asked, err := l.ctx.DrainSignals(perdure.CompactSignal)
	if err != nil {
		return false, err
	}
	if n := len(asked); n > 0 {
		if waits, err = l.compactFor(asked[n-1], m); waits || err != nil {
			return waits, err
		}
	}
	if err := l.takeWritten(); err != nil {
		return false, err
	}
	size := l.st.Size.of(m, l.fixedSize())
	if due, automatic := l.dueSize(m); !automatic || size < max(due, l.st.CompactFrom) {
		return false, nil
	}
	if l.st.Compaction != nil {
		return true, l.awaitSummary()
	}
	return l.compact(perdure.CompactionAutomatic, m, "")
}

// threshold returns the size of the context, in tokens, at which an automatic compaction begins.
func (l *loop) threshold(m perdure.ModelConfig) int {
	in, limits := l.asked(), l.limits(m)
	output := min(limits.MaxOutput, limits.Window/4)
	if n := in.Config.MaxTokens; n != nil {
		output = min(*n, limits.Window/2)
	}
	return int(float64(limits.Window-output) * l.compactionConfig().Threshold())
}

// compactFor begins the compaction that a client requested with the signal s. If a summary is being
// written in the background, compactFor awaits that summary, or drops it for a new one if the
// signal has instructions. If there is nothing to compact, or the client still has to answer a tool
// call, compactFor emits an event that says so.
func (l *loop) compactFor(s perdure.Signal, m perdure.ModelConfig) (begun bool, err error) {
	var r perdure.CompactionRequest
	if err := json.Unmarshal(s.Value, &r); err != nil || r.Check() != nil {
		r = perdure.CompactionRequest{} // the server checks the value before it stores it
	}
	why := "there is nothing to compact"
	switch {
	case len(l.st.Open) > 0:
		why = "a tool call of the client is not answered yet"
	case l.st.Compaction != nil && r.Instructions == "":
		return true, l.awaitSummary()
	default:
		if begun, err = l.compact(perdure.CompactionManual, m, r.Instructions); err != nil || begun {
			return begun, err
		}
	}
	return false, l.emitCompaction(compactionEvent{State: compactionFailed, Reason: perdure.CompactionManual, Error: why})
}

// tooLong handles a model call that the provider refused because its context is too long. If a
// summary is being written in the background, the loop waits for that summary and calls the model
// again. Otherwise tooLong begins a compaction. If the settings forbid compaction, if this turn has
// already had a compaction for this reason, or if there is nothing to compact, tooLong ends the
// response.
func (l *loop) tooLong(failure error) error {
	p := l.st.Pending
	if l.st.Compaction != nil {
		l.st.Pending = nil
		return l.awaitSummary()
	}
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

// compact begins a compaction whose summary the loop awaits. It returns false if there is nothing
// to compact.
func (l *loop) compact(reason perdure.CompactionReason, m perdure.ModelConfig, instructions string) (begun bool, err error) {
	c, err := l.plan(reason, m)
	if c == nil || err != nil {
		return false, err
	}
	l.place()
	if l.st.Compaction != nil {
		if err := l.drop("a client asked for another one"); err != nil {
			return false, err
		}
	}
	c.Instructions = instructions
	if err := l.schedule(c); err != nil {
		return false, err
	}
	return true, l.save("compaction")
}

// plan returns the compaction to begin, or nil if there is nothing to compact. It reads the path.
// This read commits pending entries.
func (l *loop) plan(reason perdure.CompactionReason, m perdure.ModelConfig) (*compaction, error) {
	path, err := l.path()
	if err != nil {
		return nil, err
	}
	writer := l.writer(m)
	p := planner{
		limits: l.limits(m), writer: l.limits(writer), target: l.c.Compact.Target, prompt: len(l.c.Compact.Prompt), fixed: l.fixedSize(), newestOnly: reason == perdure.CompactionContextLength,
		all: l.coversAll(), pinnedAlone: l.onlyCompacts(),
	}
	record, partial, ok, err := p.plan(path)
	if !ok && reason == perdure.CompactionManual && err == nil {
		p.newestOnly = true
		record, partial, ok, err = p.plan(path)
	}
	if !ok || err != nil {
		return nil, err
	}
	record.Reason = reason
	c := &compaction{Model: m, Record: record, Partial: partial, maxTokens: p.summaryTokens()}
	if writer != m {
		c.Writer = &writer
	}
	return c, nil
}

// schedule schedules the task that writes the summary of a compaction, and stores the compaction in
// the state. The caller must save the state.
func (l *loop) schedule(c *compaction) error {
	c.N = l.st.Compactions
	l.st.Compactions++
	request := modelRequest{
		Turn: l.st.TurnIndex, Model: c.writer(), LeafEntryID: *l.ctx.Leaf(), Settings: l.st.Settings,
		Compaction: &compactionRequest{
			Last: c.Record.Last, ResultBytes: c.Record.ResultBytes, MaxTokens: c.maxTokens, Instructions: c.Instructions, Prompt: l.c.Compact.Prompt,
		},
	}
	at := l.ctx.Place()
	defer l.ctx.SetPlace(at)
	l.ctx.SetPlace(l.between())
	future := l.ctx.Schedule(ModelTask, request, compactionOptions(c)...)
	if future.Err() != nil {
		return future.Err()
	}
	c.Task, l.st.Compaction = future.ID, c
	return l.emitBegun(c)
}

// path returns the entries of the conversation from which the model's context is built.
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

func compactionOptions(c *compaction) []agent.TaskOption {
	options := []agent.TaskOption{
		agent.Instance(fmt.Sprintf("compact.%d", c.N)), agent.Attempts(modelAttempts),
		agent.Backoff(modelBackoff, modelBackoffMost), agent.OnLost(perdure.OnLostRetry), agent.ReadsContext(),
		agent.Compacts(c.Record.Reason),
	}
	if c.Background {
		options = append(options, agent.Priority(backgroundPriority))
	}
	return options
}
