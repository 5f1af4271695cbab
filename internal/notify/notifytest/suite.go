// Package notifytest has tests that every notify.Notifier must pass, and a NATS server for tests.
package notifytest

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/notify"
)

// Open opens a Notifier that stands for one more process of the deployment. The Notifier is closed
// at the end of the test.
type Open func(t testing.TB) notify.Notifier

// patience is the maximum time to wait for a hint.
const patience = 30 * time.Second

// Inside tests hints inside one process, which need no messages to other processes. No hint is
// lost, none blocks the publisher, and none reaches subscribers of other topics.
func Inside(t *testing.T, open Open) {
	t.Run("a hint reaches who has subscribed", func(t *testing.T) { reaches(t, open(t)) })
	t.Run("a hint is of its topic", func(t *testing.T) { ofItsTopic(t, open(t)) })
	t.Run("one hint waits, however many come", func(t *testing.T) { oneWaits(t, open(t)) })
	t.Run("what ended gets none", func(t *testing.T) { endsWithItsSubscription(t, open(t)) })
	t.Run("a hint for others is not for those here", func(t *testing.T) { notForThoseHere(t, open(t)) })
	t.Run("any number at once", func(t *testing.T) { atOnce(t, open(t)) })
}

func waits(hints <-chan struct{}) bool {
	select {
	case <-hints:
		return true
	default:
		return false
	}
}

func reaches(t *testing.T, n notify.Notifier) {
	id := uuid.New()
	topics := []string{
		notify.Agents("acme", "default"), notify.Tasks("acme", "default"), notify.Freed("acme"), notify.Log(id), notify.Stream(id), notify.Questions("acme"), notify.Leases("acme", id),
		notify.Due, notify.Recheck,
	}
	all, end := n.Subscribe(topics...)
	defer end()
	for _, topic := range topics {
		one, end := n.Subscribe(topic)
		n.Publish(topic)
		if !waits(one) || !waits(all) {
			t.Errorf("a hint at %s is lost", topic)
		}
		end()
	}
}

func ofItsTopic(t *testing.T, n notify.Notifier) {
	id := uuid.New()
	topics := []string{
		notify.Agents("acme", "default"), notify.Agents("acme", "other"), notify.Agents("other", "default"),
		notify.Tasks("acme", "default"), notify.Freed("acme"), notify.Log(id), notify.Stream(id), notify.Log(uuid.New()), notify.Questions("acme"), notify.Questions("other"),
		notify.Leases("acme", id), notify.Leases("other", id), notify.Leases("acme", uuid.New()),
		notify.Due, notify.Recheck,
	}
	for i, topic := range topics {
		hints, end := n.Subscribe(topic)
		for j, other := range topics {
			if i != j {
				n.Publish(other)
			}
		}
		if waits(hints) {
			t.Errorf("a hint at something else is one at %s", topic)
		}
		end()
	}
}

func oneWaits(t *testing.T, n notify.Notifier) {
	topic := notify.Log(uuid.New())
	slow, end := n.Subscribe(topic)
	defer end()
	for range 20_000 {
		n.Publish(topic)
	}
	if !waits(slow) || waits(slow) {
		t.Error("of many hints not exactly one waits")
	}
	n.Publish(topic)
	if !waits(slow) {
		t.Error("after those that were read, none comes")
	}
}

func endsWithItsSubscription(t *testing.T, n notify.Notifier) {
	topic := notify.Log(uuid.New())
	over, end := n.Subscribe(topic, notify.Freed("acme"))
	stays, endOther := n.Subscribe(topic)
	defer endOther()
	end()
	end() // a second call has no effect
	n.Publish(topic)
	n.Publish(notify.Freed("acme"))
	if waits(over) || !waits(stays) {
		t.Error("the end of a subscription is that of another")
	}
}

func notForThoseHere(t *testing.T, n notify.Notifier) {
	topic := notify.Log(uuid.New())
	hints, end := n.Subscribe(topic)
	defer end()
	n.PublishAway(topic)
	n.Publish(notify.Freed("acme"))
	if waits(hints) {
		t.Error("a hint for others came here")
	}
}

func atOnce(t *testing.T, n notify.Notifier) {
	topic := notify.Agents("acme", "default")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				hints, end := n.Subscribe(topic, notify.Log(uuid.New()))
				n.Publish(topic)
				n.PublishAway(topic)
				if !waits(hints) {
					t.Error("a hint is lost")
				}
				end()
			}
		})
	}
	wg.Wait()
}

// Between tests that hints reach other processes, even if each message arrives twice.
func Between(t *testing.T, open Open) {
	t.Run("a hint reaches every other process", func(t *testing.T) { reachesOthers(t, open) })
	t.Run("so does one for others alone", func(t *testing.T) { reachesAway(t, open) })
	t.Run("many topics, none left out", func(t *testing.T) { noneLeftOut(t, open) })
	t.Run("what is of no use elsewhere stays", func(t *testing.T) { staysInside(t, open) })
}

// comes waits for a hint, and fails the test if none arrives.
func comes(t *testing.T, hints <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-hints:
	case <-time.After(patience):
		t.Errorf("no hint at %s", what)
	}
}

func reachesOthers(t *testing.T, open Open) {
	from, others := open(t), []notify.Notifier{open(t), open(t)}
	topic, other := notify.Log(uuid.New()), notify.Log(uuid.New())
	for _, n := range others {
		hints, end := n.Subscribe(topic)
		defer end()
		none, endNone := n.Subscribe(other)
		defer endNone()
		from.Publish(topic)
		comes(t, hints, topic)
		if waits(none) {
			t.Error("a hint came at a topic that none was given at")
		}
	}
}

func reachesAway(t *testing.T, open Open) {
	a, b := open(t), open(t)
	topic := notify.Log(uuid.New())
	there, end := b.Subscribe(topic)
	defer end()
	a.PublishAway(topic)
	comes(t, there, topic)
}

func noneLeftOut(t *testing.T, open Open) {
	a, b := open(t), open(t)
	const topics = 10_000
	all := make([]string, topics)
	hints := make([]<-chan struct{}, topics)
	for i := range all {
		all[i] = notify.Log(uuid.New())
		var end func()
		hints[i], end = b.Subscribe(all[i])
		defer end()
	}
	for range 3 {
		for _, topic := range all {
			a.Publish(topic)
		}
	}
	for i, topic := range all {
		comes(t, hints[i], topic)
		if t.Failed() {
			return
		}
	}
}

func staysInside(t *testing.T, open Open) {
	a, b := open(t), open(t)
	topic := notify.Freed("acme")
	inside, end := b.Subscribe(notify.Due, notify.Recheck)
	defer end()
	fence, endFence := b.Subscribe(topic)
	defer endFence()
	a.Publish(notify.Due)
	a.Publish(notify.Recheck)
	a.Publish(topic)
	comes(t, fence, topic)
	if waits(inside) {
		t.Error("a hint that is of use in its own process alone went to another")
	}
}

// Apart tests two processes that do not receive each other's messages: messages are lost, or the
// processes belong to different deployments. Hints arrive inside each process but not in the other
// process, and nothing blocks.
func Apart(t *testing.T, a, b notify.Notifier) {
	topic := notify.Log(uuid.New())
	there, end := b.Subscribe(topic)
	defer end()
	here, endHere := a.Subscribe(topic)
	defer endHere()
	for range 100_000 {
		a.Publish(topic)
	}
	if !waits(here) || waits(there) {
		t.Error("a hint came where none comes, or did not come where it does")
	}
}
