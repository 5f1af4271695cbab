package worker

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// taskCache has the states of the tasks and steps that a run knows, and counts their memory. The zero value
// is empty.
type taskCache struct {
	tasks map[uuid.UUID]sizedTask
	bytes int
}

type sizedTask struct {
	task  *perdure.Task
	bytes int
}

// get returns the task with this id, or nil if the run does not know it.
func (k *taskCache) get(id uuid.UUID) *perdure.Task { return k.tasks[id].task }

func (k *taskCache) put(t *perdure.Task) {
	if k.tasks == nil {
		k.tasks = map[uuid.UUID]sizedTask{}
	}
	k.drop(t.ID)
	one := sizedTask{t, len(t.Input) + len(t.Result) + 500}
	k.tasks[t.ID] = one
	k.bytes += one.bytes
}

func (k *taskCache) drop(id uuid.UUID) {
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
