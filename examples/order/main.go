// Command order is a worker with an agent that fulfils an order: it computes the price, reserves
// the goods with a task, asks people, and waits for the signal that the parcel has left. Its input,
// its signal and its question have schemas, so the web page has forms for them. main_test.go tests
// the agent.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/worker"
	"github.com/perdure/perdure/worker/remote"
)

// patience is how long the agent waits for the signal that the parcel has left.
const patience = 3 * 24 * time.Hour

// Order is the agent's input.
type Order struct {
	Article  string   `json:"article"`
	Quantity int      `json:"quantity"`
	Price    float64  `json:"price"`
	Gift     bool     `json:"gift,omitempty"`
	Urgency  int      `json:"urgency,omitempty" jsonschema:"enum=1,enum=2,enum=3,description=3 is the most urgent"`
	Notes    []string `json:"notes,omitempty"`
	Extras   []Extra  `json:"extras,omitempty" jsonschema:"maxItems=5"`
	Payment  *Payment `json:"payment,omitempty"`
	To       Address  `json:"to"`
}

// Extra is an addition to the article in the parcel.
type Extra struct {
	Name  string `json:"name"`
	Count int    `json:"count" jsonschema:"minimum=1"`
}

// Payment is by card or by invoice: its schema has an alternative for each.
type Payment struct {
	Card    string `json:"card,omitempty" jsonschema:"oneof_required=card"`
	Invoice string `json:"invoice,omitempty" jsonschema:"oneof_required=invoice,description=where the invoice is sent"`
}

// Address is the address to which an order is sent.
type Address struct {
	Name string `json:"name"`
	City string `json:"city,omitempty"`
}

// Card is the text that a person writes for a gift.
type Card struct {
	Text  string `json:"text"`
	Color string `json:"color,omitempty"`
}

// Parcel is the value of the signal "shipped".
type Parcel struct {
	Carrier string `json:"carrier"`
	Boxes   int    `json:"boxes"`
}

// Outcome is the agent's output.
type Outcome struct {
	Total   float64 `json:"total"`
	Card    string  `json:"card,omitempty"`
	Shelf   string  `json:"shelf"`
	Carrier string  `json:"carrier"`
}

var shipped = agent.DefineSignal[Parcel]("shipped").Describe("the parcel has left the house")

func fulfil(ctx agent.Context, in Order) (Outcome, error) {
	var out Outcome
	var err error
	out.Total, err = agent.Step(ctx, "total", func(context.Context) (float64, error) {
		return in.Price * float64(in.Quantity), nil
	})
	if err != nil {
		return out, err
	}
	for i, note := range in.Notes {
		_, err := agent.Step(ctx, "label", func(context.Context) (string, error) { return "Note: " + note, nil },
			agent.StepInstance(strconv.Itoa(i)), agent.Lazy())
		if err != nil {
			return out, err
		}
	}
	if out.Shelf, err = agent.Await[string](ctx, ctx.Schedule("reserve", in)); err != nil {
		return out, err
	}
	if err := say(ctx, "Reserved on "+out.Shelf+"."); err != nil {
		return out, err
	}
	if in.Gift {
		card, err := agent.AskFor[Card](ctx, "card", "What shall the card say?")
		if err != nil {
			return out, err
		}
		out.Card = card.Text
	}
	parcel, err := shipped.Wait(ctx, patience)
	if errors.Is(err, agent.ErrTimeout) {
		return out, errors.New("no parcel has left in time")
	}
	out.Carrier = parcel.Carrier
	return out, err
}

// say appends an assistant's message to the conversation. People read it on the web page of the
// run.
func say(ctx agent.Context, text string) error {
	parts := []perdure.Part{perdure.Text(text)}
	_, err := ctx.Append(perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: parts}}, agent.WithKey(text))
	return err
}

func reserve(_ agent.TaskContext, o Order) (string, error) {
	if o.Quantity > 100 {
		return "", fmt.Errorf("there are not %d of %s", o.Quantity, o.Article)
	}
	return "shelf 7", nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	addr := cmp.Or(os.Getenv("PERDURE_SERVER"), "127.0.0.1:9090")
	server, err := remote.Dial(ctx, remote.Options{Addr: addr, Token: os.Getenv("PERDURE_KEY")})
	if err != nil {
		log.Fatal(err)
	}
	w := worker.New(worker.Config{Dispatch: server})
	w.RegisterAgent(agent.DefineFunc("order", fulfil).Signals(shipped).Tags("shop"))
	w.RegisterTask(agent.DefineTask("reserve", reserve))
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
