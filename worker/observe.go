package worker

import (
	"errors"

	"github.com/perdure/perdure"
)

// Observer contains functions that a worker calls when something happens in it. They are called
// concurrently and must not block. Each of them may be nil.
type Observer struct {
	// LeaseLost is called when the worker has lost a lease: on an attempt of a task if `task` is
	// true, and on an execution otherwise.
	LeaseLost func(task bool)
	// Entered is called when a worker begins to run an agent's function from its top. The argument
	// `again` is true if the function was entered before for the same execution.
	Entered func(kind string, again bool)
	// Resumed is called when a parked goroutine continues. The argument is the kind of its agent.
	Resumed func(kind string)
	// Attempted is called when an attempt of a task has ended. The argument `code` is the error
	// code, or "" for success.
	Attempted func(kind string, code perdure.Code)
	// Replayed is called when an attempt returns the result of an earlier attempt from this
	// worker's disk, so that the task's code does not run again.
	Replayed func(kind string)
	// Retried is called when the server has refused a call that the worker will repeat. The
	// argument `code` is the error code.
	Retried func(code perdure.Code)
	// NotStored is called when the worker drops data because the server could not store it for
	// Config.StoreFor. The data is the outcome of an attempt if `task` is true, and the commit of
	// an execution otherwise.
	NotStored func(task bool)
}

func (o *Observer) replayed(kind string) {
	if o != nil && o.Replayed != nil {
		o.Replayed(kind)
	}
}

func (o *Observer) retried(code perdure.Code) {
	if o != nil && o.Retried != nil {
		o.Retried(code)
	}
}

func (o *Observer) notStored(task bool) {
	if o != nil && o.NotStored != nil {
		o.NotStored(task)
	}
}

func (o *Observer) leaseLost(task bool) {
	if o != nil && o.LeaseLost != nil {
		o.LeaseLost(task)
	}
}

func (o *Observer) entered(kind string, again bool) {
	if o != nil && o.Entered != nil {
		o.Entered(kind, again)
	}
}

func (o *Observer) resumed(kind string) {
	if o != nil && o.Resumed != nil {
		o.Resumed(kind)
	}
}

func (o *Observer) attempted(kind string, code perdure.Code) {
	if o != nil && o.Attempted != nil {
		o.Attempted(kind, code)
	}
}

// Load is how much work a worker has at one moment.
type Load struct {
	// Executions and Tasks are the numbers of running executions and attempts. Parked is the number
	// of parked goroutines, and ParkedBytes is the approximate memory that they occupy.
	Executions, Tasks, Parked, ParkedBytes int
}

// Load returns how much work the worker has now.
func (w *Worker) Load() Load {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Load{Executions: len(w.runs), Tasks: len(w.attempts), Parked: len(w.parked), ParkedBytes: w.parkedBytes}
}

// ErrDraining is the error of Worker.Check while the worker is stopping.
var ErrDraining = errors.New("the worker is stopping")

// Check returns nil if the worker can take work. Before the worker is registered at the server, it returns
// unavailable. While the worker stops, it returns ErrDraining. If the last poll or heartbeat failed, it
// returns the error of that request.
func (w *Worker) Check() error {
	select {
	case <-w.registered:
	default:
		return perdure.Errorf(perdure.Unavailable, "the worker has not been registered yet")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draining {
		return ErrDraining
	}
	return w.unreached
}

// reached stores the error of the newest poll or heartbeat, or nil, as the next result of Check.
func (w *Worker) reached(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unreached = err
}
