// Command reminder is a worker with an agent that waits a long time. It waits two weeks for the
// payment of an invoice, sends a reminder, waits again, and gives up after the third reminder.
// main_test.go shows how to test such an agent.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/worker"
	"github.com/perdure/perdure/worker/remote"
)

const (
	patience  = 14 * 24 * time.Hour
	reminders = 3
)

// Invoice is the agent's input: the invoice to watch.
type Invoice struct {
	Number string `json:"number"`
	To     string `json:"to"`
}

// Letter is the input of a task of kind "letter".
type Letter struct {
	To   string `json:"to"`
	Text string `json:"text"`
}

// progress is the content of a checkpoint. A function that is entered again starts from the newest
// checkpoint.
type progress struct {
	Reminded int `json:"reminded"`
}

func remind(ctx agent.Context, in Invoice) (string, error) {
	var p progress
	if _, err := ctx.State(&p); err != nil {
		return "", err
	}
	for p.Reminded < reminders {
		_, err := ctx.WaitSignal("paid", patience)
		if err == nil {
			return fmt.Sprintf("%s is paid after %d reminders", in.Number, p.Reminded), nil
		}
		if !errors.Is(err, agent.ErrTimeout) {
			return "", err
		}
		p.Reminded++
		text := fmt.Sprintf("Reminder %d: please pay %s.", p.Reminded, in.Number)
		// A lost worker must not cause a second copy of the letter.
		letter := ctx.Schedule("letter", Letter{To: in.To, Text: text}, agent.OnLost(perdure.OnLostReport))
		if _, err := agent.Await[bool](ctx, letter); err != nil {
			text += " (It may not have arrived: " + err.Error() + ")"
		}
		said := perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{perdure.Text(text)}}}
		if _, err := ctx.Append(said, agent.WithKey(fmt.Sprintf("reminder %d", p.Reminded))); err != nil {
			return "", err
		}
		if err := ctx.Checkpoint(p); err != nil {
			return "", err
		}
	}
	return in.Number + " is overdue", nil
}

func send(_ agent.TaskContext, l Letter) (bool, error) {
	_, err := fmt.Printf("to %s: %s\n", l.To, l.Text)
	return true, err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server, err := remote.Dial(ctx, remote.Options{Addr: "127.0.0.1:9090", Token: os.Getenv("PERDURE_KEY")})
	if err != nil {
		log.Fatal(err)
	}
	w := worker.New(worker.Config{Dispatch: server})
	w.RegisterAgent(agent.DefineFunc("reminder", remind))
	w.RegisterTask(agent.DefineTask("letter", send))
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
