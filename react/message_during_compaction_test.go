package react_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
)

// gatedModel is a model that returns no summary before the gate is open.
type gatedModel struct {
	*windowModel
	asked chan struct{} // receives a value when a summary is requested
	gate  chan struct{} // the gate is open if this channel is closed
}

func (g *gatedModel) Stream(ctx context.Context, r llm.Request, emit func(llm.Delta) error) (*llm.Response, error) {
	if r.Purpose == llm.PurposeCompaction {
		select {
		case g.asked <- struct{}{}:
		default:
		}
		select {
		case <-g.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return g.windowModel.Stream(ctx, r, emit)
}

// serverPair is one or two servers on the same data, each with one worker.
type serverPair struct {
	t       *testing.T
	store   store.Store
	servers []*engine.Engine
	stops   []func()
	hints   *notify.Local
	model   *gatedModel
	look    *lookTool
}

// newPair starts a server and a worker for each of the stores.
func newPair(t *testing.T, stores []store.Store, script string) *serverPair {
	t.Helper()
	scripts := t.TempDir()
	writeFile(t, filepath.Join(scripts, "s"), script)
	n := &windowModel{Provider: scripted.New(scripted.Config{Dir: scripts}), window: smallWindow}
	p := &serverPair{
		t: t, store: stores[0], hints: &notify.Local{}, look: &lookTool{runs: map[int]int{}},
		model: &gatedModel{windowModel: n, asked: make(chan struct{}, 1), gate: make(chan struct{})},
	}
	for _, s := range stores {
		e := engine.New(engine.Config{Store: s, Hints: p.hints, Lease: runLease, Logger: slog.New(slog.DiscardHandler)})
		p.servers, p.stops = append(p.servers, e), append(p.stops, p.work(e))
	}
	return p
}

// work starts a worker that is connected to the server e.
func (p *serverPair) work(e *engine.Engine) (stop func()) {
	p.t.Helper()
	providers := llm.NewProviders(p.model)
	providers.SetWindows(llm.Windows{{Provider: "scripted", ID: "s"}: {Window: smallWindow}})
	c := react.Config{Providers: providers, Tools: []tool.Tool{p.look.tool()}}
	w := worker.New(worker.Config{Dispatch: e.Dispatch("default", false), Parked: 100, Drain: -1, Grace: time.Second})
	w.RegisterAgent(react.Agent(c))
	for _, d := range react.Tasks(c) {
		w.RegisterTask(d)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.t.Context()))
	over := make(chan error, 1)
	go func() { over <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-over; err != nil {
			p.t.Error(err)
		}
	})
	p.t.Cleanup(stop)
	<-w.Registered()
	return stop
}

