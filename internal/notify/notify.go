// Package notify carries hints: content-free notifications that say "look at
// the store". A hint may be lost or come twice; everything works, slower, with
// all of them lost.
package notify

import (
	"hash/fnv"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
)

// Notifier carries hints by topic, inside this process and to the other servers
// of the same store.
type Notifier interface {
	// Publish sends a hint to whoever has subscribed, in whichever process. It
	// never blocks and never fails.
	Publish(topic string)
	// PublishAway is Publish for what those in this process know already.
	PublishAway(topic string)
	// Subscribe returns a channel that holds one hint when any came since it was
	// last read, and a function that ends the subscription.
	Subscribe(topics ...string) (<-chan struct{}, func())
}

// Agents is the topic of executions that became PENDING on a queue.
func Agents(org, queue string) string { return "agents." + org + "." + queue }

// Tasks is the topic of tasks that became claimable on a queue.
func Tasks(org, queue string) string { return "tasks." + org + "." + queue }

// Freed is the topic of an org's task having given a place under a limit back.
func Freed(org string) string { return "freed." + org }

// Log is the topic of an execution's log having grown.
func Log(execution uuid.UUID) string { return "log." + execution.String() }

// Stream is the topic of a general stream that has grown, was closed or deleted.
func Stream(id uuid.UUID) string { return "stream." + id.String() }

const (
	// Due is the topic of a timer that is set earlier than any before.
	Due = "due"
	// Recheck is the topic of something that was put off having come due.
	Recheck = "recheck"
)

// Inside reports whether a topic is of no use to other servers: each of them looks
// for what is due by itself.
func Inside(topic string) bool { return topic == Due || topic == Recheck }

// Sure reports whether no hint of n is ever lost: those inside one process, if
// no other writes to the store. Nobody
// then has to look without one.
func Sure(n Notifier) bool {
	inside, ok := n.(*Local)
	return ok && !inside.Shared
}

// Mark stands for a topic, and says nothing of it. Two topics may have the same
// mark: one is then hinted at with the other.
type Mark uint64

// MarkOf returns the mark of a topic, the same in every process.
func MarkOf(topic string) Mark {
	h := fnv.New64a()
	_, _ = h.Write([]byte(topic)) // never fails
	return Mark(h.Sum64())
}

// Counted is implemented by a Notifier that counts, since it was made, the hints
// that were published, and of those the ones that it knows to be lost.
type Counted interface {
	Counts() (sent, lost int64)
}

// Checked is implemented by a Notifier that depends on something which may be
// away. Check gives what is wrong now; it does not wait.
type Checked interface {
	Check() error
}

// Local carries hints inside one process. The zero value is ready.
type Local struct {
	// Shared says that other processes write to the store, too, and their hints do
	// not come here.
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

// Hint gives a hint to those who have subscribed to a topic of that mark. It
// never blocks.
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

// Counts implements Counted. Inside one process none is lost.
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
