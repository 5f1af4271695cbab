package agenttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/agent/agenttest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/scripted"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"

	"github.com/perdure/perdure/internal/longtest"
)

// part returns options of react.Run for a model that plays a script.
func part(tools ...tool.Tool) react.RunOptions {
	return react.RunOptions{Model: perdure.ModelConfig{Provider: "scripted", ModelID: "m"}, Tools: tools}
}

// partTasks returns the task kinds that react.Run needs for a model that plays a script. Each model
// call gets new tasks from react.ModelTasks, so its caches are empty, as on another worker.
func partTasks(t *testing.T, script string, tools ...tool.Tool) []agent.TaskKind {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "m"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return tasksOf(react.Config{Providers: llm.NewProviders(scripted.New(scripted.Config{Dir: dir})), Tools: tools})
}

func tasksOf(c react.Config) []agent.TaskKind {
	var kinds []agent.TaskKind
	for _, d := range react.Tasks(c) {
		if d.Spec.Kind == react.ModelTask {
			d.Run = func(ctx agent.TaskContext, input json.RawMessage) (json.RawMessage, error) {
				return react.ModelTasks(c)[0].Run(ctx, input)
			}
		}
		kinds = append(kinds, d)
	}
	return kinds
}

// partly is an agent that calls react.Run with its input as the prompt, and returns the text that
// saidBy returns for the result of react.Run.
func partly(o react.RunOptions) agent.Definition {
	return agent.DefineFunc("partly", func(ctx agent.Context, prompt string) (string, error) {
		r, err := react.Run(ctx, []perdure.Message{perdure.UserText(prompt)}, o)
		return saidBy(r), err
	})
}

// saidBy returns a text with one line for each message of the result, and a line about its end.
func saidBy(r react.RunResult) string {
	o := agenttest.Outcome{Messages: r.Messages}
	return o.Text() + fmt.Sprintf("%s after %d turns, %d tokens", r.StopReason, r.Turns, r.Usage.TotalTokens)
}

func textOf(t *testing.T, o agenttest.Outcome) string {
	t.Helper()
	var text string
	if err := json.Unmarshal(o.Output, &text); err != nil {
		t.Fatalf("the run is %s, %s: %s", o.Status, o.Error, o.Output)
	}
	return text
}

// broken is a tool that always fails.
func broken() tool.Tool {
	return tool.New("broken", "Fails.", func(context.Context, *tool.Call, struct{}) (tool.Result, error) {
		return tool.Result{}, errors.New("the wheel came off")
	})
}

// alone is a tool that must not run together with other tools.
func alone() tool.Tool {
	return tool.New("alone", "Runs alone.", func(context.Context, *tool.Call, struct{}) (tool.Result, error) {
		return tool.Text("done alone"), nil
	}, tool.WithBarrier(), tool.WithOnLost(perdure.OnLostRetry))
}

// TestRunIsTheReactLoop checks that react.Run calls tools until the model answers, and that each call
// has one result, under every fault that agenttest injects.
func TestRunIsTheReactLoop(t *testing.T) {
	longtest.Skip(t, "seconds")
	const script = `turn
  call forecast {"city": "Bern"}
  call unknown {"x": 1}
  call alone
  call number {"n": 12345678901234567891}
  call forecast <<END
{"city":
END
  call broken
  usage in=10 out=5
turn
  expect 12345678901234567891
  text Bring an umbrella.
  usage in=20 out=5
`
	type large struct {
		N uint64 `json:"n"`
	}
	number := tool.New("number", "Says a number.", func(_ context.Context, _ *tool.Call, in large) (tool.Result, error) {
		return tool.Text(fmt.Sprint(in.N)), nil
	}, tool.WithOnLost(perdure.OnLostRetry))
	tools := []tool.Tool{forecast(), alone(), broken(), number}
	s := agenttest.Scenario{Agent: partly(part(tools...)), Input: "Weather?", Tasks: partTasks(t, script, tools...)}
	o := agenttest.Run(t, s)
	want := `user: Weather?
assistant: forecast({"city": "Bern"}) unknown({"x": 1}) alone({}) number({"n": 12345678901234567891}) forecast({"city":) broken({})
tool_result: forecast = It rains in Bern.
tool_result: unknown = there is no tool "unknown"; the tools are: [forecast alone broken number]
tool_result: alone = done alone
tool_result: number = 12345678901234567891
tool_result: forecast = the arguments are not valid JSON; nothing was run
tool_result: broken = broken: the wheel came off
assistant: Bring an umbrella.
end_turn after 2 turns, 40 tokens`
	if text := textOf(t, o); text != want {
		t.Errorf("it was\n%s\nwant\n%s", text, want)
	}
	if o.Ran[react.ModelTask] != 2 || o.Ran["forecast"] != 1 || o.Ran["number"] != 1 || len(o.Messages) != 0 {
		t.Errorf("it ran %v, and the conversation has %d messages", o.Ran, len(o.Messages))
	}
	agenttest.AllOfSample(t, s)
}

