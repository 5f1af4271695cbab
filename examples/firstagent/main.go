// Command firstagent is a worker with its own agent. The agent schedules a task for each name and
// waits for a person's approval. After a restart of the worker the agent continues from its last
// commit.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/worker"
	"github.com/perdure/perdure/worker/remote"
)

func greet(ctx agent.Context, names []string) (string, error) {
	var futures []agent.Future
	for _, name := range names {
		futures = append(futures, ctx.Schedule("shout", name)) // they run in parallel
	}
	loud, err := agent.JoinAll[string](ctx, futures...)
	if err != nil {
		return "", err
	}
	word, err := ctx.WaitSignal("approve", 0) // days may pass, and deploys
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Hello %s! (%s)", strings.Join(loud, " and "), word.Value), nil
}

func shout(_ agent.TaskContext, name string) (string, error) { return strings.ToUpper(name), nil }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server, err := remote.Dial(ctx, remote.Options{Addr: "127.0.0.1:9090", Token: os.Getenv("PERDURE_KEY")})
	if err != nil {
		log.Fatal(err)
	}
	w := worker.New(worker.Config{Dispatch: server})
	w.RegisterAgent(agent.DefineFunc("greeter", greet))
	w.RegisterTask(agent.DefineTask("shout", shout))
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
