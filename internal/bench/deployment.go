package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"golang.org/x/sync/errgroup"
)

// deployment is a server in a process of its own. The deploymentSpec says whether there is also a
// process that reads logs, and whether there is a worker, in the server's process or in a process
// of its own.
type deployment struct {
	ctx      context.Context
	database *database
	server   *child
	worker   *child // the server itself, if the worker is in its process
	readers  *child
	at       addresses
	api      *client.Client
	streams  int // number of streams so far
}

// deploymentSpec is the configuration of a deployment.
type deploymentSpec struct {
	slots     int // slots of the worker for agents, and as many for tasks
	inProcess bool
	readers   bool
	noWorker  bool
	orgsCPU   int // value of server.Config.OrgsCPU
}

// setUp creates a database and starts the processes that the spec asks for.
func setUp(ctx context.Context, all *stores, store string, spec deploymentSpec) (_ *deployment, err error) {
	s := &deployment{ctx: ctx}
	if s.database, err = all.create(ctx, store); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	where, err := json.Marshal(serverSpec{s.database.folder, s.database.url, all.plain, spec.orgsCPU})
	if err != nil {
		return nil, err
	}
	if s.server, err = spawn(ctx, "server", string(where)); err != nil {
		return nil, err
	}
	if err := s.server.ask("where", struct{}{}, &s.at); err != nil {
		return nil, err
	}
	s.api = client.Socket(s.at.Socket, s.at.Token)
	if spec.noWorker {
		return s, nil
	}
	if spec.inProcess {
		s.worker, err = s.server, s.server.ask("work", workerSpec{Slots: spec.slots}, nil)
	} else {
		s.worker, err = s.newWorker(spec.slots)
	}
	if err == nil && spec.readers {
		s.readers, err = spawn(ctx, "readers", s.at.HTTP, s.at.Token)
	}
	return s, err
}

// newWorker starts a worker in a separate process, and returns when the worker is registered.
func (s *deployment) newWorker(slots int) (*child, error) {
	spec, err := json.Marshal(workerSpec{s.at.GRPC, s.at.Token, slots})
	if err != nil {
		return nil, err
	}
	w, err := spawn(s.ctx, "worker", string(spec))
	if err != nil {
		return nil, err
	}
	if err := w.ask("said", workerArgs{}, nil); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// close stops all processes and removes the database.
func (s *deployment) close() error {
	var errs []error
	if s.readers != nil {
		errs = append(errs, s.readers.close())
	}
	if s.worker != nil && s.worker != s.server {
		errs = append(errs, s.worker.close())
	}
	if s.server != nil {
		errs = append(errs, s.server.close())
	}
	return errors.Join(append(errs, s.database.drop())...)
}

// cost is the resource usage of the server, the worker and the database since they started.
type cost struct {
	Server, Worker resourceUsage // Worker equals Server if the worker is in the server's process
	Postgres       time.Duration
}

func (s *deployment) cost() (c cost, err error) {
	if err := s.server.ask("used", false, &c.Server); err != nil {
		return c, err
	}
	c.Worker, c.Postgres = c.Server, family(s.database.pid)
	if s.worker != s.server {
		err = s.worker.ask("used", false, &c.Worker)
	}
	return c, err
}

// cpu returns the CPU time used between two measurements: that of server and worker together, and that of
// PostgreSQL.
func (s *deployment) cpu(before, after cost) (ours, postgres time.Duration) {
	ours = after.Server.CPU - before.Server.CPU
	if s.worker != s.server {
		ours += after.Worker.CPU - before.Worker.CPU
	}
	return ours, after.Postgres - before.Postgres
}

// load describes the text streams that a measurement produces.
type load struct {
	Executions int
	For        time.Duration
	PerSecond  float64 // chunks per second
	Readers    int     // readers of each execution; 0 counts as 1
	// Ahead is additional time before the first chunk. It is set if a measurement is repeated because
	// the readers connected too late.
	Ahead time.Duration
}

func (l load) every() time.Duration { return time.Duration(float64(time.Second) / l.PerSecond) }
func (l load) chunks() int          { return int(l.For / l.every()) }

// lead returns the time between the start of a measurement and its first chunk. In that time, all
// executions must start and all readers must connect.
func (l load) lead() time.Duration {
	return 2*time.Second + time.Duration(l.Executions*max(1, l.Readers))*8*time.Millisecond + l.Ahead
}

// begin starts executions that stream text. The first chunk of the first stream is due at the
// returned time. The other streams begin later, spread evenly over the interval between two chunks.
func (s *deployment) begin(ctx context.Context, l load) ([]followTarget, time.Time, error) {
	at := time.Now().Add(l.lead())
	all, err := s.start(ctx, l.Executions, func(i int) client.StartRequest {
		p := pace{ID: s.streams + i, Start: at.Add(l.every() * time.Duration(i) / time.Duration(l.Executions)), Chunks: l.chunks(), Every: l.every()}
		return client.StartRequest{
			UserPrompt: "go", OneShot: true, Tools: &[]string{},
			Models: []perdure.ModelConfig{{Provider: providerName, ModelID: p.model()}},
		}
	})
	return all, at, err
}

// beginIdle starts executions that no worker runs.
func (s *deployment) beginIdle(ctx context.Context, n int) ([]followTarget, error) {
	return s.start(ctx, n, func(int) client.StartRequest {
		return client.StartRequest{Kind: idleKind, Input: json.RawMessage(`{}`), Queue: "idle"}
	})
}

// agent starts an execution of the kind and returns its id.
func (s *deployment) agent(kind string, input any) (uuid.UUID, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return uuid.Nil, err
	}
	x, err := s.api.Start(s.ctx, client.StartRequest{Kind: kind, Input: raw})
	if err != nil {
		return uuid.Nil, err
	}
	return x.ID, nil
}