// TestRunStopsAtItsLimit checks that react.Run stops after MaxTurns turns, and that a second call of
// react.Run can continue with the messages of the first.
func TestRunStopsAtItsLimit(t *testing.T) {
	const script = "turn\n  call forecast {\"city\": \"Bern\"}\nturn\n  call forecast {\"city\": \"Rome\"}\nturn\n  text Done.\n"
	o := part(forecast())
	o.MaxTurns = 1
	s := agenttest.Scenario{Input: "Weather?", Tasks: partTasks(t, script, forecast())}
	s.Agent = agent.DefineFunc("twice", func(ctx agent.Context, prompt string) (string, error) {
		first, err := react.Run(ctx, []perdure.Message{perdure.UserText(prompt)}, o)
		if err != nil {
			return "", err
		}
		if first.StopReason != perdure.StopTurnLimit || first.Turns != 1 {
			return "", fmt.Errorf("it stops with %s after %d turns", first.StopReason, first.Turns)
		}
		rest := part(forecast())
		rest.Name = "rest"
		second, err := react.Run(ctx, first.Messages, rest)
		return saidBy(second), err
	})
	text := textOf(t, agenttest.Run(t, s))
	if !strings.Contains(text, "Bern.") || !strings.Contains(text, "Rome.") || !strings.HasSuffix(text, "assistant: Done.\n"+"end_turn after 2 turns, "+text[strings.LastIndex(text, "turns, ")+7:]) {
		t.Errorf("it was\n%s", text)
	}
}

// TestRunAsksForApproval checks tool calls under two policies: that of the execution and that in
// the code. The calls are approved, denied with a reason, edited, allowed, or denied by a rule.
func TestRunAsksForApproval(t *testing.T) {
	longtest.Skip(t, "seconds")
	const script = `turn
  call forecast {"city":  "Bern"}
  call forecast {"city": "Rome"}
  call forecast {"city": "Oslo"}
  call forecast {"city": "Riga"}
  call forecast {"city": "Graz", "city": "Linz"}
  call alone
turn
  text Done.
`
	policy := cities(t)
	policy[1].Edit = perdure.EditClient
	o := part(forecast(), alone())
	o.Approvals = perdure.ApprovalPolicy{
		{Tools: []string{"alone"}, Then: perdure.ApprovalAsk, Reason: "Alone?"},
		{Tools: []string{"forecast"}, When: json.RawMessage(`{"properties": {"arguments": {"properties": {"city": {"const": "Riga"}}}}}`), Then: perdure.ApprovalDeny, Reason: "not Riga"},
	}
	s := agenttest.Scenario{Agent: partly(o), Input: "Weather?", Tasks: partTasks(t, script, forecast(), alone()), Approvals: policy, Normalize: withoutKeys}
	s.Answers = func(q perdure.Question) *perdure.Answer {
		switch string(q.Details) {
		case `{"city": "Rome"}`, `{"city": "Riga"}`, ``:
			t.Errorf("it asks about %s %s", q.Subject, q.Details)
		case `{"city": "Oslo"}`:
			return &perdure.Answer{Verdict: perdure.VerdictApprove, Value: json.RawMessage(`{"city":"Bodo"}`)}
		case `{}`:
			return &perdure.Answer{Verdict: perdure.VerdictDeny, Reason: "never alone"}
		}
		return &perdure.Answer{Verdict: perdure.VerdictApprove}
	}
	out := agenttest.Run(t, s)
	text := textOf(t, out)
	for _, want := range []string{
		"= It rains in Bern.", "= It rains in Rome.", `It was run with {"city":"Bodo"}`, "It rains in Bodo.", "not run: a rule denies this call: not Riga",
		"= the arguments are not one JSON document", "alone = not run: it was denied: never alone", "assistant: Done.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the messages lack %q:\n%s", want, text)
		}
	}
	if out.Ran["forecast"] != 3 || out.Ran["alone"] != 0 || len(out.Questions) != 3 {
		t.Errorf("it ran %v after %q", out.Ran, out.Questions)
	}
	agenttest.AllOfSample(t, s)
}

