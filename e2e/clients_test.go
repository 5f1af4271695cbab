package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

// scriptedClients maps each npm client to the script that runs it.
var scriptedClients = map[string][]string{
	"openai6":   {"openai.mjs", "openai6"},
	"openai7":   {"openai.mjs", "openai"},
	"ai6":       {"aisdk.mjs", "ai6", "ai6-openai"},
	"ai7":       {"aisdk.mjs", "ai", "@ai-sdk/openai"},
	"langchain": {"langchain.mjs"},
	"agents":    {"agents.mjs"},
}

// clientVersions are the clients with several versions. The short form of the tests runs one
// version of each client, chosen by [longtest.Seed]. The long form runs all versions.
var clientVersions = [][]string{{"openai6", "openai7"}, {"ai6", "ai7"}}

// chosenClients returns the clients to run.
func chosenClients(t *testing.T) map[string][]string {
	t.Helper()
	chosen := maps.Clone(scriptedClients)
	if longtest.All() {
		return chosen
	}
	seed := longtest.Seed(t)
	for i, versions := range clientVersions {
		kept := versions[seed>>i%uint64(len(versions))]
		maps.DeleteFunc(chosen, func(name string, _ []string) bool { return name != kept && slices.Contains(versions, name) })
	}
	return chosen
}

// clientDeployment is a deployment with the models of the cases.
type clientDeployment struct {
	*deployment
	cases   []clientCase
	tap     *recordingProxy
	journal string // path of the journal of the models' calls
}

// newClientDeployment prepares the cases of a client. Each case has its own model, so that the
// journal shows which case made a model call.
func newClientDeployment(t *testing.T, client string) *clientDeployment {
	t.Helper()
	journal := filepath.Join(t.TempDir(), "journal")
	s := newDeployment(t, setup{dev: true, env: []string{"PERDURE_SCRIPTED_JOURNAL=" + journal}})
	all := &clientDeployment{deployment: s, tap: newRecordingProxy(t, s.url), journal: journal}
	s.write("note.txt", "The first city is Paris.\n")
	s.write("second.txt", "The second city is Rome.\n")
	key := s.token(filepath.Join(s.root, "data"))
	for _, c := range clientCases() {
		if c.only != nil && !slices.Contains(c.only, client) || !chosenCase(t, c.Name) {
			continue
		}
		s.write(c.Name, clientScripts[c.script])
		c.Model, c.URL, c.Key = "scripted/"+c.Name, all.tap.url(c.Name), key
		if c.reads {
			c.Model = s.reader(c.Name)
		}
		all.cases = append(all.cases, c)
	}
	return all
}

// chosenCase reports whether the case matches the regular expression in PERDURE_CLIENT_CASES.
// Without the variable all cases match.
func chosenCase(t *testing.T, name string) bool {
	t.Helper()
	chosen, err := regexp.MatchString(os.Getenv("PERDURE_CLIENT_CASES"), name)
	if err != nil {
		t.Fatal(err)
	}
	return chosen
}

// reader creates a definition with the tool read-file. The model of the definition plays the script
// with the given name.
func (s *deployment) reader(name string) string {
	s.t.Helper()
	_, err := s.CreateDefinition(s.t.Context(), perdure.Definition{
		Name: name, Slug: name, Tools: []string{"read-file"}, Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: name}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return name
}

// TestClients checks that popular clients of the Responses API work with the server without
// modification. All clients run the same cases. If a client has several versions, the short form runs
// one of them, and the long form runs all.
func TestClients(t *testing.T) {
	for name, script := range chosenClients(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newClientDeployment(t, name)
			s.judge(name, s.runScript(script))
		})
	}
}

// TestGoClient checks that the official Go client passes the cases of the npm clients.
func TestGoClient(t *testing.T) {
	t.Parallel()
	s := newClientDeployment(t, "openai-go")
	s.judge("openai-go", runGo(within(t), s.cases))
}

// judge compares what happened with the expectations of the cases: the client's observations, the
// recorded exchanges and the model calls.
func (s *clientDeployment) judge(client string, sights map[string]observation) {
	s.t.Helper()
	s.tap.server.Close() // nothing is recorded after this
	calls := s.modelCalls()
	for _, c := range s.cases {
		s.t.Run(c.Name, func(t *testing.T) {
			seen, ran := sights[c.Name]
			wrong := seen.Error
			if !ran {
				wrong = "the case was not run"
			}
			if wrong == "" {
				wrong = first(c.check(seen, s.tap.of(c.Name)), prompts(c.calls, calls[c.Name]))
			}
			if wrong != "" {
				t.Errorf("%s\n%s", wrong, s.tap.shown(c.Name))
			}
		})
	}
}

// scriptedCall is a line of the scripted provider's journal: one model call.
type scriptedCall struct{ Model, SHA256, Previous string }

// modelCalls returns the model calls by case.
func (s *clientDeployment) modelCalls() map[string][]scriptedCall {
	s.t.Helper()
	raw, err := os.ReadFile(s.journal)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the file is missing if no model was called
		s.t.Fatal(err)
	}
	all := map[string][]scriptedCall{}
	for line := range bytes.Lines(raw) {
		var c scriptedCall
		if err := json.Unmarshal(line, &c); err != nil {
			s.t.Fatal(err)
		}
		all[c.Model] = append(all[c.Model], c)
	}
	return all
}

// prompts describes the faults in the model calls of a conversation, or returns "". There must be
// `want` calls, and the prompt of each call must start with the previous prompt, byte for byte. If
// want is 0, prompts checks nothing.
func prompts(want int, calls []scriptedCall) string {
	if want == 0 {
		return ""
	}
	for i, c := range calls {
		before := ""
		if i > 0 {
			before = calls[i-1].SHA256
		}
		if c.Previous != before {
			return fmt.Sprintf("the prompt of model call %d does not begin with the one before", i)
		}
	}
	return differs("the calls of the model", want, len(calls))
}

// runScript runs the cases in one process of Node.js.
func (s *clientDeployment) runScript(script []string) map[string]observation {
	t := s.t
	t.Helper()
	raw, err := json.Marshal(s.cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(within(t), nodeOfClients(t), append(slices.Clone(script), string(raw))...)
	cmd.Dir = "clients"
	cmd.Env = environment(s.root)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v: %v\n%s", script, err, stderr.String())
	}
	sights := map[string]observation{}
	for line := range bytes.Lines(out) {
		var seen observation
		if json.Unmarshal(line, &seen) == nil && seen.Name != "" {
			sights[seen.Name] = seen
		}
	}
	return sights
}

// nodeOfClients returns the path of the Node.js in which the clients run. If the clients' packages
// contain a Node.js for this machine, it returns that one.
func nodeOfClients(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("clients/node_modules/openai/package.json"); err != nil {
		t.Fatal("the clients are not installed; run: make deps")
	}
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	own, err := filepath.Abs(filepath.Join("clients", "node_modules", "node-"+runtime.GOOS+"-"+arch, "bin", "node"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(own); err == nil {
		return own
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is not installed; run: make deps")
	}
	return node
}
