package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// fake is a Context in which the test defines which tasks have ended, and how.
type fake struct {
	agent.Context
	ended     map[uuid.UUID]*perdure.Task
	asked     []agent.JoinMode
	cancelled []uuid.UUID
	lost      error
}

func (f *fake) Await(how agent.JoinMode, futures ...agent.Future) ([]agent.Result, error) {
	f.asked = append(f.asked, how)
	if f.lost != nil {
		return nil, f.lost
	}
	results := make([]agent.Result, len(futures))
	for i, future := range futures {
		if future.Err() != nil {
			return nil, future.Err()
		}
		results[i].Task = f.ended[future.ID]
	}
	return results, nil
}

func (f *fake) CancelTask(future agent.Future) { f.cancelled = append(f.cancelled, future.ID) }

// futures returns a future for each element of the list `ends`. A number or string completes its
// task with that result, an error fails it, and nil leaves it running.
func (f *fake) futures(ends ...any) []agent.Future {
	f.ended = map[uuid.UUID]*perdure.Task{}
	var futures []agent.Future
	for _, end := range ends {
		future := agent.FutureOf(uuid.New(), "work")
		futures = append(futures, future)
		switch end := end.(type) {
		case int:
			f.ended[future.ID] = &perdure.Task{Status: perdure.TaskCompleted, Result: json.RawMessage(fmt.Sprint(end))}
		case string:
			f.ended[future.ID] = &perdure.Task{Status: perdure.TaskCompleted, Result: json.RawMessage(end)}
		case error:
			f.ended[future.ID] = &perdure.Task{Status: perdure.TaskFailed, Error: &perdure.TaskError{Code: "bad", Message: end.Error()}}
		}
	}
	return futures
}

var errOne, errTwo = errors.New("one"), errors.New("two")

func TestJoinAll(t *testing.T) {
	f := &fake{}
	for _, test := range []struct {
		ends []any
		want []int
		fail string
	}{
		{[]any{}, []int{}, ""},
		{[]any{3, 1, 2}, []int{3, 1, 2}, ""}, // in the order of the futures
		{[]any{nil, errOne, 2}, nil, "one"},  // at once, while one task runs
		{[]any{errOne, errTwo}, nil, "one"},
		{[]any{1, "{"}, nil, "result"},
	} {
		got, err := agent.JoinAll[int](f, f.futures(test.ends...)...)
		if !slices.Equal(got, test.want) || (err != nil) != (test.fail != "") {
			t.Errorf("%v gave %v, %v", test.ends, got, err)
		}
		if test.fail == "one" {
			if failed := new(perdure.TaskError); !errors.As(err, &failed) || failed.Code != "bad" || failed.Message != "one" {
				t.Errorf("%v gave the error %v", test.ends, err)
			}
		}
	}
	if slices.ContainsFunc(f.asked, func(how agent.JoinMode) bool { return how != agent.AllOrFailure }) || len(f.asked) != 4 {
		t.Errorf("it asked for %v; no tasks ask for nothing", f.asked)
	}
}

func TestJoinSettled(t *testing.T) {
	f := &fake{}
	got, err := agent.JoinSettled[int](f, f.futures(1, errOne, 3)...)
	if err != nil || len(got) != 3 || got[0].Value != 1 || got[1].Err == nil || got[2].Value != 3 || got[2].Err != nil {
		t.Errorf("it gave %+v, %v", got, err)
	}
	if f.asked[0] != agent.All {
		t.Errorf("it asked for %v", f.asked)
	}
	if got, err := agent.JoinSettled[int](f); err != nil || len(got) != 0 {
		t.Errorf("no tasks gave %v, %v", got, err)
	}
}

func TestSelect(t *testing.T) {
	f := &fake{}
	for _, test := range []struct {
		ends  []any
		index int
		value int
		fail  string
	}{
		{[]any{nil, errOne, 5, 6}, 2, 5, ""}, // the first success in the order of the futures
		{[]any{errOne, errTwo}, -1, 0, "two"},
		{[]any{}, -1, 0, "at least one"},
	} {
		i, v, err := agent.Select[int](f, f.futures(test.ends...)...)
		if i != test.index || v != test.value || (err != nil) != (test.fail != "") {
			t.Errorf("%v gave %d, %d, %v", test.ends, i, v, err)
		}
	}
	if _, _, err := agent.Select[int](f); !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("no tasks gave %v", err)
	}
}

