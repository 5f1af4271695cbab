package bench

import (
	"encoding/json"
	"time"

	"github.com/perdure/perdure/client"
	"golang.org/x/sync/errgroup"
)

// startsOnly measures how fast the server starts executions for many concurrent clients, while no worker
// claims the executions.
func (b *bench) startsOnly(s *deployment) error {
	n, atOnce := pick(b, 16, 2000), pick(b, 8, 200)
	var rates, cpus, postgres []float64
	for round := range b.Rounds + 1 {
		one, err := s.startMany(n, atOnce)
		if err != nil {
			return err
		}
		if round == 0 {
			continue // warm-up
		}
		rates, cpus, postgres = append(rates, one.rate), append(cpus, one.cpu), append(postgres, one.postgres)
	}
	var f Figures
	f.add("starts/s", median(rates))
	f.add("best starts/s", best(rates))
	f.add("CPU s/1000", median(cpus))
	if s.database.pid != 0 {
		f.add("PostgreSQL CPU s/1000", median(postgres))
	}
	b.add("start", f)
	return nil
}

// startMany starts n executions with `atOnce` concurrent requests, and returns the rate of the
// starts and their costs.
func (s *deployment) startMany(n, atOnce int) (r burst, err error) {
	input, err := json.Marshal(body(stepSize))
	if err != nil {
		return r, err
	}
	before, err := s.cost()
	if err != nil {
		return r, err
	}
	began := time.Now()
	g, ctx := errgroup.WithContext(s.ctx)
	g.SetLimit(atOnce)
	for range n {
		g.Go(func() error {
			_, err := s.api.Start(ctx, client.StartRequest{Kind: idleKind, Input: input, Queue: "idle"})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return r, err
	}
	took := time.Since(began)
	after, err := s.cost()
	if err != nil {
		return r, err
	}
	ours, pg := s.cpu(before, after)
	r.rate, r.cpu, r.postgres = float64(n)/took.Seconds(), ours.Seconds()*1000/float64(n), pg.Seconds()*1000/float64(n)
	return r, nil
}
