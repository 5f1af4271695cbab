package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"golang.org/x/sync/errgroup"
)

// stand is a server with a worker and readers, each a process.
type stand struct {
	folder  string
	server  *child
	worker  *child // the server itself, where it is in its process
	readers *child
	at      addresses
	api     *client.Client
	streams int // begun so far
}

// setUp starts the processes. The worker has that many slots, and speaks to the
// server over gRPC or in its process. dir is where the database goes; "" is a
// temporary folder.
func setUp(ctx context.Context, dir string, slots int, inProcess bool) (*stand, error) {
	folder, err := os.MkdirTemp(dir, "perdure-bench-")
	if err != nil {
		return nil, err
	}
	s := &stand{folder: folder}
	if s.server, err = spawn(ctx, "server", filepath.Join(folder, "data")); err != nil {
		return nil, err
	}
	if err := s.server.ask("where", struct{}{}, &s.at); err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.api = client.Socket(s.at.Socket, s.at.Token)
	if inProcess {
		s.worker, err = s.server, s.server.ask("work", slots, nil)
	} else {
		s.worker, err = spawn(ctx, "worker", s.at.GRPC, s.at.Token, strconv.Itoa(slots))
	}
	if err == nil {
		err = s.worker.ask("said", struct{}{}, nil) // is it there
	}
	if err == nil {
		s.readers, err = spawn(ctx, "readers", s.at.HTTP, s.at.Token)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// close ends all processes.
func (s *stand) close() error {
	var errs []error
	if s.readers != nil {
		errs = append(errs, s.readers.close())
	}
	if s.worker != nil && s.worker != s.server {
		errs = append(errs, s.worker.close())
	}
	return errors.Join(append(errs, s.server.close(), os.RemoveAll(s.folder))...)
}

// load is how executions stream.
type load struct {
	Executions int
	For        time.Duration
	PerSecond  float64 // chunks
}

func (l load) every() time.Duration { return time.Duration(float64(time.Second) / l.PerSecond) }
func (l load) chunks() int          { return int(l.For / l.every()) }

// lead is how long it takes until all executions have been started and are
// followed.
func (l load) lead() time.Duration {
	return 2*time.Second + time.Duration(l.Executions)*8*time.Millisecond
}

// begin starts executions whose chunks come later, each at a moment of its own
// between those of the others.
func (s *stand) begin(ctx context.Context, l load) ([]toFollow, time.Time, error) {
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

// beginIdle starts executions that nobody runs.
func (s *stand) beginIdle(ctx context.Context, n int) ([]toFollow, error) {
	return s.start(ctx, n, func(int) client.StartRequest {
		return client.StartRequest{Kind: idleKind, Input: json.RawMessage(`{}`), Queue: "idle"}
	})
}

func (s *stand) start(ctx context.Context, n int, what func(i int) client.StartRequest) ([]toFollow, error) {
	all := make([]toFollow, n)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(32)
	for i := range n {
		g.Go(func() error {
			x, err := s.api.Start(ctx, what(i))
			if err == nil {
				all[i] = toFollow{s.streams + i, x.ID}
			}
			return err
		})
	}
	err := g.Wait()
	s.streams += n
	return all, err
}

// lost tells what the readers were not given of what was said, or were given
// otherwise: nothing, if all is well.
func lost(said words, got heard, streams []toFollow) []string {
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

// finished waits until the executions have ended, whether they are followed or
// not.
func (s *stand) finished(ctx context.Context, streams []toFollow) error {
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
