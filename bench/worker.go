package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/worker"
	"github.com/perdure/perdure/worker/remote"
)

// idleKind is an agent that nobody runs.
const idleKind = "idle"

// working is a worker that runs react agents on the provider.
type working struct {
	provider *provider
	stop     func()
}

// work starts a worker and returns once the server knows it.
func work(ctx context.Context, d perdure.Dispatch, slots int) (*working, error) {
	p := &provider{sums: map[int]string{}}
	c := react.Config{
		Providers:  llm.NewProviders(p),
		Workspaces: func(string) (*tool.Workspace, error) { return nil, nil },
	}
	w := worker.New(worker.Config{
		Dispatch: d, Agents: slots, Tasks: slots, Parked: 2 * slots, Drain: time.Second,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	w.RegisterAgent(react.Agent(c))
	for _, t := range react.Tasks(c) {
		w.RegisterTask(t)
	}
	if _, err := d.Register(ctx, perdure.Registration{WorkerID: uuid.New(), Agents: []perdure.KindSpec{{Kind: idleKind}}}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	running := &working{provider: p, stop: func() {
		cancel()
		if err := <-ended; err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
		}
	}}
	select {
	case <-w.Registered():
		return running, nil
	case err := <-ended:
		cancel()
		return nil, err
	}
}

// words is what a provider has said.
type words struct {
	Sums map[int]string
	Late time.Duration
}

func (w *working) said() words {
	w.provider.mu.Lock()
	defer w.provider.mu.Unlock()
	said := words{maps.Clone(w.provider.sums), w.provider.late}
	clear(w.provider.sums)
	w.provider.late = 0
	return said
}

func workerRole(ctx context.Context, args []string) error {
	slots, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	d, err := remote.Dial(ctx, remote.Options{Addr: args[0], Token: args[1]})
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	w, err := work(ctx, d, slots)
	if err != nil {
		return err
	}
	defer w.stop()
	return answering(map[string]verb{
		"said": on(func(struct{}) (any, error) { return w.said(), nil }),
		"used": on(func(collect bool) (any, error) { return used(collect), nil }),
	})
}
