package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/worker/remote"
)

// Attacks returns the names of the attacks of the hostile org.
func Attacks() []string { return slices.Sorted(maps.Keys(attacks)) }

// attack is a request that the attacker sends repeatedly.
type attack struct {
	atOnce int
	do     func(ctx context.Context, a *attacker) error
}

// attacker is the process of the hostile org.
type attacker struct {
	orgSpec
	http   *http.Client
	api    *client.Client
	worker *remote.Client
	target uuid.UUID // a waiting execution

	mu     sync.Mutex // guards counts
	counts attackCounts
	number int // number of created objects
}

// attackCounts contains the results of attacks since the last "counts" request.
type attackCounts struct {
	For     time.Duration
	Since   time.Time
	Done    map[string]int
	Refused map[string]map[string]int // numbers of refusals, by attack and error code
}

func newCounts() attackCounts {
	return attackCounts{Since: time.Now(), Done: map[string]int{}, Refused: map[string]map[string]int{}}
}

func (c attackCounts) nothing() bool { return len(c.Done) == 0 }

// print prints a row for each of the attacks `of`, also for those that got nothing done.
func (c attackCounts) print(out io.Writer, of []string) {
	fmt.Fprintln(out, "| the hostile org's | done a second | refused a second |")
	fmt.Fprintln(out, "|---|---:|---|")
	if len(of) == 0 {
		of = Attacks()
	}
	for _, name := range slices.Sorted(slices.Values(of)) {
		refused := ""
		for _, code := range slices.Sorted(maps.Keys(c.Refused[name])) {
			refused += fmt.Sprintf(" %s %.1f", code, float64(c.Refused[name][code])/c.For.Seconds())
		}
		fmt.Fprintf(out, "| %s | %.1f |%s |\n", name, float64(c.Done[name])/c.For.Seconds(), refused)
	}
}

// attackerRole runs the hostile org.
func attackerRole(ctx context.Context, args []string) error {
	a := &attacker{counts: newCounts(), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4096}}}
	if err := json.Unmarshal([]byte(args[0]), &a.orgSpec); err != nil {
		return err
	}
	if err := moreFiles(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	return serveRequests(ctx, map[string]handler{
		"begin": on(func(names []string) (any, error) {
			if len(names) == 0 {
				names = Attacks()
			}
			if err := a.prepare(ctx); err != nil {
				return nil, err
			}
			for _, name := range names {
				for range attacks[name].atOnce {
					running.Go(func() { a.again(ctx, name) })
				}
			}
			return nil, nil
		}),
		"counts": on(func(struct{}) (any, error) { return a.counted(), nil }),
	})
}

func (a *attacker) counted() attackCounts {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.counts
	c.For = time.Since(c.Since)
	a.counts = newCounts()
	return c
}

// prepare registers the kinds of the attacks, starts a worker for the attack "starts", and starts
// the execution that the other attacks use.
func (a *attacker) prepare(ctx context.Context) (err error) {
	if a.api, err = a.client(); err != nil {
		return err
	}
	if a.worker, err = remote.Dial(ctx, remote.Options{Addr: a.GRPC, Token: a.Key, Logger: quietLogger()}); err != nil {
		return err
	}
	_, err = a.worker.Register(ctx, perdure.Registration{WorkerID: uuid.New(), Agents: []perdure.KindSpec{
		{Kind: idleKind}, {Kind: checkedKind, InputSchema: largeSchema(0)},
	}})
	if err != nil {
		return err
	}
	w := a.waiter()
	go func() { _ = w.Run(ctx) }() // ends with the process
	<-w.Registered()
	x, err := a.api.Start(ctx, client.StartRequest{Kind: idleKind, Queue: "nobody"})
	if err != nil {
		return err
	}
	a.target = x.ID
	return nil
}

// again repeats one attack until ctx ends, even if its requests are refused.
func (a *attacker) again(ctx context.Context, name string) {
	for ctx.Err() == nil {
		err := attacks[name].do(ctx, a)
		if ctx.Err() != nil {
			return
		}
		a.mu.Lock()
		if err == nil {
			a.counts.Done[name]++
		} else {
			if a.counts.Refused[name] == nil {
				a.counts.Refused[name] = map[string]int{}
			}
			a.counts.Refused[name][refusalOf(err)]++
		}
		a.mu.Unlock()
	}
}

func refusalOf(err error) string {
	var coded *perdure.Error
	if errors.As(err, &coded) {
		return string(coded.Code)
	}
	return err.Error()
}

func (a *attacker) next() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.number++
	return a.number
}

// send sends a request and reads the whole response.
func (a *attacker) send(ctx context.Context, method, path, contentType string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+a.HTTP+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.Key)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		var p struct{ Code perdure.Code }
		_ = json.Unmarshal(text, &p) // without a body the status is enough
		err = errors.New(fmt.Sprint(resp.StatusCode, " ", p.Code))
	}
	return err
}

func (a *attacker) path(rest string) string { return "/api/orgs/" + a.Org + "/agent-executions" + rest }
