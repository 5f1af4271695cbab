package main

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/agent/agenttest"
)

// scenario returns a scenario with an order, and a parcel that leaves after an hour.
func scenario(quantity int) agenttest.Scenario {
	return agenttest.Scenario{
		Agent:   agent.DefineFunc("order", fulfil).Signals(shipped),
		Input:   Order{Article: "A-1", Quantity: quantity, Price: 2.5, Notes: []string{"fragile"}, To: Address{Name: "ann"}},
		Tasks:   []agent.TaskKind{agent.DefineTask("reserve", reserve)},
		Signals: []agenttest.Signal{{Name: "shipped", Value: Parcel{Carrier: "post", Boxes: 1}, After: time.Hour}},
	}
}

func TestShipsWhatWasOrdered(t *testing.T) {
	o := agenttest.Run(t, scenario(4))
	if string(o.Output) != `{"total":10,"shelf":"shelf 7","carrier":"post"}` {
		t.Errorf("it gave %s: %s", o.Output, o.Error)
	}
	if o.Text() != "assistant: Reserved on shelf 7.\n" {
		t.Errorf("it said:\n%s", o.Text())
	}
	agenttest.All(t, scenario(4))
}

func TestFailsWithoutGoods(t *testing.T) {
	if o := agenttest.Run(t, scenario(101)); !strings.Contains(o.Error, "there are not 101 of A-1") {
		t.Errorf("it gave %s, and the error %q", o.Output, o.Error)
	}
}