func TestSelectCancelsTheRest(t *testing.T) {
	f := &fake{}
	futures := f.futures(nil, 2, nil, 4)
	if i, v, err := agent.SelectCancel[int](f, futures...); i != 1 || v != 2 || err != nil {
		t.Fatalf("it gave %d, %d, %v", i, v, err)
	}
	if want := []uuid.UUID{futures[0].ID, futures[2].ID, futures[3].ID}; !slices.Equal(f.cancelled, want) {
		t.Errorf("cancelled: %v, want %v", f.cancelled, want)
	}
	f.cancelled = nil
	if i, _, err := agent.SelectCancel[int](f, f.futures(errOne)...); i != -1 || err == nil || f.cancelled != nil {
		t.Errorf("without a success it gave %d, %v and cancelled %v", i, err, f.cancelled)
	}
}

// TestErrorsOfTheWait checks that the functions that wait return the error of the wait, and the
// error of a future whose task could not be scheduled.
func TestErrorsOfTheWait(t *testing.T) {
	f := &fake{lost: agent.ErrCancelled}
	futures := f.futures(1)
	_, err1 := agent.Await[int](f, futures[0])
	_, err2 := agent.JoinAll[int](f, futures...)
	_, err3 := agent.JoinSettled[int](f, futures...)
	_, _, err4 := agent.Select[int](f, futures...)
	for _, err := range []error{err1, err2, err3, err4} {
		if !errors.Is(err, agent.ErrCancelled) {
			t.Errorf("the error is %v", err)
		}
	}
	f.lost = nil
	refused := agent.FailedFuture("work", errOne)
	if _, err := agent.Await[int](f, refused); !errors.Is(err, errOne) {
		t.Errorf("a task that could not be asked for gave %v", err)
	}
}

func TestResults(t *testing.T) {
	for status, code := range map[perdure.TaskStatus]perdure.Code{
		perdure.TaskCompleted: "", perdure.TaskCancelled: perdure.Internal, perdure.TaskRunning: perdure.Unavailable,
	} {
		r := agent.Result{Task: &perdure.Task{Status: status}}
		if got := perdure.CodeOf(r.Err()); got != code {
			t.Errorf("a task that is %s gave %q", status, got)
		}
	}
	if (agent.Result{}).Ended() {
		t.Error("no task has ended")
	}
}

func TestDefinitions(t *testing.T) {
	type input struct {
		N int `json:"n"`
	}
	d := agent.DefineFunc("a", func(_ agent.Context, in input) (int, error) { return 2 * in.N, nil })
	if out, err := d.Run(nil, json.RawMessage(`{"n":4}`)); err != nil || string(out) != "8" {
		t.Errorf("it gave %s, %v", out, err)
	}
	if _, err := d.Run(nil, json.RawMessage(`{"n":"x"}`)); !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("input of another type gave %v", err)
	}
	for in, fits := range map[string]bool{`{"n":1}`: true, `{"n":"x"}`: false, `{}`: false, `{"n":1,"more":2}`: true} {
		if err := validate(t, d.Spec.InputSchema, in); (err == nil) != fits {
			t.Errorf("by the schema of the input %s gives %v", in, err)
		}
	}
	task := agent.DefineTask("t", func(_ agent.TaskContext, in input) (int, error) { return 0, agent.Permanent(errOne) })
	var failed *perdure.TaskError
	if _, err := task.Run(nil, json.RawMessage(`{}`)); !errors.As(err, &failed) || !failed.Permanent || failed.Message != "one" {
		t.Errorf("a permanent error came back as %v", err)
	}
	if _, err := task.Run(nil, json.RawMessage(`[`)); !errors.As(err, &failed) || !failed.Permanent {
		t.Errorf("input that no attempt can read gave %v", err)
	}
}

func validate(t *testing.T, schema json.RawMessage, content string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("input.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("input.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(content)))
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Validate(value)
}

func TestStepKeepsItsType(t *testing.T) {
	type out struct{ A, B int }
	f := &stepper{}
	got, err := agent.Step(f, "s", func(context.Context) (out, error) { return out{1, 2}, nil })
	if err != nil || got != (out{1, 2}) {
		t.Errorf("the step gave %+v, %v", got, err)
	}
	if _, err := agent.Step(f, "s", func(context.Context) (out, error) { return out{}, errOne }); !errors.Is(err, errOne) {
		t.Errorf("the failing step gave %v", err)
	}
	f.recorded = json.RawMessage(`"not an object"`)
	if _, err := agent.Step(f, "s", func(context.Context) (out, error) { return out{}, nil }); !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("a record of another type gave %v", err)
	}
}

// stepper is a Context that runs steps. If its field `recorded` is set, it runs no step, and
// returns that value as the result.
type stepper struct {
	agent.Context
	recorded json.RawMessage
}

func (s *stepper) RunStep(_ string, fn func(context.Context) (json.RawMessage, error), _ ...agent.StepOption) (json.RawMessage, error) {
	if s.recorded != nil {
		return s.recorded, nil
	}
	return fn(context.Background())
}
