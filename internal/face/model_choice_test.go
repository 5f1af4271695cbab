package face_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// TestChoicesOfAModel checks the signal that chooses the model of a react agent. The signal must
// name a model of the execution, whether its value is in the request or was uploaded. For agents of
// other kinds, signals with this name have no special meaning.
func TestChoicesOfAModel(t *testing.T) {
	h := open(t)
	both := `,"config":{},"models":[{"provider":"scripted","modelId":"m"},{"provider":"scripted","modelId":"n"}]`
	for name, prompt := range map[string]string{"small": "hi", "large": strings.Repeat("long ", perdure.InlineLimit)} {
		t.Run(name, func(t *testing.T) {
			var x perdure.Execution
			h.Call("POST", "/agent-executions", fmt.Sprintf(`{"userPrompt":%q%s}`, prompt, both)).Want(201, &x)
			signal := h.Path(x.ID, "/signal")
			for value, field := range map[string]string{
				`null`: "signalValue", `"m"`: "signalValue", `{}`: "signalValue.provider", `{"provider":"scripted"}`: "signalValue.modelId",
				`{"provider":"scripted","modelId":"m","apiKeyEnv":"X"}`: "signalValue.apiKeyEnv", `{"provider":7,"modelId":"m"}`: "signalValue.provider",
				`{"provider":"scripted","modelID":"m"}`: "signalValue.modelID", `{"provider":"scripted","modelId":"o"}`: "signalValue",
				`{"provider":"other","modelId":"m"}`: "signalValue", `{"provider":"scripted","modelId":"` + strings.Repeat("m", perdure.MaxModelID+1) + `"}`: "signalValue.modelId",
			} {
				r := h.Call("POST", signal, `{"signalName":"model","signalValue":`+value+`}`)
				r.Problem(400, perdure.InvalidArgument, field)
				if strings.Contains(value, `"o"`) && !strings.Contains(string(r.Body), "scripted/m, scripted/n") {
					t.Errorf("the refusal does not name the models: %s", r.Body)
				}
				var c struct{ BlobID string }
				h.Call("PUT", h.Path(x.ID, "/content"), value).Want(200, &c)
				h.Call("POST", signal, fmt.Sprintf(`{"signalName":"model","signalValueRef":{"blobId":%q}}`, c.BlobID)).Problem(400, perdure.InvalidArgument, field)
			}
			value := `{"provider":"scripted","modelId":"n"}`
			h.Call("POST", signal, `{"signalName":"model","signalValue":`+value+`}`).Want(200, nil)
			var c struct{ BlobID string }
			h.Call("PUT", h.Path(x.ID, "/content"), value).Want(200, &c)
			h.Call("POST", signal, fmt.Sprintf(`{"signalName":"model","signalValueRef":{"blobId":%q}}`, c.BlobID)).Want(200, nil)
		})
	}
	var other perdure.Execution
	h.Call("POST", "/agent-executions", `{"kind":"anything","input":{}}`).Want(201, &other)
	h.Call("POST", h.Path(other.ID, "/signal"), `{"signalName":"model","signalValue":7}`).Want(200, nil)
	h.Call("POST", h.Path(perdure.QuestionID(other.ID, "none"), "/signal"), `{"signalName":"model","signalValue":7}`).Problem(404, perdure.NotFound, "")
}
