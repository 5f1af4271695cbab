package face_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure"
)

// TestCompactionConfig checks that invalid settings of the compaction are refused in starts and
// definitions. If a start and its definition both have such settings, the two are merged member by
// member.
func TestCompactionConfig(t *testing.T) {
	h := open(t)
	for _, path := range []string{"/agent-executions", "/agent-definitions"} {
		for value, field := range map[string]string{
			`{"at":0.05}`: "config.compaction.at", `{"at":0.96}`: "config.compaction.at",
			`{"at":"x"}`: "config.compaction.at", `{"off":1}`: "config.compaction.off", `{"native":true}`: "config.compaction.native",
		} {
			h.Call("POST", path, bodyWith(path, value)).Problem(400, perdure.InvalidArgument, field)
		}
	}
	var d struct{ ID string }
	h.Call("POST", "/agent-definitions", bodyWith("/agent-definitions", `{"at":0.5}`)).Want(201, &d)
	var x struct {
		Input struct{ Config perdure.AgentConfig }
	}
	h.Call("POST", "/agent-executions", `{"agentDefinitionId":"`+d.ID+`","userPrompt":"hi","config":{"compaction":{"off":true}}}`).Want(201, &x)
	at, off := 0.5, true
	if diff := cmp.Diff(&perdure.CompactionConfig{At: &at, Off: &off}, x.Input.Config.Compaction); diff != "" {
		t.Error(diff)
	}
}

// bodyWith returns the body of a request to `path`, which starts an execution or creates a
// definition. The parameter `compaction` is the JSON of the settings of the compaction.
func bodyWith(path, compaction string) string {
	first := `"userPrompt":"hi"`
	if path == "/agent-definitions" {
		first = `"name":"d"`
	}
	return `{` + first + `,` + models + `,"config":{"compaction":` + compaction + `}}`
}
