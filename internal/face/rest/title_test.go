package rest_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
)

// TestTitleOfMessages checks that the title of a run with input messages is the first line of the
// first user message.
func TestTitleOfMessages(t *testing.T) {
	h := open(t)
	parts := func(text string) []perdure.Part { return []perdure.Part{perdure.Text(text)} }
	if _, err := h.Engine.Start(context.WithoutCancel(t.Context()), "default", engine.StartRequest{
		Kind: perdure.ReactKind, Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "m"}},
		Messages: []perdure.InputMessage{
			{Role: perdure.RoleAssistant, Parts: parts("Hello.")},
			{Role: perdure.RoleUser, Parts: parts("Mend the clock.\nPlease.")},
		},
	}); err != nil {
		t.Fatal(err)
	}
	var page struct{ Items []struct{ Title string } }
	h.Call("GET", "/agent-executions", "").Want(200, &page)
	if len(page.Items) != 1 || page.Items[0].Title != "Mend the clock." {
		t.Errorf("the list is %+v", page.Items)
	}
}
