// Package notify sends hints: notifications without content that mean "read the store". A hint may
// be lost or arrive twice. If all hints are lost, everything still works, but more slowly.
package notify

import (
	"hash/fnv"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
)

// Notifier sends hints by topic, inside this process and to the other servers of the same store.
type Notifier interface {
	// Publish sends a hint to the subscribers in all processes. It never blocks and never fails.
	Publish(topic string)
	// PublishAway sends a hint only to other processes, because the subscribers in this process
	// already have the change.
	PublishAway(topic string)
	// Subscribe returns a channel and a function that ends the subscription. A receive from the
	// channel returns one value if one or more hints arrived since the last receive.
	Subscribe(topics ...string) (<-chan struct{}, func())
}

// Agents returns the topic of executions that became PENDING on a queue.
func Agents(org, queue string) string { return "agents." + org + "." + queue }

// Tasks returns the topic of tasks that became claimable on a queue.
func Tasks(org, queue string) string { return "tasks." + org + "." + queue }

// Leases returns the topic of one worker. A hint means that the server has ended a lease of the
// worker, or that the worker must cancel some of its work.
func Leases(org string, worker uuid.UUID) string { return "leases." + org + "." + worker.String() }

// Freed returns the topic for changes that allow more of an org's tasks to run, such as the end of
// a task whose queue has a limit.
func Freed(org string) string { return "freed." + org }

// Log returns the topic for additions to an execution's log.
func Log(execution uuid.UUID) string { return "log." + execution.String() }

// Stream returns the topic for additions to a durable stream that is not the log of an execution,
// and for the stream's close or deletion.
func Stream(id uuid.UUID) string { return "stream." + id.String() }

// Questions returns the topic for changes of an org's questions.
func Questions(org string) string { return "questions." + org }

// Pauses is the topic for paused and resumed queues of any org.
const Pauses = "pauses"

const (
	// Due is the topic for new due times, for example of a timer that is due earlier than all
	// others.
	Due = "due"
	// Recheck is the topic for postponed work that has become due.
	Recheck = "recheck"
	// Deliveries is the topic for deliveries to webhooks that are due.
	Deliveries = "deliveries"
	// BulkActions is the topic for bulk actions that have work to do.
	BulkActions = "bulk"
)

// Inside reports whether hints of a topic stay in this process. Other servers do not need them,
// because each server looks for due work itself.
func Inside(topic string) bool {
	return topic == Due || topic == Recheck || topic == Deliveries || topic == BulkActions
}

// Sure reports whether the Notifier never loses a hint, so that readers need not poll. This is true
// only for a [Local] whose store no other process writes to.
func Sure(n Notifier) bool {
	inside, ok := n.(*Local)
	return ok && !inside.Shared
}

// Mark is a hash of a topic, from which the topic cannot be read. If two topics have the same mark,
// a hint for one also reaches the subscribers of the other, which is harmless.
type Mark uint64

// MarkOf returns the mark of a topic, which is the same in every process.
func MarkOf(topic string) Mark {
	h := fnv.New64a()
	_, _ = h.Write([]byte(topic)) // never fails
	return Mark(h.Sum64())
}

// Counted is implemented by a Notifier that counts the published hints, and those of them that it
// knows to be lost.
type Counted interface {
	Counts() (sent, lost int64)
}

// Checked is implemented by a Notifier that depends on a service which may be unavailable. Check
// returns the current problem of the service; nil if the service is available. Check does not wait.
type Checked interface {
	Check() error
}

// Local sends hints inside one process. The zero value is ready to use.
type Local struct {
	// Shared reports whether other processes write to the same store. Their hints do not arrive in
	// this process.
	Shared bool

	sent atomic.Int64

	mu   sync.Mutex // guards subs
	subs map[Mark]map[chan struct{}]bool
}

// Publish implements Notifier.
func (l *Local) Publish(topic string) {
	l.sent.Add(1)
	l.Hint(MarkOf(topic))
}

// PublishAway implements Notifier.
func (l *Local) PublishAway(string) {}

// Hint sends a hint to the subscribers of topics with the mark. It never blocks.
func (l *Local) Hint(m Mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ch := range l.subs[m] {
		select {
		case ch <- struct{}{}:
		default: // one hint waits already, and one is enough
		}
	}
}

// Counts implements Counted. No hint is lost inside one process.
func (l *Local) Counts() (sent, lost int64) { return l.sent.Load(), 0 }

// Subscribe implements Notifier.
func (l *Local) Subscribe(topics ...string) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	marks := make([]Mark, len(topics))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.subs == nil {
		l.subs = map[Mark]map[chan struct{}]bool{}
	}
	for i, topic := range topics {
		m := MarkOf(topic)
		marks[i] = m
		if l.subs[m] == nil {
			l.subs[m] = map[chan struct{}]bool{}
		}
		l.subs[m][ch] = true
	}
	return ch, func() { l.unsubscribe(ch, marks) }
}

func (l *Local) unsubscribe(ch chan struct{}, marks []Mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range marks {
		delete(l.subs[m], ch)
		if len(l.subs[m]) == 0 {
			delete(l.subs, m)
		}
	}
}
