package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/log/logtest"
	"github.com/perdure/perdure/internal/notify/notifytest"
)

// TestReadersGoFromServerToServer moves readers between servers with their cursors while workers
// commit at both servers. It runs once with all hints lost, and once with NATS interrupted again
// and again. It checks that each reader receives exactly the bytes of the log, and that both
// servers return the same log.
func TestReadersGoFromServerToServer(t *testing.T) {
	for name, hints := range map[string]func(*testing.T) (url string, change func()){
		"hints are lost": func(t *testing.T) (string, func()) { return nowhere(t), func() {} },
		"NATS comes and goes": func(t *testing.T) (string, func()) {
			n := notifytest.NewNATS(t)
			return n.URL(), func() { n.Stop(); n.Start() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, change := hints(t)
			f := newFleet(t, 2, url)
			f.work(f.gates[0].addr())
			f.work(f.gates[1].addr())
			s := story{Chapters: 5}
			id := f.start(0, s)
			ctx, cancel := context.WithTimeout(t.Context(), fleetPatience)
			defer cancel()
			var turn atomic.Int64
			readers := logtest.Attach(ctx, t, f.log(id, func() int { return int(turn.Add(1)) % 2 }), logtest.Seed(t), func(err error) error { return err })
			stop := f.again(change)
			readers.Compare(ctx)
			stop()
			f.ended(0, id, s)
			f.ended(1, id, s)
			for _, name := range []string{"consolidated", "stream", "durable catch-up"} {
				var shown [2]string
				for at := range shown {
					p := logtest.Projections(f.log(id, func() int { return at }))[name]
					whole, err := logtest.Whole(ctx, p)
					if err != nil {
						t.Error(err)
					}
					shown[at] = p.Show(whole)
				}
				if shown[0] != shown[1] || shown[0] == "" {
					t.Errorf("%s is not the same on both servers", name)
				}
			}
		})
	}
}

// again calls `change` repeatedly until `stop` is called or the test ends.
func (f *fleet) again(change func()) (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			pause := time.NewTimer(50*time.Millisecond + rand.N(100*time.Millisecond))
			select {
			case <-pause.C:
				change()
			case <-over:
				pause.Stop()
				return
			}
		}
	}()
	stop = sync.OnceFunc(func() { close(over); <-done })
	f.t.Cleanup(stop) // also runs if the test fails
	return stop
}

