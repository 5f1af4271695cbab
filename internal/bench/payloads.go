package bench

import (
	"context"
	"fmt"
)

// payloads is workload W4 of the benchmark: steps with large results, and tasks with large inputs and
// results.
func payloads(ctx context.Context, b *bench) error {
	for _, mib := range pick(b, []int{1}, []int{1, 4, 16, 64}) {
		err := b.on(ctx, deploymentSpec{slots: 4}, func(s *deployment) error {
			for _, what := range stepsAndTasks {
				in := stepsInputOf(what, pick(b, 1, 3), "")
				// Each payload is a text of in.Size bytes, encoded as JSON, which adds a few bytes.
				// With 64 bytes less, the JSON has at most `mib` MiB.
				in.Size = mib<<20 - 64
				id, err := s.agent(stepsKind, in)
				if err != nil {
					return err
				}
				if err := s.finished(s.ctx, []followTarget{{Execution: id}}); err != nil {
					return err
				}
				all, err := s.samples(what)
				if err != nil {
					return err
				}
				after, err := s.cost()
				if err != nil {
					return err
				}
				var f Figures
				f.delays("", all)
				s.memory(&f, after)
				b.add(fmt.Sprintf("%s of %d MiB", what, mib), f)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
