package react

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

const (
	// backgroundPart is the size of the context at which a compaction in the background begins, as
	// a fraction of the threshold. For example, if the threshold is 75 % of the window, a
	// compaction in the background begins at 60 % of the window.
	backgroundPart = 0.8
	// backgroundPriority is the priority of the task that writes a summary in the background. It is
	// lower than the priority of other tasks, because nothing waits for that summary.
	backgroundPriority = 7
)

// isDue reports whether the context is so large that a compaction should begin, either in the
// background or before the next model call.
func (l *loop) isDue(m perdure.ModelConfig) bool {
	due, automatic := l.dueSize(m)
	if !automatic {
		return false
	}
	size := l.st.Size.of(m, l.fixedSize())
	ahead := max(int(backgroundPart*float64(due)), l.st.CompactFrom, l.st.BackgroundFrom)
	return size >= ahead || size >= max(due, l.st.CompactFrom)
}

// planAhead returns the compaction that begins in the background together with the next model call.
// It returns nil if no compaction is due. It reads the path. This read commits pending entries.
func (l *loop) planAhead(m perdure.ModelConfig) (*compaction, error) {
	if l.st.Compaction != nil || !l.isDue(m) || l.asked().CompactFrom != nil {
		return nil, nil // a client that has set CompactFrom expects the compaction before the call
	}
	c, err := l.plan(perdure.CompactionAutomatic, m)
	if c != nil {
		c.Background = true
	}
	return c, err
}

// takeWritten appends the summary of the compaction in the background, if the task of the summary
// has ended. The next checkpoint commits the entry of the summary.
func (l *loop) takeWritten() error {
	c := l.st.Compaction
	if c == nil {
		return nil
	}
	r, err := l.ctx.Peek(c.future())
	if err != nil || !r.Ended() {
		return err
	}
	_, err = l.finish(c, r)
	return err
}

// awaitSummary makes the loop wait for the summary that is being written in the background.
func (l *loop) awaitSummary() error {
	l.st.Compaction.Background = false
	l.place()
	if err := l.emitBegun(l.st.Compaction); err != nil {
		return err
	}
	return l.save("compaction")
}

// drop ends the compaction in the background without its summary. The parameter `why` is the
// reason. If the summary is already written, drop records the model call that wrote it, because
// that call cost money.
func (l *loop) drop(why string) error {
	c := l.st.Compaction
	l.st.Compaction = nil
	r, err := l.ctx.Peek(c.future())
	if err != nil {
		return err
	}
	if !r.Ended() {
		l.ctx.CancelTask(c.future())
	}
	var a modelAnswer
	if r.Err() == nil && json.Unmarshal(r.Task.Result, &a) == nil {
		if err := l.recordSummary(c, a, r.Task); err != nil {
			return err
		}
	}
	return l.emitCompaction(compactionEvent{State: compactionFailed, Reason: c.Record.Reason, Error: why})
}

// settleCompaction handles a compaction in the background when a response has ended. If the summary
// is written, it is appended, unless the client still has to answer tool calls. If the summary is
// not appended and the run ends, the compaction is dropped. If the run goes on, the summary is
// appended before the next model call. The run does not wait for the summary here, so that clients
// see at once that the response has ended. The caller has saved the state.
func (l *loop) settleCompaction(ends bool) error {
	if len(l.st.Open) == 0 {
		if err := l.takeWritten(); err != nil {
			return err
		}
	}
	if l.st.Compaction == nil || !ends {
		return nil
	}
	if err := l.drop("the run ended before the summary was written"); err != nil {
		return err
	}
	return l.save("idle")
}
