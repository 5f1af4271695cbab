package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/e2e/chaos"
	"github.com/perdure/perdure/internal/log/logtest"
)

// load is many running agents, with clients that send messages and read logs.
type load struct {
	*fleet
	ctx  context.Context
	runs []*loadRun
	all  sync.WaitGroup

	mu        sync.Mutex // guards wrong, wanderers and the records of senders
	wrong     []string
	wanderers []*logtest.Readers
}

// loadRun is one agent and its clients.
type loadRun struct {
	script  chaos.Script
	id      uuid.UUID
	oneShot bool
	sent    []chaos.Sent
	status  perdure.Status
	readers []*follower
}

// senders is the number of clients per run; messagesOfEach is the number of messages that each
// client sends.
const (
	senders        = 2
	messagesOfEach = 2
)

// newLoad starts all runs, a few at a time.
func (f *fleet) newLoad(ctx context.Context, seed uint64) *load {
	f.t.Helper()
	l := &load{fleet: f, ctx: ctx}
	f.write("shared.txt", chaos.Shared)
	for i := range f.size.runs {
		script := chaos.Script{Name: fmt.Sprintf("run-%d", i), Run: i, Turns: f.size.turns, Late: senders * messagesOfEach, Pause: f.size.pause}
		if err := os.WriteFile(filepath.Join(f.scripts(), script.Name), []byte(script.Text()), 0o600); err != nil {
			f.t.Fatal(err)
		}
		r := &loadRun{script: script, oneShot: i%2 == 0}
		l.runs = append(l.runs, r)
		l.all.Go(func() { l.live(r, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	return l
}

// write creates a file in the workspace.
func (f *fleet) write(name, content string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.workspace, name), []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// fault records an error that the test has found. It is safe for concurrent use.
func (l *load) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// again repeats a request until the server answers, like a client that does not know whether its
// request took effect. It records an error and returns false if the time limit of the test has
// passed, or if repeating cannot help.
func (l *load) again(what string, do func(context.Context) error) bool {
	for {
		ctx, cancel := context.WithTimeout(l.ctx, 10*time.Second)
		err := do(ctx)
		late := ctx.Err() != nil
		cancel()
		switch {
		case err == nil:
			return true
		case l.ctx.Err() != nil:
			l.fault("%s: not in time: %v", what, err)
			return false
		case !late && !passes(err):
			l.fault("%s: %v", what, err)
			return false
		}
		if !l.rest(200 * time.Millisecond) {
			l.fault("%s: not in time: %v", what, err)
			return false
		}
	}
}

// passes reports whether another attempt may succeed after the error.
func passes(err error) bool {
	return perdure.IsCode(err, perdure.Unavailable) || perdure.IsCode(err, perdure.RateLimited) || notYet(err)
}

// rest waits for d. It returns false if the time limit of the test passes first.
func (l *load) rest(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// live plays the run r to its end: it starts the run and the readers of its log, and sends messages
// to the run.
func (l *load) live(r *loadRun, random *rand.Rand) {
	if !l.rest(time.Duration(random.Int64N(int64(l.size.rampUp)))) || !l.begin(r) {
		return
	}
	if r.script.Run < l.size.wandering {
		l.wander(r, random.Uint64())
	}
	for range l.size.readers {
		r.readers = append(r.readers, l.read(r.id))
	}
	var sending sync.WaitGroup
	for n := range senders {
		chance := rand.New(rand.NewPCG(random.Uint64(), uint64(n)))
		sending.Go(func() { l.send(r, n, chance) })
	}
	sending.Wait()
	if !r.oneShot && l.answered(r) {
		l.again("cancel", func(ctx context.Context) error { _, err := l.Cancel(ctx, r.id); return err })
	}
	l.untilIs(r, "the end", func(x *perdure.Execution) bool {
		r.status = x.Status
		return x.Status.Terminal()
	})
}

func (l *load) begin(r *loadRun) bool {
	tools := []string{"bash", "read-file", "grep"}
	ask := client.StartRequest{
		UserPrompt: r.script.Prompt(), OneShot: r.oneShot, Tools: &tools, IdempotencyKey: r.script.Name,
		Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: r.script.Name}},
		Config: perdure.AgentConfig{MaxTurns: new(r.script.Turns + r.script.Late + 5)},
	}
	return l.again("start", func(ctx context.Context) error {
		x, err := l.Start(ctx, ask)
		if err == nil {
			r.id = x.ID
		}
		return err
	})
}

// send is one client that sends messages. It repeats each message until the server answers, and sends
// some of them twice.
func (l *load) send(r *loadRun, sender int, random *rand.Rand) {
	for n := range messagesOfEach {
		if !l.rest(time.Duration(random.Int64N(int64(l.size.speech)))) {
			return
		}
		text := fmt.Sprintf("sender %d says %d", sender, n)
		m := client.UserMessage(text)
		m.ID = fmt.Sprintf("%s/%d/%d", r.script.Name, sender, n)
		sent := chaos.Sent{Sender: sender, ID: m.ID, Text: text}
		for range 1 + random.IntN(2) {
			ok := l.again("signal", func(ctx context.Context) error {
				_, err := l.Signal(ctx, r.id, m)
				if perdure.IsCode(err, perdure.ExecutionEnded) {
					return nil
				}
				sent.Accepted = sent.Accepted || err == nil
				return err
			})
			if !ok {
				return
			}
		}
		l.mu.Lock()
		r.sent = append(r.sent, sent)
		l.mu.Unlock()
	}
}

// answered waits until the run has answered all messages and waits for input.
func (l *load) answered(r *loadRun) bool {
	return l.untilIs(r, "all answers", func(x *perdure.Execution) bool {
		if x.Status != perdure.StatusWaiting || x.WaitReason != "signal" {
			return x.Status.Terminal()
		}
		said := 0
		for e, err := range l.Entries(l.ctx, r.id) {
			if err != nil {
				return false
			}
			if e.Role == perdure.RoleUser {
				said++
			}
		}
		return said == 1+len(r.sent)
	})
}

func (l *load) untilIs(r *loadRun, what string, want func(*perdure.Execution) bool) bool {
	for pause := 200 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		var there bool
		var last *perdure.Execution
		ok := l.again(what, func(ctx context.Context) error {
			x, err := l.Get(ctx, r.id)
			if err == nil {
				last, there = x, want(x)
			}
			return err
		})
		if !ok || there {
			return ok
		}
		if !l.rest(pause) {
			l.fault("run %d (%s): %s did not come; it is %s, with the wait %+v", r.script.Run, r.id, what, describe(last), last.Wait)
			return false
		}
	}
}

// read starts a reader of a run's log. If its connection breaks, the reader resumes at another
// server.
func (l *load) read(id uuid.UUID) *follower {
	f := &follower{ended: make(chan struct{})}
	c := l.caller(func(error, time.Duration) { f.note(func() { f.breaks++ }) })
	l.all.Go(func() {
		defer close(f.ended)
		for e, err := range c.Follow(l.ctx, id, "") {
			f.note(func() {
				if err != nil {
					f.err = err
				} else {
					f.events = append(f.events, e)
				}
			})
		}
	})
	return f
}

// wander starts readers of every representation of the run's log, including the WebSocket. Their
// connections break at random, and each reader then resumes at a random server.
func (l *load) wander(r *loadRun, seed uint64) {
	web := l.web()
	l.t.Cleanup(web.CloseIdleConnections)
	api := logtest.API{URL: func() string { return anywhere }, Org: "default", Key: l.adminKey, Execution: r.id, Client: web}
	readers := logtest.Attach(l.ctx, l.t, api, seed, func(err error) error {
		if !l.rest(200 * time.Millisecond) {
			return err
		}
		return nil
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wanderers = append(l.wanderers, readers)
}

// over returns a channel that is closed when all runs and readers have ended.
func (l *load) over() <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		l.all.Wait()
	}()
	return over
}

// sorted returns the sent signals, sorted by sender. The signals of one sender keep their order.
func (r *loadRun) sorted() []chaos.Sent {
	return slices.SortedStableFunc(slices.Values(r.sent), func(a, b chaos.Sent) int { return a.Sender - b.Sender })
}
