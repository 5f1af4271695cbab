package worker

import (
	"errors"

	"github.com/perdure/perdure"
)

// Observer contains functions that a worker calls when something happens. They are called
// concurrently and must not block. Each of them may be nil.
type Observer struct {
	// LeaseLost is called when the worker has lost a lease. If the argument task is true, it is the
	// lease on an attempt of a task; otherwise it is the lease on an execution.
	LeaseLost func(task bool)
	// Entered is called when a worker enters an agent's function from the top. The argument again
	// says whether the function was entered before for this execution.
	Entered func(kind string, again bool)
	// Resumed is called when a parked goroutine continues.
	Resumed func(kind string)
	// Attempted is called when an attempt of a task has ended. The argument code is the error code,
	// or "" for success.
	Attempted func(kind string, code perdure.Code)
	// Replayed is called when an attempt returns the result of an earlier attempt from this
	// worker's disk, so that the task's code does not run again.
	Replayed func(kind string)
	// Retried is called when the server refused a call that the worker will retry. The argument
	// code is the error code.
	Retried func(code perdure.Code)
	// NotStored is called when the worker drops data because the server could not store it for
	// Config.StoreFor. If the argument task is true, the data is the outcome of an attempt;
	// otherwise it is the commit of an execution.
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

// Load is the work that a worker has at the moment.
type Load struct {
	// Executions and Tasks are the numbers of running executions and attempts. Parked is the number
	// of parked goroutines, and ParkedBytes is the approximate memory that they occupy.
	Executions, Tasks, Parked, ParkedBytes int
}

// Load returns the work that the worker has at the moment.
func (w *Worker) Load() Load {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Load{Executions: len(w.runs), Tasks: len(w.attempts), Parked: len(w.parked), ParkedBytes: w.parkedBytes}
}

// ErrDraining is returned by Check for a worker that is stopping.
var ErrDraining = errors.New("the worker is stopping")

// Check returns nil if the worker can take work. Before the worker is registered, it returns
// unavailable. While the worker stops, it returns ErrDraining. If the last poll or heartbeat
// failed, it returns that error.
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

// reached records the result of a poll or heartbeat, which Check returns.
func (w *Worker) reached(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unreached = err
}