// TestRunWaitsForItsApprovals checks approvals that expire or are remembered, and an execution that is
// cancelled while it waits for an approval.
func TestRunWaitsForItsApprovals(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := agenttest.Scenario{Agent: partly(part(forecast())), Input: "Weather?", Tasks: partTasks(t, three, forecast()), Approvals: cities(t), Normalize: withoutKeys}
	o := agenttest.Run(t, s)
	if text := textOf(t, o); strings.Count(text, "not run: it was denied: nobody answered in time") != 2 || o.Elapsed < time.Hour || o.Ran["forecast"] != 1 {
		t.Errorf("after %s:\n%s", o.Elapsed, text)
	}
	s.CancelAfter = time.Minute
	if o := agenttest.Run(t, s); o.Status != perdure.StatusCancelled || o.Ran[react.ModelTask] != 1 || o.Ran["forecast"] != 1 {
		t.Errorf("cancelled, it is %s, %s after %v", o.Status, o.Error, o.Ran)
	}
	agenttest.AllOfSample(t, s)
	s.CancelAfter = 0
	s.Answers = func(perdure.Question) *perdure.Answer { return &perdure.Answer{Verdict: perdure.VerdictApprove} }
	s.Remember = func(perdure.Question) *perdure.Remember {
		return &perdure.Remember{Scope: perdure.GrantRun, Match: perdure.GrantTool}
	}
	if o := agenttest.Run(t, s); o.Ran["forecast"] != 3 {
		t.Errorf("remembered, it ran %v:\n%s", o.Ran, textOf(t, o))
	}
}

// TestRunInALoop checks that each call of a loop's step can use the same name for a new call of
// react.Run. If the agent's function is entered again, the call of react.Run that began after the
// newest checkpoint continues where it was.
func TestRunInALoop(t *testing.T) {
	longtest.Skip(t, "seconds")
	const script = "turn\n  call forecast {\"city\": \"Bern\"}\nturn\n  expect It rains\n  text Wet.\n"
	s := agenttest.Scenario{Input: 0, Tasks: partTasks(t, script, forecast()), Approvals: perdure.ApprovalPolicy{{Tools: []string{"forecast"}, Then: perdure.ApprovalAsk}}, Normalize: withoutKeys}
	s.Answers = func(perdure.Question) *perdure.Answer { return &perdure.Answer{Verdict: perdure.VerdictApprove} }
	s.Agent = agent.DefineFunc("loop", func(ctx agent.Context, _ int) ([]string, error) {
		var said []string
		err := agent.Loop(ctx, &said, func(ctx agent.Context, said *[]string) (bool, error) {
			r, err := react.Run(ctx, []perdure.Message{perdure.UserText("Weather?")}, part(forecast()))
			*said = append(*said, r.Text())
			return len(*said) == 2, err
		})
		return said, err
	})
	o := agenttest.Run(t, s)
	if string(o.Output) != `["Wet.","Wet."]` || o.Ran["forecast"] != 2 || o.Ran[react.ModelTask] != 4 || len(o.Questions) != 2 {
		t.Errorf("%s, %s after %v, %q", o.Output, o.Error, o.Ran, o.Questions)
	}
	agenttest.AllOfSample(t, s)
}

