package worker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// TestAWorkerThatNamesTooMuchDoesNotStart checks that Run returns an invalid_argument error if the
// worker has more queues, or more pairs of queue and kind, than a poll may name.
func TestAWorkerThatNamesTooMuchDoesNotStart(t *testing.T) {
	queues := make([]string, perdure.MaxPollQueues+1)
	for i := range queues {
		queues[i] = fmt.Sprint("q", i)
	}
	w := New(Config{Queues: queues})
	if err := w.Run(t.Context()); !perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), "100") {
		t.Errorf("with %d queues it gave %v", len(queues), err)
	}
	w = New(Config{Queues: queues[:20]})
	for i := range perdure.MaxPollPairs/20 + 1 {
		w.RegisterTask(agent.TaskDefinition{Spec: perdure.KindSpec{Kind: fmt.Sprint("k", i)}})
	}
	if err := w.Run(t.Context()); !perdure.IsCode(err, perdure.InvalidArgument) || !strings.Contains(err.Error(), "1000") {
		t.Errorf("with too many pairs it gave %v", err)
	}
}
