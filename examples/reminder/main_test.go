package main

import (
	"testing"
	"time"

	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/agent/agenttest"
	"github.com/perdure/perdure/internal/longtest"
)

// scenario returns a test scenario: an invoice as input, and a fake of the task that would post letters.
func scenario() agenttest.Scenario {
	return agenttest.Scenario{
		Agent: agent.DefineFunc("reminder", remind),
		Input: Invoice{Number: "R-17", To: "ann"},
		Tasks: []agent.TaskKind{agenttest.Result("letter", true)},
	}
}

func TestPaysAfterFirstReminder(t *testing.T) {
	s := scenario()
	s.Signals = []agenttest.Signal{{Name: "paid", After: 20 * 24 * time.Hour}}
	o := agenttest.Run(t, s)
	if string(o.Output) != `"R-17 is paid after 1 reminders"` || o.Ran["letter"] != 1 {
		t.Errorf("it gave %s after %d letters:\n%s", o.Output, o.Ran["letter"], o.Text())
	}
	longtest.Skip(t, "seconds")
	agenttest.All(t, s) // with crashes, lost leases and calls that are delivered twice
}

func TestGivesUpAfterSixWeeks(t *testing.T) {
	o := agenttest.Run(t, scenario())
	want := "assistant: Reminder 1: please pay R-17.\nassistant: Reminder 2: please pay R-17.\nassistant: Reminder 3: please pay R-17.\n"
	if string(o.Output) != `"R-17 is overdue"` || o.Text() != want {
		t.Errorf("it gave %s, having said:\n%s", o.Output, o.Text())
	}
	if weeks := o.Elapsed.Round(time.Hour) / (7 * 24 * time.Hour); weeks != 6 {
		t.Errorf("it took %d weeks", weeks)
	}
}
