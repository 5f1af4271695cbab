package worker_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/exampletest"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/worker"
	"github.com/perdure/perdure/worker/remote"
)

// This example connects a worker to a server over gRPC, and runs an agent.
func ExampleWorker() {
	dir, err := os.MkdirTemp("", "perdure-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	quiet := slog.New(slog.DiscardHandler)
	s, err := server.Open(context.Background(), server.Config{Data: dir, Dev: true, GRPCAddr: "127.0.0.1:0", Logger: quiet})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close() }()
	if err := s.Listen(); err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- s.Run(ctx) }()

	connection, err := remote.Dial(ctx, remote.Options{Addr: s.GRPCAddress(), Token: s.Token()})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := worker.New(worker.Config{Dispatch: connection, Logger: quiet})
	w.RegisterAgent(agent.DefineFunc("hello", func(_ agent.Context, name string) (string, error) {
		return "Hello " + name, nil
	}))
	working, stop := context.WithCancel(ctx)
	defer stop()
	worked := make(chan error, 1)
	go func() { worked <- w.Run(working) }()

	c := client.Socket(s.Socket(), s.Token())
	x, err := c.Start(ctx, client.StartRequest{Kind: "hello", Input: []byte(`"Ann"`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for event, err := range c.Follow(ctx, x.ID, "") {
		if err != nil || event.Type == "agent.completed" {
			fmt.Println(event.Type, err)
		}
	}
	c.Close()
	stop() // the worker drains
	fmt.Println("worker:", <-worked)
	fmt.Println("connection:", connection.Close())
	cancel()
	fmt.Println("server:", <-served)
	// Output:
	// agent.completed <nil>
	// worker: <nil>
	// connection: <nil>
	// server: <nil>
}

// This example reads the load of a worker: the work that it has at the moment.
func ExampleWorker_Load() {
	house := exampletest.Open(func(w *worker.Worker) {
		w.RegisterAgent(agent.DefineFunc("nothing", func(agent.Context, any) (bool, error) { return true, nil }))
	})
	defer house.Close()
	house.Wait(house.Start("nothing", nil))
	load := house.Worker.Load()
	fmt.Println(load.Parked, house.Worker.Check())
	// Output: 0 <nil>
}
