package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/worker"
)

// checkedKind is a kind of agents. Its schema makes the validation of an input as expensive as the limits
// allow.
const checkedKind = "hostile-checked"

// attacks has the most expensive requests that an admin of an org can send, each with the number of
// requests that run at the same time.
var attacks = map[string]attack{
	"starts":   {32, start},
	"signals":  {32, noise},
	"large":    {4, large},
	"deep":     {8, deep},
	"uploads":  {4, upload},
	"searches": {32, search},
	"pages":    {16, page},
	"schemas":  {2, schemas},
	"checks":   {4, check},
	"streams":  {1000, stream},
	"polls":    {200, poll},
	"durable":  {16, durable},
	"prunes":   {2, prune},
}

// waiter returns a worker for the executions that the function `start` creates. Their agent waits
// for a signal that nobody sends.
func (a *attacker) waiter() *worker.Worker {
	w := worker.New(worker.Config{Dispatch: a.worker, Agents: 64, Tasks: 64, Parked: 10_000, Logger: slog.New(slog.DiscardHandler)})
	w.RegisterAgent(agent.DefineFunc(waitKind, func(ctx agent.Context, _ struct{}) (string, error) {
		_, err := ctx.WaitSignal("never", 0)
		return "", err
	}))
	return w
}

// start starts an execution. The attacker's own worker claims the execution and suspends it.
func start(ctx context.Context, a *attacker) error {
	_, err := a.api.Start(ctx, client.StartRequest{
		Kind: waitKind, Input: json.RawMessage(`{}`), Metadata: json.RawMessage(fmt.Sprintf(`{"n":"%d"}`, a.next())),
	})
	return err
}

// noise sends a signal to the execution in the field `target`. The execution never takes such
// signals.
func noise(ctx context.Context, a *attacker) error {
	return a.send(ctx, "POST", a.path("/"+a.target.String()+"/signal"), "application/json", small())
}

// The bodies of the attacks are created at their first use. Every command of perdure initializes
// this package, so an initialization of the bodies would delay every command.
var small = sync.OnceValue(func() []byte { return noiseOf(1 << 10) })

// noiseOf returns the body of a request that sends a signal. The value of the signal has the given
// size in bytes.
func noiseOf(size int) []byte {
	return fmt.Appendf(nil, `{"signalName":"noise","signalValue":%q}`, body(size))
}

// large sends a signal with a value of 1 MiB to the execution in the field `target`.
func large(ctx context.Context, a *attacker) error {
	return a.send(ctx, "POST", a.path("/"+a.target.String()+"/signal"), "application/json", big())
}

var big = sync.OnceValue(func() []byte { return noiseOf(1 << 20) })

// deep starts an execution with an input of 1 MiB with deep nesting.
func deep(ctx context.Context, a *attacker) error {
	return a.send(ctx, "POST", a.path(""), "application/json", deepStart())
}

// depth is the nesting depth of the values in the input that the function `deep` sends.
const depth = 900

var deepStart = sync.OnceValue(func() []byte {
	one := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	return fmt.Appendf(nil, `{"kind":%q,"queue":"nobody","input":[%s]}`, idleKind, strings.TrimSuffix(strings.Repeat(one+",", 1<<20/len(one)), ","))
})

// upload uploads a payload of 1 MiB that no commit refers to.
func upload(ctx context.Context, a *attacker) error {
	content := big()
	content = content[len(`{"signalName":"noise","signalValue":`) : len(content)-1]
	_, err := a.api.PutContent(ctx, a.target, int64(len(content)), bytes.NewReader(content))
	return err
}

// search lists executions with a text or metadata that none of them has. To find none, the server has to
// read all executions.
func search(ctx context.Context, a *attacker) error {
	query := "?limit=1000&q=nowhere"
	if a.next()%2 == 0 {
		query = "?limit=1000&metadata.n=nowhere"
	}
	return a.send(ctx, "GET", a.path(query), "", nil)
}

// page requests a page of the list of executions, with the largest limit.
func page(ctx context.Context, a *attacker) error {
	return a.send(ctx, "GET", a.path("?limit=1000"), "", nil)
}

// schemas registers kinds of agents, each with a schema that the server has not seen before.
func schemas(ctx context.Context, a *attacker) error {
	r := perdure.Registration{WorkerID: uuid.New()}
	for i := range 16 {
		r.Agents = append(r.Agents, perdure.KindSpec{Kind: fmt.Sprintf("hostile-%d", i), InputSchema: largeSchema(a.next())})
	}
	_, err := a.worker.Register(ctx, r)
	return err
}

// largeSchema returns a schema near the limits for schemas. It has many properties, each with a
// pattern.
func largeSchema(number int) json.RawMessage {
	var b strings.Builder
	fmt.Fprintf(&b, `{"title":"%d","type":"array","items":{"properties":{`, number)
	for i := range 400 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"p%d":{"type":"string","pattern":"^(a|b|ab)*$"}`, i)
	}
	b.WriteString(`}}}`)
	return json.RawMessage(b.String())
}

// check starts an execution of checkedKind with an input whose validation takes as long as the limits
// allow.
func check(ctx context.Context, a *attacker) error {
	return a.send(ctx, "POST", a.path(""), "application/json", checkedStart())
}

var checkedStart = sync.OnceValue(func() []byte {
	one := `{"p1":"` + strings.Repeat("ab", 500) + `","p2":"` + strings.Repeat("ab", 500) + `"}`
	return fmt.Appendf(nil, `{"kind":%q,"queue":"nobody","input":[%s]}`, checkedKind, strings.TrimSuffix(strings.Repeat(one+",", 50), ","))
})

// stream reads the log of an execution from its start, and stays connected for streamTime.
func stream(ctx context.Context, a *attacker) error {
	ctx, cancel := context.WithTimeout(ctx, streamTime)
	defer cancel()
	err := a.send(ctx, "GET", a.path("/"+a.target.String()+"/stream/consolidated"), "", nil)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// streamTime is the time for which each call of the attack `stream` reads a log before it disconnects.
const streamTime = 5 * time.Second

// poll asks for the tasks of a queue without tasks.
func poll(ctx context.Context, a *attacker) error {
	_, err := a.worker.PollTasks(ctx, perdure.Poll{
		WorkerID: uuid.New(), Queues: []string{fmt.Sprintf("q%d", a.next())}, Kinds: []string{"none"}, Slots: 100, Wait: 200 * time.Millisecond,
	})
	return err
}

// durable creates a stream of the Durable Streams protocol, appends 64 KiB to the stream, reads them, and
// deletes the stream.
func durable(ctx context.Context, a *attacker) error {
	path := fmt.Sprintf("/v1/stream/hostile/%d", a.next())
	for _, step := range []struct {
		method, path, contentType string
		body                      []byte
	}{
		{"PUT", path, "text/plain", nil}, {"POST", path, "text/plain", big()[:64<<10]}, {"GET", path + "?offset=-1", "", nil}, {"DELETE", path, "", nil},
	} {
		if err := a.send(ctx, step.method, step.path, step.contentType, step.body); err != nil {
			return err
		}
	}
	return nil
}

// prune deletes all executions that have ended. It first starts and cancels an execution, so that there is
// at least one.
func prune(ctx context.Context, a *attacker) error {
	x, err := a.api.Start(ctx, client.StartRequest{Kind: idleKind, Input: json.RawMessage(`{}`), Queue: "nobody"})
	if err != nil {
		return err
	}
	if _, err := a.api.Cancel(ctx, x.ID); err != nil {
		return err
	}
	_, err = a.api.Prune(ctx, client.PruneRequest{OlderThan: "0"})
	return err
}
