package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// stepSize is the size in bytes of a step's input and result.
const stepSize = 1 << 10

// stepsAndTasks are the two kinds of recorded work: steps in the agent's own process, and tasks.
var stepsAndTasks = []string{"step", "task"}

// latencyOfSteps is W1: one agent runs steps, one after another, and then tasks.
func latencyOfSteps(ctx context.Context, b *bench) error {
	n := pick(b, 10, 200)
	return b.on(ctx, deploymentSpec{slots: 16}, func(s *deployment) error {
		for _, what := range stepsAndTasks {
			var all []time.Duration
			var before cost
			for round := range b.Rounds + 1 {
				if round == 1 { // the first round is a warm-up
					var err error
					if before, err = s.cost(); err != nil {
						return err
					}
				}
				got, err := s.stepsOf(what, n)
				if err != nil {
					return err
				}
				if round > 0 {
					all = append(all, got...)
				}
			}
			after, err := s.cost()
			if err != nil {
				return err
			}
			var f Figures
			f.delays("", all)
			s.perThousand(&f, before, after, len(all))
			b.add(what, f)
		}
		return nil
	})
}

// on creates a deployment, passes it to a function, and removes the deployment.
func (b *bench) on(ctx context.Context, spec deploymentSpec, do func(s *deployment) error) (err error) {
	spec.inProcess = b.worker == inProcess
	s, err := setUp(ctx, b.stores, b.store, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	end, err := b.profile(s)
	if err != nil {
		return err
	}
	return errors.Join(do(s), end())
}

// stepsOf runs one agent with n steps or n tasks, and returns how long each took.
func (s *deployment) stepsOf(what string, n int) ([]time.Duration, error) {
	id, err := s.agent(stepsKind, stepsInputOf(what, n, ""))
	if err != nil {
		return nil, err
	}
	if err := s.finished(s.ctx, []followTarget{{Execution: id}}); err != nil {
		return nil, err
	}
	all, err := s.samples(what)
	if err == nil && len(all) != n {
		err = fmt.Errorf("%d of %d were done", len(all), n)
	}
	return all, err
}

func stepsInputOf(what string, n int, gates string) stepsInput {
	in := stepsInput{Size: stepSize, Gates: gates}
	if what == "step" {
		in.Steps = n
	} else {
		in.Tasks = n
	}
	return in
}

// perThousand adds to f the CPU time per thousand operations, from the measurements before and after
// n operations.
func (s *deployment) perThousand(f *Figures, before, after cost, n int) {
	ours, postgres := s.cpu(before, after)
	f.add("CPU s/1000", ours.Seconds()*1000/float64(n))
	if s.database.pid != 0 {
		f.add("PostgreSQL CPU s/1000", postgres.Seconds()*1000/float64(n))
	}
}

// throughput is W2: many agents run steps at the same time, and then tasks.
func throughput(ctx context.Context, b *bench) error {
	agents, n := pick(b, 8, 200), pick(b, 4, 20)
	return b.on(ctx, deploymentSpec{slots: agents + 16}, func(s *deployment) error {
		if err := b.startsOnly(s); err != nil {
			return err
		}
		for _, what := range stepsAndTasks {
			if err := b.startsAndSteps(s, what, agents, n); err != nil {
				return err
			}
			var rates, cpus, postgres []float64
			var all []time.Duration
			for round := range b.Rounds + 1 {
				one, err := s.runTogether(fmt.Sprintf("%s-%d-", what, round), what, agents, n, false)
				if err != nil {
					return err
				}
				if round == 0 {
					continue // warm-up
				}
				rates, cpus, postgres = append(rates, one.rate), append(cpus, one.cpu), append(postgres, one.postgres)
				all = append(all, one.delays...)
			}
			end, err := s.cost()
			if err != nil {
				return err
			}
			var f Figures
			f.add("steps/s", median(rates))
			f.add("best steps/s", best(rates))
			f.add("CPU s/1000", median(cpus))
			if s.database.pid != 0 {
				f.add("PostgreSQL CPU s/1000", median(postgres))
			}
			f.delays("", all)
			s.memory(&f, end)
			b.add(what, f)
		}
		return nil
	})
}

// memory adds to f the maximum resident memory of the processes.
func (s *deployment) memory(f *Figures, c cost) {
	f.add("server MiB", float64(c.Server.PeakRSS)/(1<<20))
	if s.worker != s.server {
		f.add("worker MiB", float64(c.Worker.PeakRSS)/(1<<20))
	}
}

func best(all []float64) float64 {
	most := 0.0
	for _, v := range all {
		most = max(most, v)
	}
	return most
}

// burst is the result of many agents or starts that run at the same time.
type burst struct {
	rate          float64 // steps or starts per second
	cpu, postgres float64 // CPU seconds per thousand operations
	delays        []time.Duration
}

// startsAndSteps measures the rate of steps, including the starts of their agents.
func (b *bench) startsAndSteps(s *deployment, what string, agents, n int) error {
	var rates []float64
	for round := range b.Rounds + 1 {
		one, err := s.runTogether(fmt.Sprintf("%s-starts-%d-", what, round), what, agents, n, true)
		if err != nil {
			return err
		}
		if round > 0 {
			rates = append(rates, one.rate)
		}
	}
	var f Figures
	f.add("steps/s", median(rates))
	f.add("best steps/s", best(rates))
	b.add(what+", with the starts", f)
	return nil
}

// runTogether runs agents that begin their steps at the same time. If the parameter `starts` is true,
// each agent instead begins as soon as it is started, and the measured time includes the starts.
func (s *deployment) runTogether(gates, what string, agents, n int, starts bool) (r burst, err error) {
	var began time.Time
	open := func() error { return s.worker.ask("open", workerArgs{Name: gates + what}, &began) }
	if starts {
		if err := open(); err != nil {
			return r, err
		}
	}
	started, err := s.agents(agents, stepsKind, stepsInputOf(what, n, gates))
	if err != nil {
		return r, err
	}
	if err := s.worker.ask("arrived", workerArgs{gates + what, agents}, nil); err != nil {
		return r, err
	}
	before, err := s.cost()
	if err != nil {
		return r, err
	}
	if !starts {
		if err := open(); err != nil {
			return r, err
		}
	}
	if err := s.worker.ask("arrived", workerArgs{gates + what + " done", agents}, nil); err != nil {
		return r, err
	}
	took := time.Since(began)
	after, err := s.cost()
	if err != nil {
		return r, err
	}
	steps := float64(agents * n)
	ours, postgres := s.cpu(before, after)
	r.rate, r.cpu, r.postgres = steps/took.Seconds(), ours.Seconds()*1000/steps, postgres.Seconds()*1000/steps
	if err := s.finished(s.ctx, started); err != nil {
		return r, err
	}
	r.delays, err = s.samples(what)
	return r, err
}
