package engine

import (
	"errors"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Work is what workers claim.
type Work string

// The two kinds of Work.
const (
	WorkExecution Work = "execution"
	WorkTask      Work = "task"
)

// Observer is told what becomes of executions and tasks, once it is durable. Its
// methods are called by many goroutines at once and must not block.
type Observer interface {
	// Claimed says that a worker has it, and how long it was ready before; 0 for
	// one that was claimed in the commit that made it.
	Claimed(work Work, queue string, waited time.Duration)
	// LeaseLost says that the worker that held it was silent for too long, or
	// ended with it.
	LeaseLost(work Work, queue string)
	// TakenOver says that a worker continues with an execution whose worker was
	// lost.
	TakenOver(queue string)
	// Ended says that an execution of the kind has come to a terminal status.
	Ended(kind string, status perdure.Status)
	// Refused says that a command was refused with the code.
	Refused(command string, code perdure.Code)
}

// observe has something told to the observer once the draft is durable.
func (d *draft) observe(tell func(Observer)) { d.seen = append(d.seen, tell) }

func (d *draft) lostLease(work Work, queue string) {
	d.observe(func(o Observer) { o.LeaseLost(work, queue) })
}

// observed tells the observer what a decision came to.
func (e *Engine) observed(d *decided) {
	if e.Observer == nil {
		return
	}
	for _, tell := range d.seen {
		tell(e.Observer)
	}
}

// refused tells the observer of a command that was refused. A caller that left
// was not.
func (e *Engine) refused(c store.Command, err error) {
	var coded *perdure.Error
	if e.Observer != nil && errors.As(err, &coded) {
		e.Observer.Refused(c.Name, coded.Code)
	}
}
