package worker

import (
	"errors"

	"github.com/perdure/perdure"
)

// Observer is told what a worker does. Its functions are called by many
// goroutines at once, must not block, and may be nil.
type Observer struct {
	// LeaseLost says that the worker had to drop what it held: an execution, or
	// with task the attempt of one.
	LeaseLost func(task bool)
	// Entered says that a function was entered from the top; again, that it was
	// not for the first time in the life of its execution.
	Entered func(kind string, again bool)
	// Resumed says that a parked goroutine continued in place.
	Resumed func(kind string)
	// Attempted says that an attempt of a task has ended, and with which error
	// code; "" for success.
	Attempted func(kind string, code perdure.Code)
	// Replayed says that an attempt ended with a result that an earlier one had
	// left on this worker's disk: the kind's code did not run again.
	Replayed func(kind string)
	// Retried says that the server did not take what is sent again, and with which
	// code.
	Retried func(code perdure.Code)
	// NotStored says that what the server could not store for Config.StoreFor was
	// given up: what an execution commits, or with task the outcome of an attempt.
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

// Load is what a worker has at one moment.
type Load struct {
	// Running executions and tasks, and the executions whose goroutines are
	// parked, with about the bytes that those hold.
	Executions, Tasks, Parked, ParkedBytes int
}

// Load tells what the worker has now.
func (w *Worker) Load() Load {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Load{Executions: len(w.runs), Tasks: len(w.attempts), Parked: len(w.parked), ParkedBytes: w.parkedBytes}
}

// ErrDraining is what Check gives of a worker that is stopping.
var ErrDraining = errors.New("the worker is stopping")

// Check tells why the worker cannot take work: ErrDraining, or that the server
// has not answered since it was last asked. Nil if it can.
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

// reached notes how a call of the server that the worker makes again and again
// went.
func (w *Worker) reached(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unreached = err
}
