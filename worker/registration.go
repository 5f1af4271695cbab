package worker

import (
	"context"
	"time"

	"github.com/perdure/perdure"
)

// registerEvery is how often a worker registers its kinds again. If no worker registers a kind for a day,
// the server forgets the signals of that kind.
const registerEvery = time.Hour

// registration returns the kinds of agents and tasks that the worker registers at the server.
func (w *Worker) registration() perdure.Registration {
	r := perdure.Registration{WorkerID: w.ID, Queues: w.Queues, Version: w.Version, Features: perdure.AllFeatures, AgentSlots: cap(w.agentSlots), TaskSlots: cap(w.taskSlots)}
	for _, d := range w.agents {
		r.Agents = append(r.Agents, d.Spec)
	}
	for _, d := range w.tasks {
		r.Tasks = append(r.Tasks, d.Spec)
	}
	return r
}

// registerAgain registers the worker's kinds again if the last registration is older than
// registerEvery. It returns the time of the newest registration. It ignores the settings in the
// reply: the settings of the first registration stay in force.
func (w *Worker) registerAgain(ctx context.Context, last, within time.Duration) time.Duration {
	now := w.Clock()
	if now-last < registerEvery {
		return last
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if _, err := w.Dispatch.Register(ctx, w.registration()); err != nil {
		w.Logger.Warn("the kinds could not be registered again", "error", err)
		return last
	}
	return now
}