func (p *serverPair) start(prompt string) uuid.UUID {
	p.t.Helper()
	tools, most := []string{"find"}, 1000
	x, err := p.servers[0].Start(p.t.Context(), "default", engine.StartRequest{
		UserPrompt: prompt, Tools: &tools, Config: perdure.AgentConfig{MaxTurns: &most},
		Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "s"}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return x.ID
}

// say sends a message to every server. Clients send a message again if they do not know whether a
// server has stored the message.
func (p *serverPair) say(id uuid.UUID, text string) {
	p.t.Helper()
	value, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		p.t.Fatal(err)
	}
	for i := len(p.servers) - 1; i >= 0; i-- {
		if _, err := p.servers[i].Signal(p.t.Context(), "default", id, engine.SignalRequest{Name: perdure.UserMessage, Value: value, ID: text}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// conversation returns the messages on the execution's path, and the number of compactions.
func (p *serverPair) conversation(id uuid.UUID) (lines []string, compactions int) {
	p.t.Helper()
	x, err := p.store.Execution(p.t.Context(), "default", id)
	if err != nil {
		p.t.Fatal(err)
	}
	for e, err := range p.store.Path(p.t.Context(), id, *x.Leaf, nil, 0, false) {
		if err != nil {
			p.t.Fatal(err)
		}
		if e.Type == perdure.EntryCompaction {
			compactions++
			continue
		}
		m, err := e.Message()
		if err != nil {
			p.t.Fatal(err)
		}
		lines = append(lines, string(m.Role)+": "+m.PlainText())
	}
	return lines, compactions
}

// until waits until the function `want` returns true for the execution.
func (p *serverPair) until(id uuid.UUID, what string, want func(*perdure.Execution) bool) {
	p.t.Helper()
	hints, unsubscribe := p.hints.Subscribe(notify.Log(id))
	defer unsubscribe()
	for limit := time.After(time.Minute); ; {
		x, err := p.store.Execution(p.t.Context(), "default", id)
		if err != nil {
			p.t.Fatal(err)
		}
		if want(x) {
			return
		}
		select {
		case <-hints:
		case <-limit:
			lines, _ := p.conversation(id)
			p.t.Fatalf("%s: the run is %s (%s):\n%s", what, x.Status, x.WaitReason, strings.Join(lines, "\n"))
		}
	}
}

// idle waits until the run waits for a message and has the given number of user messages on its
// path.
func (p *serverPair) idle(id uuid.UUID, said int) {
	p.t.Helper()
	p.until(id, "the run waits for its user", func(x *perdure.Execution) bool {
		if x.Status != perdure.StatusWaiting || x.WaitReason != "signal" {
			return false
		}
		lines, _ := p.conversation(id)
		return countPrefix(lines, "user: ") >= said && strings.HasPrefix(lines[len(lines)-1], "assistant: ")
	})
}

func countPrefix(lines []string, prefix string) (n int) {
	for _, line := range lines {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

// checkEachMessageOnce checks that each message is on the path once and in order. Each message must
// occur in a request to the model, but never twice in the same request.
func (p *serverPair) checkEachMessageOnce(id uuid.UUID, messages []string) {
	p.t.Helper()
	p.until(id, "the compaction is on the path", func(*perdure.Execution) bool {
		_, compactions := p.conversation(id)
		return compactions > 0
	})
	lines, _ := p.conversation(id)
	var said []string
	for _, line := range lines {
		if text, ok := strings.CutPrefix(line, "user: during "); ok {
			said = append(said, "during "+text)
		}
	}
	if strings.Join(said, ",") != strings.Join(messages, ",") {
		p.t.Errorf("the messages are %q, want %q, in\n%s", said, messages, strings.Join(lines, "\n"))
	}
	turns, _ := p.model.requests()
	for _, text := range messages {
		seen := 0
		for _, r := range turns {
			n := 0
			for _, m := range r.Messages {
				if m.Role == perdure.RoleUser && m.PlainText() == text {
					n++
				}
			}
			if n > 1 {
				p.t.Errorf("a request has %q %d times", text, n)
			}
			seen += n
		}
		if seen == 0 {
			p.t.Errorf("no model has seen %q", text)
		}
	}
}

// pairs runs a test on each kind of store with one server, and on PostgreSQL also with two servers.
func pairs(t *testing.T, test func(t *testing.T, stores []store.Store)) {
	opentest.Each(t, func(t *testing.T, open opentest.Opener) { test(t, []store.Store{open(t, nil)}) })
	t.Run("two servers", func(t *testing.T) {
		longtest.Skip(t, "PostgreSQL")
		test(t, opentest.Servers(t, 2))
	})
}

// TestMessagesDuringACompaction checks messages that arrive while a run compacts between two
// responses. The messages must be neither lost nor doubled, although each message is sent to each
// server.
func TestMessagesDuringACompaction(t *testing.T) {
	pairs(t, func(t *testing.T, stores []store.Store) {
		p := newPair(t, stores, strings.Repeat("turn\n  text "+strings.Repeat("long ", 300)+"\n", 12))
		id := p.start("message 0")
		p.idle(id, 1)
		for i := 1; i < 4; i++ {
			p.say(id, fmt.Sprint("message ", i))
			p.idle(id, 1+i)
		}
		if _, err := p.servers[0].Signal(t.Context(), "default", id, engine.SignalRequest{Name: perdure.CompactSignal, Value: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(err)
		}
		<-p.model.asked
		during := []string{"during 0", "during 1", "during 2"}
		for _, text := range during {
			p.say(id, text)
		}
		close(p.model.gate)
		p.idle(id, 4+len(during))
		p.say(id, "message 4")
		p.idle(id, 5+len(during))
		p.checkEachMessageOnce(id, during)
	})
}

// TestMessagesDuringAnAutomaticCompaction checks messages that arrive while a run that works with
// tools compacts. The messages must be neither lost nor doubled, and each tool call must run once.
// With two servers, the worker that writes the summary is stopped, and the other worker continues.
func TestMessagesDuringAnAutomaticCompaction(t *testing.T) {
	longtest.Skip(t, "seconds")
	const turns = 30
	pairs(t, func(t *testing.T, stores []store.Store) {
		p := newPair(t, stores, looks(turns, 1500)+strings.Repeat("turn\n  text ok\n", 5))
		id := p.start("look everywhere")
		<-p.model.asked
		during := []string{"during 0", "during 1", "during 2"}
		p.say(id, during[0])
		p.work(p.servers[len(p.servers)-1])
		for _, stop := range p.stops {
			stop()
		}
		p.say(id, during[1])
		p.say(id, during[2])
		close(p.model.gate)
		p.idle(id, 1+len(during))
		p.say(id, "message 1")
		p.idle(id, 2+len(during))
		p.checkEachMessageOnce(id, during)
		p.look.mu.Lock()
		defer p.look.mu.Unlock()
		for i, n := range p.look.runs {
			if n != 1 {
				t.Errorf("look %d ran %d times", i, n)
			}
		}
	})
}
