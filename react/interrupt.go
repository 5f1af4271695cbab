package react

import (
	"encoding/json"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/tool"
)

// stoppedTurn is a turn that a person has stopped. The commit that stored this state also cancelled the
// tasks of the turn and withdrew its questions.
type stoppedTurn struct {
	Reason string `json:"reason,omitempty"`
}

// stoppedCall is the result of a tool call that had no result when a person stopped its turn.
const stoppedCall = "stopped by the user"

// await waits until all tasks have ended, and returns their results. If a person stops the turn first,
// await records the stop in the state, and returns nil.
func (l *loop) await(futures ...agent.Future) ([]agent.Result, error) {
	ended := make([]agent.Condition, len(futures))
	for i, f := range futures {
		ended[i] = agent.OnTask(f)
	}
	met, err := l.ctx.WaitAny(0, agent.OnAll(ended...), agent.OnSignal(perdure.InterruptSignal))
	if err != nil {
		return nil, err
	}
	if met.Index == 0 {
		return met.Tasks, nil
	}
	return nil, l.stop(met.Signal())
}

// interrupted takes the signal with which a person has stopped the turn, and calls stop. It returns
// false if there is no such signal.
func (l *loop) interrupted() (bool, error) {
	there, err := l.ctx.HasSignal(perdure.InterruptSignal)
	if err != nil || !there {
		return false, err
	}
	signals, err := l.ctx.DrainSignals(perdure.InterruptSignal)
	if err != nil || len(signals) == 0 {
		return false, err
	}
	return true, l.stop(signals[0])
}

// stop cancels the tasks of the turn and withdraws the turn's questions. The same commit takes the
// signal and stores the state, so that the stop is not lost if the function is entered again.
func (l *loop) stop(s perdure.Signal) error {
	var i perdure.Interrupt
	if err := json.Unmarshal(s.Value, &i); err != nil || i.Check() != nil {
		i = perdure.Interrupt{} // the server checks the value before it stores it
	}
	l.st.Stopping = &stoppedTurn{Reason: i.Reason}
	if p := l.st.Pending; p != nil {
		if p.ModelTask != nil {
			l.ctx.StopTask(agent.FutureOf(*p.ModelTask, ModelTask))
		}
		for i := range p.Calls[p.Done:] {
			c := &p.Calls[p.Done+i]
			if c.Task != nil {
				l.ctx.CancelTask(agent.FutureOf(*c.Task, c.Name))
			}
			if c.Question != nil {
				l.ctx.WithdrawQuestion(agent.NewQuestionRef(*c.Question))
				c.Question, c.Refused = nil, stoppedCall
			}
		}
	}
	l.st.Rest = nil
	if l.st.Compaction != nil {
		if err := l.drop("the turn was stopped before the summary was written"); err != nil {
			return err
		}
	}
	if err := l.save("stopped"); err != nil {
		return err
	}
	return l.ctx.Flush()
}

// finishStop stores what the stopped turn has produced, and ends the response.
func (l *loop) finishStop() error {
	stopped := l.st.Stopping
	if p := l.st.Pending; p != nil {
		var err error
		if p.ModelTask != nil {
			err = l.keepAnswer(p)
		} else {
			err = l.closeStopped(p)
		}
		if err != nil {
			return err
		}
	}
	l.st.Stopping = nil
	if l.st.Idle { // there is no turn: only a compaction was stopped
		return nil
	}
	return l.endResponse(perdure.StopInterrupted, stopped.Reason)
}

// keepAnswer stores the answer of the stopped turn's model call: the whole answer if the call had
// completed, or the text that clients have already seen.
func (l *loop) keepAnswer(p *pending) error {
	future := agent.FutureOf(*p.ModelTask, ModelTask)
	results, err := l.ctx.Await(agent.All, future)
	if err != nil {
		return err
	}
	if results[0].Err() == nil {
		if _, err := l.takeAnswer(p, results[0].Task); err != nil {
			return err
		}
		return l.closeStopped(p)
	}
	text, err := l.ctx.StreamedText(future)
	if err != nil && !perdure.IsCode(err, perdure.Internal) { // an older server lacks this call
		return err
	}
	l.st.TurnIndex++
	if strings.TrimSpace(text) == "" {
		return nil
	}
	l.st.Text = text
	m := perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{
		Parts: []perdure.Part{perdure.Text(text)}, Provider: p.Model.Provider, Model: p.Model.ModelID, StopReason: perdure.StopInterrupted,
	}}
	_, err = l.ctx.Append(m, agent.WithEntryID(p.EntryID), agent.WithKey(perdure.TaskEntryKey(*p.ModelTask)))
	l.st.Size.answered(p.Model, m, l.limits(p.Model))
	return err
}

// closeStopped stores a result for each call of the turn that has none: the result of its task, if the task
// completed before the stop, and stoppedCall otherwise.
func (l *loop) closeStopped(p *pending) error {
	for _, c := range p.Calls[p.Done:] {
		result, task := tool.Errorf(stoppedCall), (*perdure.Task)(nil)
		if c.Task != nil {
			results, err := l.ctx.Await(agent.All, agent.FutureOf(*c.Task, c.Name))
			if err != nil {
				return err
			}
			if task = results[0].Task; task.Status != perdure.TaskCancelled {
				result = resultOf(results[0])
			}
		}
		if err := l.storeResult(c, result, task); err != nil {
			return err
		}
	}
	return nil
}