// TestRunNames checks that two calls of react.Run in one function need different names, and that
// react.Run refuses other invalid options.
func TestRunNames(t *testing.T) {
	longtest.Skip(t, "seconds")
	talk := []perdure.Message{perdure.UserText("Weather?")}
	for want, o := range map[string]func(o *react.RunOptions){
		"step_name_reused: Run was called twice": func(*react.RunOptions) {},
		"maxTurns: must not be negative":         func(o *react.RunOptions) { o.Name, o.MaxTurns = "b", -1 },
		"model: is missing":                      func(o *react.RunOptions) { o.Name, o.Model = "b", perdure.ModelConfig{} },
		"is named twice":                         func(o *react.RunOptions) { o.Name, o.Tools = "b", []tool.Tool{forecast(), forecast()} },
		"approvals[0].then": func(o *react.RunOptions) {
			o.Name, o.Approvals = "b", perdure.ApprovalPolicy{{Tools: []string{"x"}, Then: "maybe"}}
		},
		"approvals[0].when": func(o *react.RunOptions) {
			o.Name, o.Approvals = "b", perdure.ApprovalPolicy{{Tools: []string{"x"}, Then: perdure.ApprovalDeny, When: json.RawMessage(`{"type": 7}`)}}
		},
		"net": func(o *react.RunOptions) { o.Name, o.Net = "b", "some" },
	} {
		second := part(forecast())
		o(&second)
		s := agenttest.Scenario{Input: 0, Tasks: partTasks(t, "turn\n  text Wet.\n", forecast())}
		s.Agent = agent.DefineFunc("twice", func(ctx agent.Context, _ int) (string, error) {
			if _, err := react.Run(ctx, talk, part(forecast())); err != nil {
				return "", err
			}
			r, err := react.Run(ctx, talk, second)
			return r.Text(), err
		})
		if o := agenttest.Run(t, s); o.Status != perdure.StatusFailed || !strings.Contains(o.Error, want) {
			t.Errorf("%s, %s; want %s", o.Status, o.Error, want)
		}
	}
}