// TestSignalsWakeAgentsOfOtherServers checks that a signal to one server wakes an agent that is parked
// at a worker of the other server, with NATS and with all hints lost.
func TestSignalsWakeAgentsOfOtherServers(t *testing.T) {
	for name, url := range map[string]func(*testing.T) string{
		"NATS": func(t *testing.T) string { return notifytest.NewNATS(t).URL() },
		"lost": nowhere,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, 2, url(t))
			f.work(f.gates[1].addr())
			s := story{Chapters: 3, Signals: true}
			var all []uuid.UUID
			for i := range 2 {
				all = append(all, f.start(i%2, s))
			}
			var sending sync.WaitGroup
			for _, id := range all {
				sending.Go(func() {
					for range s.Chapters {
						f.waiting(0, id)
						if _, err := f.clients[0].Signal(t.Context(), id, client.SignalRequest{Name: "go.on"}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			sending.Wait()
			for i, id := range all {
				f.ended(i%2, id, s)
			}
		})
	}
}

// waiting waits until the execution waits for a signal. It asks the server with the index `at`.
func (f *fleet) waiting(at int, id uuid.UUID) {
	f.t.Helper()
	f.until("it waits for a signal", func() bool {
		x, err := f.clients[at].Get(f.t.Context(), id)
		return err != nil || x.WaitReason == "signal"
	})
}

// fleetPatience limits the waits of the tests with several servers. These tests take seconds on an idle
// machine.
const fleetPatience = 5 * time.Minute

func (f *fleet) until(what string, done func() bool) {
	f.t.Helper()
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	give := time.After(fleetPatience)
	for !done() {
		select {
		case <-tick.C:
		case <-give:
			f.t.Error("in vain waited until ", what)
			return
		}
	}
}

// TestWorkersContinueAtAnotherServer repeatedly cuts the workers off from one server, then from the
// other, during commits, uploads and streams. It checks that the workers continue at the other
// server, and that no action is lost or repeated.
func TestWorkersContinueAtAnotherServer(t *testing.T) {
	f := newFleet(t, 2, notifytest.NewNATS(t).URL())
	f.work(f.everywhere())
	f.work(f.everywhere())
	s := story{Chapters: 8, Large: true}
	var all []uuid.UUID
	for i := range 4 {
		all = append(all, f.start(i%2, s))
	}
	n := 0
	stop := f.again(func() {
		gone, there := f.gates[n%2], f.gates[1-n%2]
		n++
		gone.cut()
		f.until("the workers are at the other server", func() bool { _, open := there.count(); return open >= 2 })
		gone.mend()
	})
	for i, id := range all {
		if x := f.ended(i%2, id, s); x.WorkerID != nil {
			t.Errorf("%s has a worker after its end", id)
		}
	}
	stop()
	for i, g := range f.gates {
		if passed, _ := g.count(); passed < 2 {
			t.Errorf("only %d connections were made to server %d", passed, i)
		}
	}
}

// TestWorkersLeaveAnUnresponsiveServer checks a worker whose server stops answering. The worker
// connects to the other server before its lease ends, and keeps the lease.
func TestWorkersLeaveAnUnresponsiveServer(t *testing.T) {
	const lease = 4 * time.Second
	f := newFleetWith(t, 2, "", lease)
	f.work(f.everywhere())
	s := story{Chapters: 1, Signals: true}
	id := f.start(0, s)
	f.waiting(0, id)
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.holdBy(func(agent.Context) { once.Do(func() { close(held); <-release }) })
	if _, err := f.clients[0].Signal(t.Context(), id, client.SignalRequest{Name: "go.on"}); err != nil {
		t.Fatal(err)
	}
	<-held
	at := 0
	if _, open := f.gates[0].count(); open == 0 {
		at = 1
	}
	hushed := time.Now()
	f.gates[at].hush()
	before, err := f.clients[0].Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	f.until("the worker is at the other server", func() bool { _, open := f.gates[1-at].count(); return open > 0 })
	f.until("the lease goes on that the silent server has given", func() bool { return time.Since(hushed) > lease+2*time.Second })
	close(release)
	f.ended(1-at, id, s)
	after, err := f.clients[1-at].Get(t.Context(), id)
	if err != nil || before.Status != perdure.StatusRunning {
		t.Fatal(before.Status, err)
	}
	resumed := 0
	for e, err := range f.clients[1-at].Follow(t.Context(), id, "") {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == perdure.EventResumed {
			resumed++
		}
	}
	if resumed != 2 { // once by its task and once by the signal; a lost lease would add a third event
		t.Errorf("it was resumed %d times: its lease was lost; it is %s", resumed, after.Status)
	}
}

// TestCancelReachesWorkersOfOtherServers checks that a cancel at one server ends executions of a
// worker at the other server. One of the executions waits, and the other runs.
func TestCancelReachesWorkersOfOtherServers(t *testing.T) {
	f := newFleetWith(t, 2, notifytest.NewNATS(t).URL(), 1000*time.Hour) // no regular heartbeat tells the worker
	f.work(f.gates[1].addr())
	s := story{Chapters: 1, Signals: true}
	waits, runs := f.start(0, s), f.start(0, s)
	f.waiting(0, waits)
	f.waiting(0, runs)
	held, ended := make(chan struct{}), make(chan error, 1)
	f.holdBy(func(ctx agent.Context) { close(held); <-ctx.Done(); ended <- context.Cause(ctx) })
	if _, err := f.clients[0].Signal(t.Context(), runs, client.SignalRequest{Name: "go.on"}); err != nil {
		t.Fatal(err)
	}
	<-held
	for id, want := range map[uuid.UUID]perdure.Status{waits: perdure.StatusCancelled, runs: perdure.StatusCancelling} {
		x, err := f.clients[0].Cancel(t.Context(), id)
		if err != nil || x.Status != want {
			t.Errorf("the cancel gives %v, %v, want %s", x.Status, err, want)
		}
		f.until("it is cancelled", func() bool {
			x, err := f.clients[1].Get(t.Context(), id)
			return err != nil || x.Status == perdure.StatusCancelled
		})
	}
	if cause := <-ended; !errors.Is(cause, agent.ErrCancelled) {
		t.Errorf("the cause is %v", cause)
	}
}

// TestOneKeyAtTwoServersIsOneExecution checks that two servers that receive one idempotency key at the
// same time create one execution.
func TestOneKeyAtTwoServersIsOneExecution(t *testing.T) {
	f := newFleet(t, 2, "")
	f.work(f.gates[0].addr())
	input, err := json.Marshal(story{Chapters: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		key := uuid.NewString()
		made := make([]uuid.UUID, 8)
		var posts sync.WaitGroup
		for i := range made {
			posts.Go(func() {
				x, err := f.clients[i%2].Start(t.Context(), client.StartRequest{Kind: "teller", Input: input, IdempotencyKey: key})
				if err != nil {
					t.Error(err)
					return
				}
				made[i] = x.ID
			})
		}
		posts.Wait()
		for _, id := range made {
			if id != made[0] {
				t.Fatalf("one key made %s and %s", made[0], id)
			}
		}
	}
}
