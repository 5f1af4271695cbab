// Command embedded is a program that contains a Perdure server and a worker. It needs no other
// process. docs/embedding.md explains it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/worker"
)

// greet is an agent: it calls a task for each name, and waits for an approval.
func greet(ctx agent.Context, names []string) (string, error) {
	var futures []agent.Future
	for _, name := range names {
		futures = append(futures, ctx.Schedule("shout", name))
	}
	loud, err := agent.JoinAll[string](ctx, futures...)
	if err != nil {
		return "", err
	}
	word, err := ctx.WaitSignal("approve", 0)
	return fmt.Sprintf("Hello %s! (%s)", strings.Join(loud, " and "), word.Value), err
}

func shout(_ agent.TaskContext, name string) (string, error) { return strings.ToUpper(name), nil }

// serve runs a server and a worker while the function `use` runs.
func serve(ctx context.Context, data string, use func(context.Context, *client.Client) error) error {
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := server.Open(ctx, server.Config{Data: data, Logger: logger})
	if err != nil {
		return err
	}
	if err := s.Listen(); err != nil {
		return errors.Join(err, s.Close())
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)

	// The server stops after the worker, because a worker that stops returns its claims to the
	// server.
	serving, stopServer := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() {
		err := s.Run(serving)
		fail(err)
		served <- err
	}()

	w := worker.New(worker.Config{Dispatch: s.Dispatch(perdure.DefaultOrg), Logger: logger})
	w.RegisterAgent(agent.DefineFunc("greeter", greet))
	w.RegisterTask(agent.DefineTask("shout", shout))
	working, stopWorker := context.WithCancel(ctx)
	worked := make(chan error, 1)
	go func() {
		err := w.Run(working)
		fail(err)
		worked <- err
	}()

	c := client.Socket(s.Socket(), s.Token())
	err = use(ctx, c)
	c.Close()
	stopWorker()
	err = errors.Join(err, <-worked)
	stopServer()
	return errors.Join(err, <-served, s.Close())
}

// greeting starts an execution, approves it and returns its output.
func greeting(ctx context.Context, c *client.Client, names ...string) (string, error) {
	input, err := json.Marshal(names)
	if err != nil {
		return "", err
	}
	x, err := c.Start(ctx, client.StartRequest{Kind: "greeter", Input: input})
	if err != nil {
		return "", err
	}
	if _, err := c.Signal(ctx, x.ID, client.SignalRequest{Name: "approve", Value: json.RawMessage(`"go ahead"`)}); err != nil {
		return "", err
	}
	for _, err := range c.Follow(ctx, x.ID, "") { // until the execution ends
		if err != nil {
			return "", err
		}
	}
	if x, err = c.Get(ctx, x.ID); err != nil {
		return "", err
	}
	return string(x.Output), nil
}

func main() {
	data := flag.String("data", "perdure-data", "data directory of the server")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := serve(ctx, *data, func(ctx context.Context, c *client.Client) error {
		text, err := greeting(ctx, c, "ann", "bob")
		fmt.Println(text)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
}
