// Package exampletest runs a server and a worker in the process of an Example.
package exampletest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/store/sqlite/sqlitetest"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/worker"
)

// Deployment is a server with a worker and a client, in a temporary folder.
type Deployment struct {
	Server *server.Server
	Client *client.Client
	Worker *worker.Worker

	dir  string
	stop []func() // called in reverse order
}

// Open starts a server and a worker. The function `setup` registers the worker's agents and tasks.
// Open panics if something fails, because an Example has no other way to fail.
func Open(setup func(w *worker.Worker)) *Deployment {
	dir := must(os.MkdirTemp("", "perdure-example-"))
	logger := slog.New(slog.DiscardHandler)
	check(sqlitetest.Place(server.StoreFile(dir), func(path string) error {
		c, err := server.OpenCore(context.Background(), server.Config{Data: filepath.Dir(path), Logger: logger})
		if err != nil {
			return err
		}
		return c.Close()
	}))
	s := must(server.Open(context.Background(), server.Config{Data: dir, Dev: true, Logger: logger}))
	check(s.Listen())
	h := &Deployment{Server: s, dir: dir, Client: client.Socket(s.Socket(), s.Token())}
	h.run(s.Run)
	h.Worker = h.AddWorker(worker.Config{}, setup)
	return h
}

// AddWorker starts a further worker. The function `setup` registers the worker's agents and tasks.
func (h *Deployment) AddWorker(c worker.Config, setup func(w *worker.Worker)) *worker.Worker {
	c.Dispatch, c.Logger = h.Server.Dispatch(perdure.DefaultOrg), slog.New(slog.DiscardHandler)
	w := worker.New(c)
	setup(w)
	h.run(w.Run)
	<-w.Registered()
	return w
}

// run calls the function `do` in the background until Close.
func (h *Deployment) run(do func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { check(do(ctx)) })
	h.stop = append(h.stop, func() {
		cancel()
		running.Wait()
	})
}

// Start starts an execution of an agent.
func (h *Deployment) Start(kind string, input any) uuid.UUID {
	return h.StartWith(client.StartRequest{Kind: kind, Input: must(json.Marshal(input))})
}

// StartWith starts an execution with all options of a request, for instance of the react agent.
func (h *Deployment) StartWith(r client.StartRequest) uuid.UUID {
	return must(h.Client.Start(context.Background(), r)).ID
}

// Wait waits for the end of an execution, and returns the ended execution.
func (h *Deployment) Wait(id uuid.UUID) *perdure.Execution {
	for _, err := range h.Client.Follow(context.Background(), id, "") {
		check(err)
	}
	return must(h.Client.Get(context.Background(), id))
}

// Close stops the server, the workers and the client, and removes the temporary folder.
func (h *Deployment) Close() {
	h.Client.Close()
	for i := len(h.stop) - 1; i >= 0; i-- {
		h.stop[i]()
	}
	check(h.Server.Close())
	check(os.RemoveAll(h.dir))
}

// Run starts a Deployment with the agent and the tasks, runs one execution to its end, and returns
// its output or error as text.
func Run(a agent.Definition, input any, tasks ...agent.TaskKind) string {
	h := Open(func(w *worker.Worker) {
		w.RegisterAgent(a)
		for _, t := range tasks {
			w.RegisterTask(t)
		}
	})
	defer h.Close()
	return Outcome(h.Wait(h.Start(a.Spec.Kind, input)))
}

// Outcome returns the output of an ended execution as text. If the execution has an error, Outcome
// returns its status and the error instead.
func Outcome(x *perdure.Execution) string {
	if x.Error != nil {
		return fmt.Sprintf("%s: %s", x.Status, *x.Error)
	}
	var text string
	if json.Unmarshal(x.Output, &text) == nil {
		return text
	}
	return string(x.Output)
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
