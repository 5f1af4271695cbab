package main

import (
	"testing"

	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/agent/agenttest"
)

// TestGreet checks that a crash of the worker at any commit does not change the greeting.
func TestGreet(t *testing.T) {
	s := agenttest.Scenario{
		Agent:   agent.DefineFunc("greeter", greet),
		Input:   []string{"ann", "bob"},
		Tasks:   []agent.TaskKind{agent.DefineTask("shout", shout)},
		Signals: []agenttest.Signal{{Name: "approve", Value: "go ahead"}},
	}
	if o := agenttest.Run(t, s); string(o.Output) != `"Hello ANN and BOB! (\"go ahead\")"` {
		t.Errorf("it gave %s %s", o.Output, o.Error)
	}
	agenttest.CrashAtEveryCommit(t, s)
}
