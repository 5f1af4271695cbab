package react_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/react"
)

// compacting returns a change of a worker's configuration that sets the options of compaction.
func compacting(o react.CompactOptions) func(*workerSetup) {
	return func(c *workerSetup) { c.Compact = o }
}

// looked runs 24 turns in a window of 8,000 tokens. In each turn, the lookTool returns 1,500 bytes.
// looked returns the worker pool, its model and the execution.
func looked(t *testing.T, o react.CompactOptions, config perdure.AgentConfig, more ...func(*workerSetup)) (*workerPool, *windowModel, *perdure.Execution) {
	t.Helper()
	s, n, _ := windowWorkerPool(t, 100, 8000, looks(24, 1500), append(more, compacting(o))...)
	s.play("s2", looks(24, 1500))
	return s, n, s.idle(s.start(engine.StartRequest{UserPrompt: "go", Config: config}), 0)
}

// TestCompactOptionOff checks that a worker's option turns automatic compaction off, and that an
// execution's settings have precedence over the option.
func TestCompactOptionOff(t *testing.T) {
	longtest.Skip(t, "seconds")
	on, off := false, react.CompactOptions{Off: true}
	for name, c := range map[string]struct {
		config *perdure.CompactionConfig
		want   []perdure.CompactionReason
	}{
		"off": {nil, []perdure.CompactionReason{perdure.CompactionContextLength}},
		"on":  {&perdure.CompactionConfig{Off: &on}, []perdure.CompactionReason{perdure.CompactionAutomatic}},
	} {
		s, _, x := looked(t, off, perdure.AgentConfig{Compaction: c.config})
		all := s.compactions(x)
		if len(all) == 0 || slices.ContainsFunc(all, func(r perdure.CompactionRecord) bool { return !slices.Contains(c.want, r.Reason) }) {
			t.Errorf("%s: the compactions are %+v", name, all)
		}
	}
}

// TestCompactOptionAt checks that a worker's threshold applies only to executions whose settings
// contain no threshold.
func TestCompactOptionAt(t *testing.T) {
	longtest.Skip(t, "seconds")
	at := 0.9
	for name, c := range map[string]struct {
		config      *perdure.CompactionConfig
		least, most int // allowed numbers of tokens before the first compaction
	}{
		"the worker's":    {nil, 1, 8000 * 6 / 10},
		"the execution's": {&perdure.CompactionConfig{At: &at}, 8000 * 7 / 10, 8000},
	} {
		s, _, x := looked(t, react.CompactOptions{At: 0.4}, perdure.AgentConfig{Compaction: c.config})
		if all := s.compactions(x); len(all) == 0 || all[0].TokensBefore < c.least || all[0].TokensBefore > c.most {
			t.Errorf("%s: the compactions are %+v, want the first one at %d to %d tokens", name, all, c.least, c.most)
		}
	}
}

// TestCompactOptionTarget checks that a compaction keeps fewer of the newest turns with a small
// Target than with a large one, and that a compaction keeps at least one turn.
func TestCompactOptionTarget(t *testing.T) {
	longtest.Skip(t, "seconds")
	kept := func(target float64) int {
		s, n, x := looked(t, react.CompactOptions{Target: target}, perdure.AgentConfig{})
		all := s.compactions(x)
		if len(all) == 0 {
			t.Fatal("nothing is compacted")
		}
		asked, _ := n.requests()
		i := slices.IndexFunc(asked, func(r llm.Request) bool {
			return slices.ContainsFunc(r.Messages, func(m perdure.Message) bool {
				return slices.ContainsFunc(m.Parts, func(p perdure.Part) bool { return p.Type == perdure.PartCompaction })
			})
		})
		messages := 0
		for _, m := range asked[i].Messages {
			if m.Role == perdure.RoleAssistant {
				messages++
			}
		}
		return messages
	}
	if few, many := kept(0.01), kept(0.5); few >= many || few == 0 {
		t.Errorf("%d turns are shown after a compaction with a small target, %d with a large one", few, many)
	}
}

