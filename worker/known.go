package worker

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// known contains the states of tasks and steps that a run knows, and counts their memory. The zero
// value is empty.
type known struct {
	tasks map[uuid.UUID]weighed
	bytes int
}

type weighed struct {
	task  *perdure.Task
	bytes int
}

// get returns the task, or nil if the run does not know it.
func (k *known) get(id uuid.UUID) *perdure.Task { return k.tasks[id].task }

func (k *known) put(t *perdure.Task) {
	if k.tasks == nil {
		k.tasks = map[uuid.UUID]weighed{}
	}
	k.drop(t.ID)
	one := weighed{t, len(t.Input) + len(t.Result) + 500}
	k.tasks[t.ID] = one
	k.bytes += one.bytes
}

func (k *known) drop(id uuid.UUID) {
	k.bytes -= k.tasks[id].bytes
	delete(k.tasks, id)
}

// bytesOfSignals returns the approximate number of bytes that the signals occupy in memory.
func bytesOfSignals(signals []perdure.Signal) (n int) {
	for i := range signals {
		n += len(signals[i].Value) + 200
	}
	return n
}
