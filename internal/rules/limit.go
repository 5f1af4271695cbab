package rules

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// fits reports whether the limits of the task's concurrency key and its queue allow one more
// running task. The state must contain the numbers of running tasks of the key and of the queue.
func (c Config) fits(s *store.State, t *perdure.Task) bool {
	if limit, limited := c.QueueLimits[t.Queue]; limited && s.Queues[t.Queue].Running >= limit {
		return false
	}
	key := t.Options.ConcurrencyKey
	return key == "" || s.Keys[key].Running < t.Options.ConcurrencyLimit
}

// fitsAtOnce reports whether the commit that creates a task may claim it at once. It may not if
// other tasks already wait for the same queue or concurrency key.
func (c Config) fitsAtOnce(s *store.State, t *perdure.Task) bool {
	if _, limited := c.QueueLimits[t.Queue]; limited && s.Queues[t.Queue].Waiting {
		return false
	}
	if key := t.Options.ConcurrencyKey; key != "" && s.Keys[key].Waiting {
		return false
	}
	return c.fits(s, t)
}

// occupy adds one to the numbers of running tasks of the task's concurrency key and queue, because
// the task was just claimed. Later tasks of the same commit are compared with these numbers.
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

// queueUp records in the state that a task waits for its concurrency key and its queue.
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

// free records that the task no longer counts for the limits of its queue and concurrency key.
func (d *draft) free(t *perdure.Task) {
	d.freed = append(d.freed, Freed{Org: t.Org, Queue: t.Queue, Keyed: t.Options.ConcurrencyKey != ""})
}

// limitNeeds adds to n the queues and concurrency keys whose numbers of tasks Commit reads.
func (c Config) limitNeeds(n *store.Needs, x *perdure.Execution, commit perdure.Commit) {
	if x == nil || commit.Offer.Slots == 0 {
		return
	}
	for _, t := range commit.Tasks {
		if key := t.Options.ConcurrencyKey; key != "" {
			n.ConcurrencyKeys = append(n.ConcurrencyKeys, key)
		}
		queue := t.Options.Normal(x.Queue).Queue
		if _, limited := c.QueueLimits[queue]; limited {
			n.Queues = append(n.Queues, queue)
		}
	}
}

// limitedBy returns the id of the API key whose limits apply to the execution; nil if there is
// none. The limits can refuse requests of clients: starts, signals and uploads. They never refuse
// the work of a running execution. The usage of a key may therefore exceed a limit. Requests are
// then refused until the usage is within the limit. See docs/decisions/017-limits-of-keys.md.
func limitedBy(x *perdure.Execution) *uuid.UUID {
	if x == nil {
		return nil
	}
	return x.KeyID
}

// atWork reports whether an execution counts as running for the limits of its key: it has not
// ended, and is not WAITING for something other than a task.
func atWork(x *perdure.Execution) bool {
	return !x.Status.Terminal() && (x.Status != perdure.StatusWaiting || x.WaitReason == "task")
}

// roomToStore checks that the API key's limit of stored bytes allows `more` additional bytes.
// Error: rate_limited.
func roomToStore(s *store.State, more int64) error {
	if s.Limited == nil || s.Limited.Use == nil {
		return nil
	}
	return s.Limited.Limits.Store(*s.Limited.Use, more)
}

// roomToRun checks that the API key's limits allow one more running execution and `more` additional
// stored bytes. Error: rate_limited.
func roomToRun(s *store.State, more int64) error {
	if s.Limited == nil || s.Limited.Use == nil {
		return nil
	}
	if err := s.Limited.Limits.Run(*s.Limited.Use); err != nil {
		return err
	}
	return roomToStore(s, more)
}

// roomToSignal checks that the API key's limits allow a signal: its bytes and, if it wakes an
// execution that does not count as running, one more running execution. Error: rate_limited.
func roomToSignal(s *store.State, n NewSignal) error {
	x := s.Execution
	if !atWork(x) && x.Wait != nil {
		if _, met := x.Wait.Mark(facts{now: s.Now, signals: []string{n.Name}}); met {
			return roomToRun(s, int64(len(n.Value)))
		}
	}
	return roomToStore(s, int64(len(n.Value)))
}
