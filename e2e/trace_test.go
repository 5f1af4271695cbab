package e2e

import (
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/llm/llmtest"
)

// TestOneTraceAcrossSIGKILL kills a worker during a model call, and another worker continues. It
// checks that the spans of the client, the server and both workers form one trace. The spans of model
// and tool calls have OpenTelemetry's attributes. The server's metrics count the lost lease, and each
// worker's own metrics count its work.
func TestOneTraceAcrossSIGKILL(t *testing.T) {
	spans := newCollector(t)
	ask, hang, done := llmtest.Answer{
		Calls: []llmtest.Call{{ID: "toolu_1", Name: "bash", Arguments: `{"command":"echo from the tool"}`}},
	}, llmtest.Answer{HangBefore: true}, llmtest.Answer{Text: []string{"It is done."}}
	ask.Usage.Input, ask.Usage.Output = 107, 10
	model := llmtest.NewServer(t, llmtest.Anthropic, ask, hang, done)
	s := newDeployment(t, setup{
		env:    append([]string{"ANTHROPIC_BASE_URL=" + model.URL, "ANTHROPIC_API_KEY=" + modelKey}, spans.environment("first")...),
		server: append(spans.environment("server"), "PERDURE_OPS_ADDR=127.0.0.1:0"),
	})
	s.worker.says("bash")
	run := launch(t, command{
		name: "run", dir: s.workspace, env: append(environment(filepath.Join(s.root, "home")), spans.environment("client")...),
		argv: []string{program(t), "run", "--server", s.url, "--key", s.token(filepath.Join(s.root, "data")), "--model", "anthropic/m", "go"},
	})
	eventually(t, "the second model call", func() bool {
		select {
		case <-run.ended:
			t.Fatalf("the run ended: %v", run.err)
		default:
		}
		return len(model.Requests()) == 2
	})
	// All ended spans are exported before the kill. Only the span of the hanging model call is
	// open, and it has no children.
	eventually(t, "the first worker's spans", func() bool {
		return len(spans.of("first", "commit")) == 3 && len(spans.of("first", "chat m")) == 1 &&
			len(spans.of("first", "execute_tool bash")) == 1 && len(spans.orphans("first")) == 0
	})
	s.env = append(s.env[:len(s.env):len(s.env)], append(spans.environment("second"), "PERDURE_OPS_ADDR=127.0.0.1:0")...)
	s.worker.kill()
	second := s.employ("second")
	if code := run.exit(); code != 0 || !strings.Contains(run.output.String(), "It is done.") {
		t.Fatalf("the run ends with %d", code)
	}
	if got := sampleAt(t, opsOf(second), `perdure_model_calls_total{model="m",outcome="ok",provider="anthropic"}`); got != "1" {
		t.Errorf("the second worker has made %q model calls", got)
	}
	if got := pageAt(t, opsOf(second)+"/readyz"); !strings.Contains(got, `"ready"`) {
		t.Errorf("the second worker says of itself %s", got)
	}
	if lost := sampleAt(t, opsOf(s.server), `perdure_leases_lost_total{work="task"}`); lost != "1" {
		t.Errorf("%q leases of tasks were lost", lost)
	}
	second.terminate()
	second.exit()
	checkTrace(t, spans)
}

// checkTrace checks that the spans of client and workers are in one trace. No span of the client or
// the killed worker may be missing, except that of the call during which the worker was killed.
func checkTrace(t *testing.T, spans *collector) {
	t.Helper()
	roots := spans.of("client", "perdure run")
	if len(roots) != 1 {
		t.Fatalf("the client has %d root spans", len(roots))
	}
	trace, services := roots[0].trace, map[string]bool{}
	all, raw := spans.all()
	for _, s := range all {
		if s.trace == trace {
			services[s.service] = true
		}
		if s.trace != trace && !strings.HasPrefix(s.name, "GET ") && s.service != "server" {
			t.Errorf("%s of %s is of another trace", s.name, s.service)
		}
	}
	if got := slices.Sorted(maps.Keys(services)); !slices.Equal(got, []string{"client", "first", "second", "server"}) {
		t.Errorf("the trace has spans of %v", got)
	}
	for _, s := range slices.Concat(spans.orphans("client"), spans.orphans("first")) {
		t.Errorf("%s of %s hangs on what is not there", s.name, s.service)
	}
	chat := append(spans.of("first", "chat m"), spans.of("second", "chat m")...)
	if len(chat) != 2 {
		t.Fatalf("there are %d spans of model calls", len(chat))
	}
	for _, s := range chat {
		for key, want := range map[string]any{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "m"} {
			if s.attributes[key] != want || s.trace != trace {
				t.Errorf("a model call of %s has %s=%v", s.service, key, s.attributes[key])
			}
		}
	}
	if a := chat[0].attributes; a["gen_ai.usage.input_tokens"] != int64(107) || a["gen_ai.usage.output_tokens"] != int64(10) || !slices.Equal(a["gen_ai.response.finish_reasons"].([]string), []string{"tool_use"}) {
		t.Errorf("the first model call has %v", a)
	}
	if tool := spans.of("first", "execute_tool bash"); tool[0].trace != trace || tool[0].attributes["gen_ai.tool.name"] != "bash" {
		t.Errorf("the tool has %+v", tool)
	}
	linked := slices.ContainsFunc(spans.of("second", "invoke_agent react-agent"), func(s span) bool { return slices.Contains(s.links, trace) })
	if !linked {
		t.Error("the second worker's claims lead to none of before")
	}
	for _, said := range []string{"from the tool", "It is done."} {
		if strings.Contains(string(raw), said) {
			t.Errorf("spans hold what was said: %s", said)
		}
	}
}

// opsOf returns the address of a process's port for operators.
func opsOf(p *process) string {
	p.t.Helper()
	for _, word := range strings.Fields(p.says("  ops")) {
		if at, found := strings.CutSuffix(word, "/metrics"); found {
			return at
		}
	}
	p.t.Fatal("no address of a port for operators")
	return ""
}

func pageAt(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// sampleAt returns a metric's value, or "" if the metric does not exist.
func sampleAt(t *testing.T, at, sample string) string {
	t.Helper()
	for line := range strings.Lines(pageAt(t, at+"/metrics")) {
		if value, found := strings.CutPrefix(line, sample+" "); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
