package engine

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// fits reports whether the limits of the task's key and queue allow one more running task. The
// state must hold the loads of both.
func (e *Engine) fits(s *store.State, t *perdure.Task) bool {
	if limit, limited := e.QueueLimits[t.Queue]; limited && s.Queues[t.Queue].Running >= limit {
		return false
	}
	key := t.Options.ConcurrencyKey
	return key == "" || s.Keys[key].Running < t.Options.ConcurrencyLimit
}

// fitsAtOnce reports whether the commit that creates a task may claim it at once. It may not if
// other tasks already wait for a place of the queue or the key.
func (e *Engine) fitsAtOnce(s *store.State, t *perdure.Task) bool {
	if _, limited := e.QueueLimits[t.Queue]; limited && s.Queues[t.Queue].Waiting {
		return false
	}
	if key := t.Options.ConcurrencyKey; key != "" && s.Keys[key].Waiting {
		return false
	}
	return e.fits(s, t)
}

// occupy counts a task that this decision has claimed as running.
func (d *draft) occupy(t *perdure.Task) {
	count := func(loads map[string]store.Load, name string) {
		l := loads[name]
		l.Running++
		loads[name] = l
	}
	if key := t.Options.ConcurrencyKey; key != "" && d.s.Keys != nil {
		count(d.s.Keys, key)
	}
	if d.s.Queues != nil {
		count(d.s.Queues, t.Queue)
	}
}

// queueUp marks the key and queue of a task that polls are to claim as having a waiting task.
func (d *draft) queueUp(t *perdure.Task) {
	mark := func(loads map[string]store.Load, name string) {
		l := loads[name]
		l.Waiting = true
		loads[name] = l
	}
	if key := t.Options.ConcurrencyKey; key != "" && d.s.Keys != nil {
		mark(d.s.Keys, key)
	}
	if d.s.Queues != nil {
		mark(d.s.Queues, t.Queue)
	}
}

// free records that the task has freed its place: it ended, or no longer waits before other tasks.
func (d *draft) free(t *perdure.Task) {
	d.freed = append(d.freed, freed{org: t.Org, queue: t.Queue, keyed: t.Options.ConcurrencyKey != ""})
}

// limitNeeds adds the loads that the new tasks of a commit are decided on.
func (e *Engine) limitNeeds(n *store.Needs, x *perdure.Execution, c perdure.Commit) {
	if x == nil || c.Eager.Slots == 0 {
		return
	}
	for _, t := range c.Tasks {
		if key := t.Options.ConcurrencyKey; key != "" {
			n.ConcurrencyKeys = append(n.ConcurrencyKeys, key)
		}
		queue := t.Options.Normal(x.Queue).Queue
		if _, limited := e.QueueLimits[queue]; limited {
			n.Queues = append(n.Queues, queue)
		}
	}
}
