package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// lateTries is how often a workload is begun again whose chunks began before all
// readers were there: how long those take is not known on a machine that is busy.
const lateTries = 3

// tooLate says that chunks had begun before all readers were there.
type tooLate struct{ by time.Duration }

func (t tooLate) Error() string { return fmt.Sprintf("the chunks had begun %v before all read", t.by) }

// fanOut is W8: many readers of one execution's stream. Nothing may be lost.
func fanOut(ctx context.Context, b *bench) error {
	for _, readers := range pick(b, []int{1, 5}, []int{1, 100, 1000}) {
		l := load{Executions: 1, For: pick(b, time.Second, 20*time.Second), PerSecond: 20, Readers: readers}
		err := readied(&l, func() error { return b.fanOutTo(ctx, l) })
		if err != nil {
			return err
		}
	}
	return nil
}

// readied runs a workload of this load, again with more time to get ready where it
// was too little.
func readied(l *load, run func() error) error {
	for try := 1; ; try++ {
		err := run()
		var late tooLate
		if !errors.As(err, &late) || try == lateTries {
			return err
		}
		l.Ahead += 2 * late.by
	}
}

// fanOutTo measures with so many readers.
func (b *bench) fanOutTo(ctx context.Context, l load) error {
	return b.on(ctx, standSpec{slots: 8, readers: true}, func(s *stand) error {
		streams, at, err := s.begin(ctx, l)
		if err != nil {
			return err
		}
		if err := s.readers.ask("follow", slices.Repeat(streams, l.Readers), nil); err != nil {
			return err
		}
		if late := time.Since(at); late > 0 {
			return tooLate{late}
		}
		before, err := s.cost()
		if err != nil {
			return err
		}
		var got heard
		if err := s.readers.ask("heard", struct{}{}, &got); err != nil {
			return err
		}
		after, err := s.cost()
		if err != nil {
			return err
		}
		var said words
		if err := s.worker.ask("said", about{}, &said); err != nil {
			return err
		}
		if err := notLost(lost(said, got, streams)); err != nil {
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
