package rest_test

import (
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/facetest"
)

// TestTasksShowTheirInstances checks that lists of tasks and steps show the field instance, which
// distinguishes equal tasks and equal steps.
func TestTasksShowTheirInstances(t *testing.T) {
	h := facetest.Open(t)
	x := h.Start("")
	r := h.Claim()
	step := func(instance string) perdure.StepRecord {
		return perdure.StepRecord{
			Name: "label", Instance: instance, Key: perdure.StepKey(x.ID, "label", instance), Result: perdure.Inline([]byte(`1`)),
		}
	}
	key, err := perdure.DefaultTaskKey(x.ID, "print", []byte(`1`), "second")
	if err != nil {
		t.Fatal(err)
	}
	r.Commit(perdure.Commit{
		Steps: []perdure.StepRecord{step(""), step("0")},
		Tasks: []perdure.NewTask{{Kind: "print", Key: key, Input: perdure.Inline([]byte(`1`)), Options: perdure.TaskOptions{Instance: "second"}}},
	})
	var all struct{ Items []map[string]any }
	h.Call("GET", "/agent-executions/"+x.ID.String()+"/tasks?steps=true", "").Want(200, &all)
	shown := map[any]int{}
	for _, item := range all.Items {
		shown[item["instance"]]++
	}
	if len(all.Items) != 3 || shown[nil] != 1 || shown["0"] != 1 || shown["second"] != 1 {
		t.Errorf("%d tasks show the instances %v", len(all.Items), shown)
	}
}
