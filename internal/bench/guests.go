package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/worker/remote"
)

// orgSpec has the addresses of the server, and an org of that server with a key of the org.
type orgSpec struct{ HTTP, GRPC, Org, Key string }

func (o orgSpec) client() (*client.Client, error) {
	return client.New(client.Options{
		BaseURL: "http://" + o.HTTP, Key: o.Key, Org: o.Org,
		HTTPClient: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}},
	})
}

// guest is an org that does not attack. It has a worker, and clients that send requests at a steady rate.
type guest struct {
	orgSpec
	api       *client.Client
	working   *benchWorker
	signalled uuid.UUID // an execution that waits for signals
	begun     int       // number of streams

	mu      sync.Mutex // guards the fields below
	samples map[string][]time.Duration
	errs    []error
}

// guestPace is the interval between two requests of the same kind by one guest.
const guestPace = 200 * time.Millisecond

// guestSlots is the number of slots of a guest's worker.
const guestSlots = 32

// guestsRole is the main function of the process that runs all guests. args has the orgSpecs of the
// guests as JSON, one for each.
func guestsRole(ctx context.Context, args []string) error {
	var specs []orgSpec
	if err := json.Unmarshal([]byte(args[0]), &specs); err != nil {
		return err
	}
	if err := moreFiles(); err != nil {
		return err
	}
	var guests []*guest
	for _, spec := range specs {
		g, err := newGuest(ctx, spec)
		if err != nil {
			return err
		}
		defer g.working.stop()
		guests = append(guests, g)
	}
	return serveRequests(ctx, map[string]handler{
		// The request "window" runs all guests for a duration. The response says how long each
		// request of the guests took, by kind.
		"window": on(func(d time.Duration) (any, error) { return window(ctx, guests, d) }),
	})
}

func newGuest(ctx context.Context, spec orgSpec) (*guest, error) {
	g := &guest{orgSpec: spec}
	var err error
	if g.api, err = spec.client(); err != nil {
		return nil, err
	}
	d, err := remote.Dial(ctx, remote.Options{Addr: spec.GRPC, Token: spec.Key, Logger: quietLogger()})
	if err != nil {
		return nil, err
	}
	if g.working, err = startWorker(ctx, d, workerSpec{Slots: guestSlots}); err != nil {
		return nil, err
	}
	input, err := json.Marshal(signalsInput{N: 1 << 30})
	if err != nil {
		return nil, err
	}
	x, err := g.api.Start(ctx, client.StartRequest{Kind: signalKind, Input: input})
	if err != nil {
		return nil, err
	}
	g.signalled = x.ID
	return g, nil
}

// window runs all guests at the same time for the duration d. It returns how long each of their
// requests took, by kind.
func window(ctx context.Context, guests []*guest, d time.Duration) (map[string][]time.Duration, error) {
	var group sync.WaitGroup
	for i, g := range guests {
		g.samples = map[string][]time.Duration{}
		group.Go(func() { g.window(ctx, d, time.Duration(i)*guestPace/time.Duration(len(guests))) })
	}
	group.Wait()
	all := map[string][]time.Duration{}
	var errs []error
	for _, g := range guests {
		for _, name := range []string{"step", "task", "signal"} {
			g.samples[name] = g.working.recorder.take(name)
		}
		for name, some := range g.samples {
			all[name] = append(all[name], some...)
		}
		errs = append(errs, g.errs...)
	}
	return all, errors.Join(errs...)
}

// window sends the requests of one guest for d. It begins after the delay, which differs between the
// guests, so that they do not send at the same moments.
func (g *guest) window(ctx context.Context, d, delay time.Duration) {
	begin := time.Now().Add(delay)
	var group sync.WaitGroup
	group.Go(func() { g.note(g.stream(ctx, begin, d)) })
	for i, verb := range []struct {
		name string
		do   func(ctx context.Context, due time.Time) error
	}{
		{"start", g.start}, {"", g.signal}, {"get", g.get}, {"list", g.list}, {"log", g.log},
	} {
		group.Go(func() {
			g.steady(ctx, begin.Add(time.Duration(i)*guestPace/7), int(d/guestPace), verb.name, verb.do)
		})
	}
	group.Wait()
}

// steady makes n calls at a steady rate and records their times. A time is counted from the moment at
// which the call was due, so it includes the delay that slow earlier calls cause.
func (g *guest) steady(ctx context.Context, due time.Time, n int, name string, do func(context.Context, time.Time) error) {
	for range n {
		if err := pause(ctx, time.Until(due)); err != nil {
			return
		}
		err := do(ctx, due)
		g.note(err)
		if err == nil && name != "" {
			g.add(name, time.Since(due))
		}
		due = due.Add(guestPace)
	}
}

func (g *guest) add(name string, all ...time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.samples[name] = append(g.samples[name], all...)
}

func (g *guest) note(err error) {
	if err == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.errs = append(g.errs, fmt.Errorf("%s: %w", g.Org, err))
}

// start starts an execution with two steps and a task.
func (g *guest) start(ctx context.Context, _ time.Time) error {
	input, err := json.Marshal(stepsInput{Steps: 2, Tasks: 1, Size: stepSize})
	if err != nil {
		return err
	}
	_, err = g.api.Start(ctx, client.StartRequest{Kind: stepsKind, Input: input})
	return err
}

// signal sends a signal whose value is the time at which the signal was due. The agent that
// receives the signal records how late it is.
func (g *guest) signal(ctx context.Context, due time.Time) error {
	value, err := json.Marshal(signalValue{At: due.UnixNano()})
	if err != nil {
		return err
	}
	_, err = g.api.Signal(ctx, g.signalled, client.SignalRequest{Name: "ping", Value: value})
	return err
}

func (g *guest) get(ctx context.Context, _ time.Time) error {
	_, err := g.api.Get(ctx, g.signalled)
	return err
}

func (g *guest) list(ctx context.Context, _ time.Time) error {
	_, err := g.api.ListPage(ctx, client.ExecutionFilter{}, client.PageOptions{Limit: 20})
	return err
}

func (g *guest) log(ctx context.Context, _ time.Time) error {
	_, err := g.api.Events(ctx, g.signalled, "", 50)
	return err
}

// stream starts an execution whose model streams five chunks per second, and reads the execution's
// log to its end.
func (g *guest) stream(ctx context.Context, begin time.Time, d time.Duration) error {
	g.begun++
	p := pace{ID: g.begun, Start: begin.Add(time.Second), Every: guestPace, Chunks: max(1, int((d-time.Second)/guestPace))}
	x, err := g.api.Start(ctx, client.StartRequest{
		UserPrompt: "go", OneShot: true, Tools: &[]string{}, Models: []perdure.ModelConfig{{Provider: providerName, ModelID: p.model()}},
	})
	if err != nil {
		return err
	}
	r := &readers{addr: g.HTTP, token: g.Key, org: g.Org}
	r.begin(ctx)
	defer r.cancel()
	if err := r.follow([]followTarget{{p.ID, x.ID}}); err != nil {
		return err
	}
	r.reading.Wait()
	g.add("stream", r.got.Delays...)
	if len(r.got.Broken) > 0 {
		return errors.New(r.got.Broken[0])
	}
	return nil
}