// TestRunRetriesTheModel checks that react.Run repeats model calls that fail for a while, and how it
// ends if a model call fails permanently.
func TestRunRetriesTheModel(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	script := "turn\n  call forecast {\"city\": \"Bern\"}\nturn\n  text Wet.\n"
	if err := os.WriteFile(filepath.Join(dir, "m"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	s := agenttest.Scenario{Agent: partly(part(forecast())), Input: "Weather?"}
	s.Before = func(s *agenttest.Scenario) {
		s.Tasks = tasksOf(react.Config{Providers: llm.NewProviders(&flakyProvider{Provider: scripted.New(scripted.Config{Dir: dir})}), Tools: []tool.Tool{forecast()}})
	}
	o := agenttest.Run(t, s)
	if text := textOf(t, o); !strings.Contains(text, "assistant: Wet.") || o.Ran[react.ModelTask] != 4 {
		t.Errorf("it ran %v:\n%s", o.Ran, text)
	}
	s.Before, s.Tasks = nil, partTasks(t, "turn\n  call forecast {\"city\": \"Bern\"}\nturn\n  fail auth no key\n", forecast())
	s.Agent = agent.DefineFunc("failing", func(ctx agent.Context, prompt string) (string, error) {
		r, err := react.Run(ctx, []perdure.Message{perdure.UserText(prompt)}, part(forecast()))
		var failed *perdure.TaskError
		if !errors.As(err, &failed) || failed.Code != "model_auth" {
			return "", err
		}
		return saidBy(r), nil
	})
	if text := textOf(t, agenttest.Run(t, s)); !strings.Contains(text, "forecast = It rains in Bern.\n after 1 turns") {
		t.Errorf("it failed after\n%s", text)
	}
	agenttest.AllOfSample(t, s)
}

// flakyProvider is a provider whose first, third and every further odd call fails.
type flakyProvider struct {
	llm.Provider
	calls int
}

func (s *flakyProvider) Stream(ctx context.Context, r llm.Request, show func(llm.Delta) error) (*llm.Response, error) {
	if s.calls++; s.calls%2 == 1 {
		return nil, &llm.Error{Kind: llm.Overloaded, Provider: "scripted", Message: "busy", Retryable: true}
	}
	return s.Provider.Stream(ctx, r, show)
}

// TestRunWithLargeContents checks that messages and results that are stored as blobs reach the model.
func TestRunWithLargeContents(t *testing.T) {
	longtest.Skip(t, "seconds")
	large := strings.Repeat("rain ", 60_000)
	flood := tool.New("flood", "Returns much.", func(context.Context, *tool.Call, struct{}) (tool.Result, error) {
		return tool.Text(large + "flood"), nil
	}, tool.WithOnLost(perdure.OnLostRetry))
	const script = "turn\n  expect the prompt\n  call flood\nturn\n  expect rain flood\n  call flood\nturn\n  expect rain flood\n  text Wet.\n"
	s := agenttest.Scenario{Agent: partly(part(flood)), Input: large + "the prompt", Tasks: partTasks(t, script, flood)}
	o := agenttest.Run(t, s)
	if text := textOf(t, o); strings.Count(text, "rain flood") != 2 || !strings.Contains(text, "assistant: Wet.\nend_turn after 3 turns") {
		t.Errorf("it ends with %q", text[max(0, len(text)-200):])
	}
	if longtest.All() {
		agenttest.AllOfSample(t, s)
		return
	}
	agenttest.RunReentered(t, s)
}

// TestRunStoresLinearly checks that the total size of the inputs of model calls grows in proportion to
// the number of turns.
func TestRunStoresLinearly(t *testing.T) {
	longtest.Skip(t, "seconds")
	sizes := map[int]int{}
	for _, turns := range []int{10, 40} {
		script := strings.Repeat("turn\n  call forecast {\"city\": \"Bern\"}\n  call unknown\n", turns-1) + "turn\n  text Wet.\n"
		s := agenttest.Scenario{Agent: partly(part(forecast())), Input: strings.Repeat("Weather? ", 1000), Tasks: partTasks(t, script, forecast())}
		o := agenttest.Run(t, s)
		if text := textOf(t, o); !strings.Contains(text, fmt.Sprintf("after %d turns", turns)) {
			t.Fatalf("it ends with %q", text[max(0, len(text)-200):])
		}
		most := 0
		for _, task := range o.Tasks {
			if task.Kind == react.ModelTask {
				sizes[turns] += len(task.Input)
				most = max(most, len(task.Input))
			}
		}
		if most > 1000 {
			t.Errorf("with %d turns, the largest input has %d bytes", turns, most)
		}
	}
	if sizes[40] > 5*sizes[10] {
		t.Errorf("the inputs have %d bytes after 10 turns and %d after 40", sizes[10], sizes[40])
	}
}

// TestRunIsCancelled checks that an execution can be cancelled while a tool runs.
func TestRunIsCancelled(t *testing.T) {
	longtest.Skip(t, "seconds")
	wait := tool.New("wait", "Waits.", func(ctx context.Context, _ *tool.Call, _ struct{}) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, context.Cause(ctx)
	})
	s := agenttest.Scenario{Agent: partly(part(wait)), Input: "Wait.", Tasks: partTasks(t, "turn\n  call wait\nturn\n  text Wet.\n", wait), CancelAfter: time.Minute}
	if o := agenttest.Run(t, s); o.Status != perdure.StatusCancelled || o.Ran[react.ModelTask] != 1 {
		t.Errorf("it is %s after %v", o.Status, o.Ran)
	}
	agenttest.AllOfSample(t, s)
}

// TestRunTightensItsPolicies checks that react.Run obeys the stricter of two policies: that of the
// execution and that in the code. Both policies ask about one call. Only the policy in the code
// asks about another call, and requires confinement of a third. The test also checks rules about
// the number of the turn.
func TestRunTightensItsPolicies(t *testing.T) {
	longtest.Skip(t, "seconds")
	const script = `turn
  call forecast {"city": "Rome"}
  call forecast {"city": "Bern"}
  call bash {"command": "ls"}
turn
  call forecast {"city": "Oslo"}
turn
  text Done.
`
	bash := tool.New("bash", "Runs a command.", func(context.Context, *tool.Call, struct {
		Command string `json:"command"`
	},
	) (tool.Result, error) {
		return tool.Text("ran"), nil
	}, tool.WithOnLost(perdure.OnLostRetry))
	o := part(forecast(), bash)
	o.Net = tool.NetNone
	o.Approvals = perdure.ApprovalPolicy{
		{Tools: []string{"bash"}, Then: perdure.ApprovalAllow, Requires: perdure.RequiresConfined},
		{Tools: []string{"forecast"}, Then: perdure.ApprovalAsk, Needed: 2, Reason: "Twice?", When: json.RawMessage(`{"properties": {"turn": {"const": 0}}}`)},
	}
	policy := append(cities(t), perdure.ApprovalRule{Tools: []string{"bash"}, Then: perdure.ApprovalAllow})
	policy[1].When = json.RawMessage(`{"properties": {"turn": {"const": 0}}}`)
	s := agenttest.Scenario{Agent: partly(o), Input: "Weather?", Tasks: partTasks(t, script, forecast(), bash), Approvals: policy, Normalize: withoutKeys}
	s.Answers = func(q perdure.Question) *perdure.Answer {
		if q.Needed != 2 {
			t.Errorf("the question about %s needs %d", q.Details, q.Needed)
		}
		return &perdure.Answer{Verdict: perdure.VerdictApprove}
	}
	out := agenttest.Run(t, s)
	text := textOf(t, out)
	if strings.Count(text, "It rains in") != 3 || !strings.Contains(text, "bash = not run: this worker cannot confine commands") || len(out.Questions) != 2 {
		t.Errorf("after %q:\n%s", out.Questions, text)
	}
	agenttest.AllOfSample(t, s)
}

// TestManyCallsAreAskedAboutInTurn checks an answer of the model with more tool calls that need
// approval than an execution can have open questions, in react.Run and in the react agent.
func TestManyCallsAreAskedAboutInTurn(t *testing.T) {
	longtest.Skip(t, "seconds")
	const calls = perdure.MaxOpenQuestions + 20
	script := "turn\n" + strings.Repeat("  call forecast {\"city\": \"Bern\"}\n", calls) + "turn\n  text Done.\n"
	s := agenttest.Scenario{Agent: partly(part(forecast())), Input: "Weather?", Tasks: partTasks(t, script, forecast()), Approvals: cities(t)}
	s.Answers = func(perdure.Question) *perdure.Answer { return &perdure.Answer{Verdict: perdure.VerdictApprove} }
	if o := agenttest.Run(t, s); o.Status != perdure.StatusCompleted || o.Ran["forecast"] != calls {
		t.Errorf("it is %s, %s after %v", o.Status, o.Error, o.Ran)
	}
	s.Agent, s.Tasks, s.Tools, s.Model = agent.Definition{}, nil, []tool.Tool{forecast()}, script
	if o := agenttest.Run(t, s); o.Status != perdure.StatusCompleted || o.Ran["forecast"] != calls {
		t.Errorf("the react agent is %s, %s after %v", o.Status, o.Error, o.Ran)
	}
}
