package engine

import (
	"errors"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// Work says what was claimed: an execution or a task.
type Work = rules.Work

// Run is an execution as a RunObserver sees it, without contents.
type Run = rules.ObservedRun

// RunObserver is notified of changes of single executions. Its methods are called after a change is
// durable, by many goroutines at once, and must not block.
type RunObserver interface {
	// Started reports that an execution was started.
	Started(Run)
	// Waiting reports that an execution waits for a signal or for the answer to a question.
	Waiting(Run)
	// Ended reports that an execution has reached a terminal status.
	Ended(Run)
}

// The two kinds of Work.
const (
	WorkExecution = rules.WorkExecution
	WorkTask      = rules.WorkTask
)

// Observer observes executions and tasks. Its methods are called after a change is durable, by many
// goroutines at once, and must not block.
type Observer interface {
	// Claimed reports that a worker claimed an execution or a task. The parameter `waited` is for
	// how long the work was ready to be claimed. It is 0 for a task that was claimed in the commit
	// that created it.
	Claimed(work Work, queue string, waited time.Duration)
	// LeaseLost reports that a lease ended because its holder did not renew it in time, or because
	// the connection to the holder was lost.
	LeaseLost(work Work, queue string)
	// TakenOver reports that a worker claimed an execution whose last worker was lost.
	TakenOver(queue string)
	// Ended reports that an execution has reached a terminal status. The parameter `kind` is the
	// kind of its agent.
	Ended(kind string, status perdure.Status)
	// Refused reports that a command was refused with an error code. The parameter `command` is the
	// command's name.
	Refused(command string, code perdure.Code)
}

// observed tells the observers of the engine what a command has changed.
func (e *Engine) observed(d *rules.Decision) {
	for _, o := range d.Seen {
		if e.Observer != nil {
			observe(e.Observer, o)
		}
		if e.Runs != nil {
			observeRun(e.Runs, o)
		}
	}
}

func observe(to Observer, o rules.Observation) {
	switch o.Kind {
	case rules.ObservedClaim:
		to.Claimed(o.Work, o.Queue, o.Waited)
	case rules.ObservedLoss:
		to.LeaseLost(o.Work, o.Queue)
	case rules.ObservedTakeover:
		to.TakenOver(o.Queue)
	case rules.ObservedEnd:
		to.Ended(o.Run.Kind, o.Run.Status)
	}
}

func observeRun(to RunObserver, o rules.Observation) {
	switch o.Kind {
	case rules.ObservedStart:
		to.Started(o.Run)
	case rules.ObservedWait:
		to.Waiting(o.Run)
	case rules.ObservedEnd:
		to.Ended(o.Run)
	}
}

// refused reports a refused command to the observer. It does not report a command that failed
// because its context was cancelled.
func (e *Engine) refused(c store.Command, err error) {
	var coded *perdure.Error
	if e.Observer != nil && errors.As(err, &coded) {
		e.Observer.Refused(c.Name, coded.Code)
	}
}
