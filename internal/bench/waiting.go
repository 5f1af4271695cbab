package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// manyWaiting is workload W7 of the benchmark: executions wait for a signal that nobody sends. It measures
// the memory and, over a minute, the CPU time that server and worker use meanwhile.
func manyWaiting(ctx context.Context, b *bench) error {
	n := pick(b, 50, 10_000)
	return b.on(ctx, deploymentSpec{slots: 64}, func(s *deployment) error {
		if _, err := s.agents(n, waitKind, struct{}{}); err != nil {
			return err
		}
		if err := s.allWaiting(); err != nil {
			return err
		}
		if err := pause(s.ctx, pick(b, 100*time.Millisecond, 10*time.Second)); err != nil { // lets earlier work finish
			return err
		}
		before, err := s.cost()
		if err != nil {
			return err
		}
		began := time.Now()
		if err := pause(s.ctx, pick(b, 500*time.Millisecond, time.Minute)); err != nil {
			return err
		}
		after, err := s.cost()
		if err != nil {
			return err
		}
		if err := b.heap(s); err != nil {
			return err
		}
		percent := func(of time.Duration) float64 { return 100 * of.Seconds() / time.Since(began).Seconds() }
		var f Figures
		f.add("server MiB", float64(after.Server.RSS)/(1<<20))
		f.add("server CPU %", percent(after.Server.CPU-before.Server.CPU))
		if s.worker != s.server {
			f.add("worker MiB", float64(after.Worker.RSS)/(1<<20))
			f.add("worker CPU %", percent(after.Worker.CPU-before.Worker.CPU))
		}
		b.add(fmt.Sprintf("%d waiting", n), f)
		return nil
	})
}

// busy reports whether any execution is PENDING or RUNNING.
func (s *deployment) busy() (bool, error) {
	for _, err := range s.api.List(s.ctx, client.ExecutionFilter{Status: []perdure.Status{perdure.StatusPending, perdure.StatusRunning}}) {
		return err == nil, err
	}
	return false, nil
}

// allWaiting waits until no execution is PENDING or RUNNING.
func (s *deployment) allWaiting() error {
	for {
		busy, err := s.busy()
		if err != nil || !busy {
			return err
		}
		if err := pause(s.ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}