// agents starts n executions.
func (s *deployment) agents(n int, kind string, input any) ([]followTarget, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	return s.start(s.ctx, n, func(int) client.StartRequest { return client.StartRequest{Kind: kind, Input: raw} })
}

// samples returns the durations that the worker has measured under a name. The worker then deletes
// them.
func (s *deployment) samples(name string) (all []time.Duration, err error) {
	return all, s.worker.ask("samples", workerArgs{Name: name}, &all)
}

func (s *deployment) start(ctx context.Context, n int, what func(i int) client.StartRequest) ([]followTarget, error) {
	all := make([]followTarget, n)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(32)
	for i := range n {
		g.Go(func() error {
			x, err := s.api.Start(ctx, what(i))
			if err == nil {
				all[i] = followTarget{s.streams + i, x.ID}
			}
			return err
		})
	}
	err := g.Wait()
	s.streams += n
	return all, err
}

// lost compares the text that the worker sent with the text that the readers received. It returns a
// description of each difference.
func lost(said streamedText, got readerResults, streams []followTarget) []string {
	wrong := got.Broken
	for _, to := range streams {
		switch sum, ok := said.Sums[to.ID]; {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("stream %d was not said to its end", to.ID))
		case got.Sums[to.ID] != sum:
			wrong = append(wrong, fmt.Sprintf("stream %d was heard with other bytes than it was said with", to.ID))
		}
	}
	return wrong
}

// finished waits until all given executions have completed. It returns an error if one of them fails or is
// cancelled.
func (s *deployment) finished(ctx context.Context, streams []followTarget) error {
	for _, to := range streams {
		for {
			x, err := s.api.Get(ctx, to.Execution)
			if err != nil {
				return err
			}
			if x.Status == perdure.StatusCompleted {
				break
			}
			if x.Status.Terminal() {
				return fmt.Errorf("execution %s is %s", x.ID, x.Status)
			}
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
