package bench

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// fanOut is W8: many readers of one execution's stream. Nothing may be lost.
func fanOut(ctx context.Context, b *bench) error {
	for _, readers := range pick(b, []int{1, 5}, []int{1, 100, 1000}) {
		err := b.on(ctx, standSpec{slots: 8, readers: true}, func(s *stand) error {
			l := load{Executions: 1, For: pick(b, time.Second, 20*time.Second), PerSecond: 20, Readers: readers}
			streams, at, err := s.begin(ctx, l)
			if err != nil {
				return err
			}
			if err := s.readers.ask("follow", slices.Repeat(streams, readers), nil); err != nil {
				return err
			}
			if late := time.Since(at); late > 0 {
				return fmt.Errorf("the chunks had begun %v before all read", late)
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
			if want := readers * l.chunks(); got.Chunks != want {
				return fmt.Errorf("the readers were given %d chunks, not %d", got.Chunks, want)
			}
			ours, _ := s.cpu(before, after)
			var f Figures
			f.delays("", got.Delays)
			f.add("CPU µs/chunk and reader", float64(ours.Microseconds())/float64(got.Chunks))
			s.memory(&f, after)
			b.add(fmt.Sprintf("%d readers", readers), f)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
