package react_test

import (
	"context"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/tool"
)

// TestToolsWithoutWorkspaces checks that the built-in tools return an error if no workspaces are
// configured, and that all other tools work. If a tool panics, the model reads the message of the
// panic, without the stack.
func TestToolsWithoutWorkspaces(t *testing.T) {
	s := emptyWorkerPool(t, `
turn
  text Let me look.
  call read-file {"path": "a.txt"}
  call bash {"command": "pwd"}
  call shout {"word": "hi"}
  call panics {}
turn
  text Done.
`)
	type word struct {
		Word string `json:"word"`
	}
	s.work(100, func(c *workerSetup) {
		c.Workspaces = nil
		c.Tools = append(tool.Builtin(),
			tool.New("shout", "Shouts.", func(_ context.Context, _ *tool.Call, in word) (tool.Result, error) {
				return tool.Text(strings.ToUpper(in.Word)), nil
			}),
			tool.New("panics", "Panics.", func(context.Context, *tool.Call, struct{}) (tool.Result, error) { panic("a mistake") }))
	})
	x, err := s.engine.Start(t.Context(), "default", engine.StartRequest{
		UserPrompt: "go",
		Models:     []perdure.ModelConfig{{Provider: "scripted", ModelID: "s"}}, Tools: &[]string{"read-file", "bash", "shout", "panics"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.idle(x.ID, 0)
	all := strings.Join(s.conversation(x.ID), "\n")
	for _, want := range []string{"read-file cannot be used: no workspace is configured", "bash cannot be used: no workspace is configured", "HI", "panic: a mistake", "Done."} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in\n%s", want, all)
		}
	}
	for _, never := range []string{"goroutine ", ".go:", "nil pointer"} {
		if strings.Contains(all, never) {
			t.Errorf("%q is in\n%s", never, all)
		}
	}
}
