package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// lateTries is the maximum number of tries of a workload whose chunks began before all readers were
// connected. The time that readers need to connect is unknown on a busy machine.
const lateTries = 3

// lateStartError reports that chunks were sent before all readers were connected. The field `by` is
// the time from the first chunk until all readers were connected.
type lateStartError struct{ by time.Duration }

func (t lateStartError) Error() string {
	return fmt.Sprintf("the chunks had begun %v before all read", t.by)
}

// fanOut is W8: many readers of one execution's stream. It fails if a chunk is lost.
func fanOut(ctx context.Context, b *bench) error {
	for _, readers := range pick(b, []int{1, 5}, []int{1, 100, 1000}) {
		l := load{Executions: 1, For: pick(b, time.Second, 20*time.Second), PerSecond: 20, Readers: readers}
		err := retryLate(&l, func() error { return b.fanOutTo(ctx, l) })
		if err != nil {
			return err
		}
	}
	return nil
}

// retryLate calls run. If run returns a lateStartError, retryLate increases l.Ahead and repeats the
// call, until run has been called lateTries times.
func retryLate(l *load, run func() error) error {
	for try := 1; ; try++ {
		err := run()
		var late lateStartError
		if !errors.As(err, &late) || try == lateTries {
			return err
		}
		l.Ahead += 2 * late.by
	}
}

// fanOutTo measures one load.
func (b *bench) fanOutTo(ctx context.Context, l load) error {
	return b.on(ctx, deploymentSpec{slots: 8, readers: true}, func(s *deployment) error {
		streams, at, err := s.begin(ctx, l)
		if err != nil {
			return err
		}
		if err := s.readers.ask("follow", slices.Repeat(streams, l.Readers), nil); err != nil {
			return err
		}
		if late := time.Since(at); late > 0 {
			return lateStartError{late}
		}
		before, err := s.cost()
		if err != nil {
			return err
		}
		var got readerResults
		if err := s.readers.ask("heard", struct{}{}, &got); err != nil {
			return err
		}
		after, err := s.cost()
		if err != nil {
			return err
		}
		var said streamedText
		if err := s.worker.ask("said", workerArgs{}, &said); err != nil {
			return err
		}
		if err := checkNoLoss(lost(said, got, streams)); err != nil {
			return err
		}
		if want := l.Readers * l.chunks(); got.Chunks != want {
			return fmt.Errorf("the readers were given %d chunks, not %d", got.Chunks, want)
		}
		ours, _ := s.cpu(before, after)
		var f Figures
		f.delays("", got.Delays)
		f.add("CPU µs/chunk and reader", float64(ours.Microseconds())/float64(got.Chunks))
		s.memory(&f, after)
		b.add(fmt.Sprintf("%d readers", l.Readers), f)
		return nil
	})
}
