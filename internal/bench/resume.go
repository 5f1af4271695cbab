package bench

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// entrySize is the size in bytes of each entry of the agent that is taken over.
const entrySize = 16 << 10

// resume is W3: an agent with a step per millisecond loses its worker, and a worker in a new process
// continues. The result is the time from the end of the first worker to the agent's next step.
func resume(ctx context.Context, b *bench) error {
	for _, entries := range pick(b, []int{20}, []int{50, 200, 1000, 3000, 30_000}) {
		err := b.on(ctx, deploymentSpec{slots: 4}, func(s *deployment) error {
			if _, err := s.agent(growKind, growInput{Entries: entries, Size: entrySize}); err != nil {
				return err
			}
			if err := s.worker.ask("arrived", workerArgs{"grown", 1}, nil); err != nil {
				return err
			}
			for _, how := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
				if err := b.takeovers(s, entries, how); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// takeovers measures several takeovers. In each, a signal ends the old worker.
func (b *bench) takeovers(s *deployment, entries int, how syscall.Signal) error {
	var all []time.Duration
	var bytes []float64
	for range pick(b, 1, min(3, b.Rounds)) {
		took, moved, err := s.takeover(how)
		if err != nil {
			return err
		}
		all, bytes = append(all, took), append(bytes, float64(moved)/1024)
	}
	slices.Sort(all)
	name := map[syscall.Signal]string{syscall.SIGTERM: "SIGTERM", syscall.SIGKILL: "SIGKILL"}[how]
	var f Figures
	f.add("p50 ms", millis(quantile(all, 0.5)))
	f.add("max ms", millis(quantile(all, 1)))
	f.add("KiB moved", median(bytes))
	b.add(fmt.Sprintf("%d entries, %s", entries, name), f)
	return nil
}

// takeover starts a worker and ends the previous one with a signal. It returns the time until the
// agent's next step, and the bytes that the new process read and wrote in that time.
func (s *deployment) takeover(how syscall.Signal) (took time.Duration, moved int64, err error) {
	next, err := s.newWorker(4)
	if err != nil {
		return 0, 0, err
	}
	before := s.worker
	s.worker = next
	var idle, busy resourceUsage
	if err := next.ask("used", false, &idle); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := before.cmd.Process.Signal(how); err != nil {
		return 0, 0, err
	}
	var at time.Time
	if err := next.ask("next", workerArgs{Name: "beat"}, &at); err != nil {
		return 0, 0, err
	}
	if err := next.ask("used", false, &busy); err != nil {
		return 0, 0, err
	}
	before.in.Close()
	_ = before.cmd.Wait() // the error is the signal
	return at.Sub(began), busy.Moved - idle.Moved, nil
}