// TestCompactOptionModel checks that the model in the options writes the summaries, within its own
// window, and that these calls are recorded and counted as calls of that model.
func TestCompactOptionModel(t *testing.T) {
	writer := perdure.ModelConfig{Provider: "scripted", ModelID: "s2"}
	s, n, x := looked(t, react.CompactOptions{Model: &writer}, perdure.AgentConfig{}, func(c *workerSetup) {
		c.Providers.SetWindows(llm.Windows{
			{Provider: "scripted", ID: "s"}:  {Window: 8000},
			{Provider: "scripted", ID: "s2"}: {Window: 6000, MaxOutput: 700},
		})
	})
	turns, summaries := n.requests()
	if len(summaries) == 0 || len(s.compactions(x)) == 0 {
		t.Fatal("nothing is compacted")
	}
	for _, r := range summaries {
		size := llm.Estimate(r.System, r.Tools, r.Messages, llm.Limits{})
		if r.Model != "s2" || r.MaxTokens != 700 || size > 6000-700 {
			t.Errorf("a summary of at most %d tokens is asked of %s with %d tokens", r.MaxTokens, r.Model, size)
		}
	}
	if slices.ContainsFunc(turns, func(r llm.Request) bool { return r.Model != "s" }) {
		t.Error("a turn is made by the model of the summaries")
	}
	models := s.summaryModels(x.ID)
	if len(models) == 0 || slices.ContainsFunc(models, func(m perdure.ModelConfig) bool { return m != writer }) {
		t.Errorf("the records name the models %v", models)
	}
	cp, err := s.store.Checkpoint(t.Context(), x.ID, x.CheckpointSeq)
	if err != nil {
		t.Fatal(err)
	}
	var st struct{ UsageByModel map[string]perdure.Usage }
	if err := json.Unmarshal(cp.State, &st); err != nil || len(st.UsageByModel) != 2 || st.UsageByModel["scripted/s2"] == (perdure.Usage{}) {
		t.Errorf("the usage by model is %+v, %v", st.UsageByModel, err)
	}
}

// summaryModels returns the models that wrote summaries, as the records of the calls name them.
func (s *workerPool) summaryModels(id uuid.UUID) (models []perdure.ModelConfig) {
	s.t.Helper()
	entries, err := s.store.AllEntries(s.t.Context(), id, "", 200)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries.Items {
		var call struct {
			Purpose string
			Model   perdure.ModelConfig
		}
		if e.Type == perdure.EntryLLMCall && json.Unmarshal(e.Metadata, &call) == nil && call.Purpose == "compaction" {
			models = append(models, call.Model)
		}
	}
	return models
}

// TestCompactOptionPrompt checks that the worker's prompt replaces the built-in prompt for
// summaries.
func TestCompactOptionPrompt(t *testing.T) {
	s, n, x := looked(t, react.CompactOptions{Prompt: "Say what matters, in one line."}, perdure.AgentConfig{})
	_, summaries := n.requests()
	if len(s.compactions(x)) == 0 {
		t.Fatal("nothing is compacted")
	}
	for _, r := range summaries {
		if last := r.Messages[len(r.Messages)-1].PlainText(); last != "Say what matters, in one line." {
			t.Errorf("the summary is asked for with %q", last)
		}
	}
}

// TestCompactOptionsAreChecked checks the limits of the options. The error must name the option,
// and react.Agent must panic with that error.
func TestCompactOptionsAreChecked(t *testing.T) {
	providers := llm.NewProviders(&windowModel{})
	model := func(provider, id, url string) *perdure.ModelConfig {
		return &perdure.ModelConfig{Provider: provider, ModelID: id, BaseURL: url}
	}
	for _, c := range []struct {
		options react.CompactOptions
		field   string
	}{
		{react.CompactOptions{}, ""},
		{react.CompactOptions{Off: true, At: 0.95, Target: 0.5, Model: model("scripted", "s", ""), Prompt: strings.Repeat("x", react.MaxCompactPrompt)}, ""},
		{react.CompactOptions{At: 0.05}, "compact.at"},
		{react.CompactOptions{At: 0.96}, "compact.at"},
		{react.CompactOptions{At: math.NaN()}, "compact.at"},
		{react.CompactOptions{Target: 0.001}, "compact.target"},
		{react.CompactOptions{Target: 0.51}, "compact.target"},
		{react.CompactOptions{Target: math.NaN()}, "compact.target"},
		{react.CompactOptions{At: 0.3, Target: 0.3}, "compact.target"},
		{react.CompactOptions{Model: model("acme", "s", "")}, "compact.model.provider"},
		{react.CompactOptions{Model: model("scripted", "", "")}, "compact.model.modelId"},
		{react.CompactOptions{Model: model("scripted", "s", "ftp://x")}, "compact.model.baseUrl"},
		{react.CompactOptions{Prompt: strings.Repeat("x", react.MaxCompactPrompt+1)}, "compact.prompt"},
		{react.CompactOptions{Prompt: "\x00"}, "compact.prompt"},
	} {
		var coded *perdure.Error
		switch err := c.options.Check(providers); {
		case c.field == "" && err != nil:
			t.Errorf("%+v: %v", c.options, err)
		case c.field != "" && (!errors.As(err, &coded) || coded.Code != perdure.InvalidArgument || coded.Fields[0].Location != c.field):
			t.Errorf("%+v: %v, want an error that names %s", c.options, err, c.field)
		}
		if panicked := panics(func() { react.Agent(react.Config{Providers: providers, Compact: c.options}) }); panicked != (c.field != "") {
			t.Errorf("%+v: Agent panics: %v", c.options, panicked)
		}
	}
}

// panics reports whether f panics.
func panics(f func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	f()
	return false
}
