package rest_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/facetest"
)

// TestListAsksTheWorkersOfLocalExecutions checks that the title of a LOCAL execution contains the
// execution's input while the worker is connected. Otherwise the title is only the execution's
// kind.
func TestListAsksTheWorkersOfLocalExecutions(t *testing.T) {
	l := newLocal(t)
	title := func() string {
		t.Helper()
		var page struct{ Items []struct{ Title string } }
		l.Call("GET", "/agent-executions", "").Want(200, &page)
		return page.Items[0].Title
	}
	kind := l.get("")[0]["kind"].(string)
	if got := title(); got != kind {
		t.Errorf("without its worker the title is %q, want %q", got, kind)
	}
	disconnect := l.connect()
	defer disconnect()
	if got, want := title(), kind+` {"n":1}`; got != want {
		t.Errorf("with its worker the title is %q, want %q", got, want)
	}
}

// TestListHasTitleAndUsage checks that a list shows for each execution the title, which comes from
// the input, and the usage, which comes from the newest checkpoint.
func TestListHasTitleAndUsage(t *testing.T) {
	h := facetest.Open(t)
	h.Start("")
	r := h.Claim()
	r.Say(facetest.UserText("hi"))
	state := `{"totalUsage":{"input":3,"output":4,"cost":0.25,"calls":2},"usageByModel":{"scripted/x":{"input":3,"output":4,"cost":0.25,"calls":2}}}`
	r.Commit(perdure.Commit{Checkpoint: &perdure.NewCheckpoint{State: perdure.Inline([]byte(state))}})

	var one map[string]json.RawMessage
	h.Call("GET", h.Path(r.ID, ""), "").Want(200, &one)
	var page struct{ Items []*perdure.Execution }
	h.Call("GET", "/agent-executions", "").Want(200, &page)
	if len(page.Items) != 1 {
		t.Fatalf("the list has %d items", len(page.Items))
	}
	x := page.Items[0]
	var asked struct{ UserPrompt string }
	if err := json.Unmarshal(one["input"], &asked); err != nil || x.Title != asked.UserPrompt {
		t.Errorf("the title is %q for the input %s (%v)", x.Title, one["input"], err)
	}
	cost := 0.25
	want := perdure.Usage{Input: 3, Output: 4, Cost: &cost, Calls: 2}
	if !reflect.DeepEqual(x.Usage, &want) || !reflect.DeepEqual(x.UsageByModel, map[string]perdure.Usage{"scripted/x": want}) {
		t.Errorf("the usage is %+v, by model %+v", x.Usage, x.UsageByModel)
	}
	if string(x.Input) != "null" {
		t.Errorf("a listed execution has the input %s", x.Input)
	}
}

// TestListHasFailedTurn checks that a list shows why the newest response of a conversation has
// ended. The reason is shown only while the conversation waits for its user.
func TestListHasFailedTurn(t *testing.T) {
	h := facetest.Open(t)
	h.Start("")
	r := h.Claim()
	state := `{"stopReason":"error","error":"auth: the key is not valid\nat all"}`
	at := perdure.Commit{Checkpoint: &perdure.NewCheckpoint{State: perdure.Inline([]byte(state))}}
	listed := func() *perdure.Execution {
		t.Helper()
		var page struct{ Items []*perdure.Execution }
		h.Call("GET", "/agent-executions", "").Want(200, &page)
		if len(page.Items) != 1 {
			t.Fatalf("the list has %d items", len(page.Items))
		}
		return page.Items[0]
	}
	r.Commit(at)
	if x := listed(); x.StopReason != "" || x.TurnError != "" {
		t.Errorf("a working run has stopped with %q, %q", x.StopReason, x.TurnError)
	}
	wait := perdure.WaitAny(perdure.WaitSignal(perdure.UserMessage), perdure.WaitSignal("retry"))
	r.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait}})
	if x := listed(); x.StopReason != perdure.StopError || x.TurnError != "auth: the key is not valid" {
		t.Errorf("a failed turn has stopped with %q, %q", x.StopReason, x.TurnError)
	}
	failed := listed().ID
	h.Start("")
	for query, want := range map[string]int{"?failedTurn=true": 1, "?failedTurn=false": 2, "?failedTurn=true&status=pending": 0, "?failedTurn=true&status=waiting": 1} {
		var page struct{ Items []*perdure.Execution }
		h.Call("GET", "/agent-executions"+query, "").Want(200, &page)
		if len(page.Items) != want || want == 1 && page.Items[0].ID != failed {
			t.Errorf("%s lists %+v", query, page.Items)
		}
	}
	h.Call("GET", "/agent-executions?failedTurn=maybe", "").Problem(400, perdure.InvalidArgument, "failedTurn")
	for action, want := range map[string]int{"cancel": 1, "retry": 1} {
		var n perdure.BulkCount
		h.Call("POST", "/agent-executions/actions/count", `{"action":"`+action+`","filter":{"failedTurn":true}}`).Want(200, &n)
		if n.Matched != want {
			t.Errorf("%s would have %d runs", action, n.Matched)
		}
	}
}
