package worker

import (
	"errors"

	"github.com/perdure/perdure"
)

// Observer observes a worker. Its functions are called concurrently, must not block, and may be
// nil.
type Observer struct {
	// LeaseLost is called when the worker lost a lease: on an execution, or on a task's attempt if
	// task is set.
	LeaseLost func(task bool)
	// Entered is called when a function is entered from the top. again reports whether the
	// execution was entered before.
	Entered func(kind string, again bool)
	// Resumed is called when a parked goroutine continues in place.
	Resumed func(kind string)
	// Attempted is called when an attempt of a task has ended, with the error code; "" for success.
	Attempted func(kind string, code perdure.Code)
	// Replayed is called when an attempt ends with a result that an earlier attempt left on this
	// worker's disk. The task's code did not run again.
	Replayed func(kind string)
	// Retried is called when the server refused a call that will be retried, with the error code.
	Retried func(code perdure.Code)
	// NotStored is called when the worker gives up on data that the server could not store for
	// Config.StoreFor. The data is the commit of an execution, or the outcome of an attempt if task
	// is set.
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

// Load is a worker's current load.
type Load struct {
	// Executions and Tasks are running. Parked are the executions with parked goroutines,
	// ParkedBytes their approximate memory.
	Executions, Tasks, Parked, ParkedBytes int
}

// Load returns the worker's current load.
func (w *Worker) Load() Load {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Load{Executions: len(w.runs), Tasks: len(w.attempts), Parked: len(w.parked), ParkedBytes: w.parkedBytes}
}

// ErrDraining is the error of Check on a worker that is stopping.
var ErrDraining = errors.New("the worker is stopping")

// Check returns an error if the worker cannot take work, nil if it can. The error is ErrDraining,
// or the error of the last call to a server that does not answer.
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

// reached records the result of one of the worker's regular calls to the server.
func (w *Worker) reached(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unreached = err
}
