package agent_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/exampletest"
	"github.com/perdure/perdure/worker"
)

// Messages of one turn have the turn's id, so that clients can group them.
func ExampleWithPlace() {
	echo := agent.DefineFunc("echo", func(ctx agent.Context, text string) (string, error) {
		if _, err := ctx.Append(perdure.UserText(text), agent.WithPlace(perdure.Place{TurnID: "turn-1"})); err != nil {
			return "", err
		}
		newest, err := ctx.Tail(1)
		if err != nil {
			return "", err
		}
		return newest[0].TurnID, nil
	})
	fmt.Println(exampletest.Run(echo, "hello"))
	// Output: turn-1
}

// A task on a queue is claimed only by workers of that queue, for instance those on machines with a
// GPU.
func ExampleQueue() {
	render := agent.DefineTask("render", func(ctx agent.TaskContext, scene string) (string, error) {
		return scene + " on queue " + ctx.Task().Queue, nil
	})
	film := agent.DefineFunc("film", func(ctx agent.Context, scene string) (string, error) {
		return agent.Call[string](ctx, "render", scene, agent.Queue("gpu"))
	})
	house := exampletest.Open(func(w *worker.Worker) { w.RegisterAgent(film) })
	defer house.Close()
	house.AddWorker(worker.Config{Queues: []string{"gpu"}}, func(w *worker.Worker) { w.RegisterTask(render) })
	fmt.Println(exampletest.Outcome(house.Wait(house.Start("film", "scene 1"))))
	// Output: scene 1 on queue gpu
}

// A worker that has fewer slots than there are tasks takes the most urgent task first.
func ExamplePriority() {
	var mu sync.Mutex // guards order
	var order []string
	printing := agent.DefineTask("print", func(_ agent.TaskContext, page string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, page)
		return page, nil
	})
	office := agent.DefineFunc("office", func(ctx agent.Context, _ any) ([]string, error) {
		return agent.JoinAll[string](ctx,
			ctx.Schedule("print", "archive", agent.Queue("printer"), agent.Priority(9)),
			ctx.Schedule("print", "letter", agent.Queue("printer")), // priority 5
			ctx.Schedule("print", "alarm", agent.Queue("printer"), agent.Priority(0)),
		)
	})
	house := exampletest.Open(func(w *worker.Worker) { w.RegisterAgent(office) })
	defer house.Close()
	house.AddWorker(worker.Config{Queues: []string{"printer"}, Tasks: 1}, func(w *worker.Worker) { w.RegisterTask(printing) })
	house.Wait(house.Start("office", nil))
	fmt.Println(order)
	// Output: [alarm letter archive]
}

// At most one task with this key runs at a time, on all workers together.
func ExampleConcurrencyKey() {
	var mu sync.Mutex // is free when a task begins, because tasks do not overlap
	deploy := agent.DefineTask("deploy", func(_ agent.TaskContext, version int) (string, error) {
		if !mu.TryLock() {
			return "", agent.Permanent(errors.New("another deployment is running"))
		}
		defer mu.Unlock()
		return fmt.Sprint("version ", version), nil
	})
	releases := agent.DefineFunc("releases", func(ctx agent.Context, versions []int) ([]string, error) {
		var futures []agent.Future
		for _, version := range versions {
			futures = append(futures, ctx.Schedule("deploy", version, agent.ConcurrencyKey("production", 1)))
		}
		return agent.JoinAll[string](ctx, futures...)
	})
	fmt.Println(exampletest.Run(releases, []int{1, 2, 3}, deploy))
	// Output: ["version 1","version 2","version 3"]
}

// Deadline limits the time of a task with all its attempts and the pauses between them.
func ExampleDeadline() {
	shopper := agent.DefineFunc("shopper", func(ctx agent.Context, _ any) (string, error) {
		_, err := agent.Call[string](ctx, "fetch", nil, agent.Attempts(1_000), agent.Deadline(100*time.Millisecond))
		var failed *perdure.TaskError
		if errors.As(err, &failed) {
			return failed.Message, nil
		}
		return "bought", err
	})
	fmt.Println(exampletest.Run(shopper, nil, fetch))
	// Output: it did not end within 100ms of being scheduled
}

// fetch is a task that lasts until its context ends.
var fetch = agent.DefineTask("fetch", func(ctx agent.TaskContext, _ any) (string, error) {
	<-ctx.Done()
	return "", context.Cause(ctx)
})

// A task that reports no progress for too long fails. Long tasks that do report progress are not
// limited.
func ExampleHeartbeatTimeout() {
	watchful := agent.DefineFunc("watchful", func(ctx agent.Context, _ any) (string, error) {
		_, err := agent.Call[string](ctx, "fetch", nil, agent.HeartbeatTimeout(50*time.Millisecond), agent.Attempts(1))
		var failed *perdure.TaskError
		if errors.As(err, &failed) {
			return fmt.Sprint("the task failed with ", failed.Code), nil
		}
		return "", err
	})
	fmt.Println(exampletest.Run(watchful, nil, fetch))
	// Output: the task failed with timeout
}

// Tasks with the same key are one task with one result. If a checkpoint is created later than
// KeyTTL after the end of the task, the key begins a new task.
func ExampleKeyTTL() {
	runs := 0 // number of runs of the task
	count := agent.DefineTask("count", func(_ agent.TaskContext, _ any) (int, error) {
		runs++
		return runs, nil
	})
	daily := func(ctx agent.Context) (int, error) {
		return agent.Call[int](ctx, "count", nil, agent.Key("daily"), agent.KeyTTL(time.Millisecond))
	}
	report := agent.DefineFunc("report", func(ctx agent.Context, _ any) ([]int, error) {
		first, err := daily(ctx)
		if err != nil {
			return nil, err
		}
		if err := ctx.Sleep(10 * time.Millisecond); err != nil {
			return nil, err
		}
		repeated, err := daily(ctx)
		if err != nil {
			return nil, err
		}
		if err := ctx.Checkpoint(nil); err != nil {
			return nil, err
		}
		afterCheckpoint, err := daily(ctx)
		return []int{first, repeated, afterCheckpoint}, err
	})
	fmt.Println(exampletest.Run(report, nil, count))
	// Output: [1,1,2]
}

// A lazy step costs no commit of its own. Use it for work that may run again after a crash.
func ExampleLazy() {
	parse := agent.DefineFunc("parse", func(ctx agent.Context, text string) (int, error) {
		return agent.Step(ctx, "parse", func(context.Context) (int, error) {
			return len(text), nil
		}, agent.Lazy())
	})
	fmt.Println(exampletest.Run(parse, "four"))
	// Output: 4
}

// SelectCancel returns the first success and cancels the other tasks.
func ExampleSelectCancel() {
	first := agent.DefineFunc("first", func(ctx agent.Context, word string) (string, error) {
		_, found, err := agent.SelectCancel[string](ctx,
			ctx.Schedule("fetch", nil, agent.Queue("elsewhere")), // no worker has this queue
			ctx.Schedule("shout", word),
		)
		return found, err
	})
	house := exampletest.Open(func(w *worker.Worker) {
		w.RegisterAgent(first)
		w.RegisterTask(shout)
	})
	defer house.Close()
	id := house.Start("first", "fast")
	fmt.Println(exampletest.Outcome(house.Wait(id)))
	for task, err := range house.Client.Tasks(context.Background(), id) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(task.Kind, task.Status)
	}
	// Output:
	// FAST
	// fetch CANCELLED
	// shout COMPLETED
}
