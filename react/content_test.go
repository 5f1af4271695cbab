package react_test

import (
	"context"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/tool"
)

// TestUnsupportedResultContentBecomesText checks a tool's result with content that no provider
// accepts, inline or uploaded as a blob. The model must read a text in place of this content, and
// the run must complete.
func TestUnsupportedResultContentBecomesText(t *testing.T) {
	for name, data := range map[string]string{"small": "aGk=", "uploaded": strings.Repeat("aGk=", 100_000)} {
		t.Run(name, func(t *testing.T) {
			s := emptyWorkerPool(t, "turn\n  call camera {}\n\nturn\n  text done\n")
			camera := tool.New("camera", "Takes a picture.", func(context.Context, *tool.Call, struct{}) (tool.Result, error) {
				return tool.Result{Parts: []perdure.Part{
					perdure.Text("click"), {Type: perdure.PartImage, Data: data, MimeType: "image/png"}, {Type: "video"},
				}}, nil
			})
			s.work(100, func(c *workerSetup) { c.Tools = append(c.Tools, camera) })
			tools := []string{"camera"}
			x, err := s.engine.Start(t.Context(), "default", engine.StartRequest{
				UserPrompt: "look", OneShot: true, Tools: &tools, Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "s"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			s.completed(x.ID)
			all := strings.Join(s.conversation(x.ID), "\n")
			if !strings.Contains(all, "click(an image stood here that cannot be shown") || !strings.Contains(all, `type "video"`) || !strings.HasSuffix(all, "done") {
				t.Errorf("the conversation is\n%s", all)
			}
		})
	}
}
