package react_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm"
)

// summaryModel is a model that answers requests for summaries as the test says.
type summaryModel struct {
	*windowModel
	parts []perdure.Part
	err   error
}

func (a summaryModel) Stream(ctx context.Context, r llm.Request, emit func(llm.Delta) error) (*llm.Response, error) {
	if r.Purpose != llm.PurposeCompaction {
		return a.windowModel.Stream(ctx, r, emit)
	}
	a.mu.Lock()
	a.asked = append(a.asked, r)
	a.mu.Unlock()
	if a.err != nil {
		return nil, a.err
	}
	return &llm.Response{Content: perdure.Content{
		Parts: a.parts, Provider: "scripted", Model: "s", StopReason: perdure.StopEndTurn,
		Usage: &perdure.Usage{Input: 1000, Output: 7, Calls: 1},
	}}, nil
}

// compactionEvents returns the data events about compactions, each as the text "state error".
func (s *scriptedEngine) compactionEvents(id uuid.UUID) (all []string) {
	s.t.Helper()
	for after := int64(0); ; {
		records, _, err := s.store.Log(s.t.Context(), id, after, 1000)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(records) == 0 {
			return all
		}
		for _, r := range records {
			after = r.Pos
			var e struct {
				Data struct{ Type, State, Error string }
			}
			if json.Unmarshal(r.Fields, &e) == nil && e.Data.Type == "compaction" {
				all = append(all, strings.TrimSpace(e.Data.State+" "+e.Data.Error))
			}
		}
	}
}

// TestABadSummaryChangesNothing checks summaries that fail, are empty, or are longer than the
// messages that they cover. The run must continue with an unchanged conversation. An event says why
// the summary was not used. The run records the call for the summary, and counts the usage of the
// call. The run does not try another summary at once.
func TestABadSummaryChangesNothing(t *testing.T) {
	longtest.Skip(t, "seconds")
	const turns = 14
	for name, c := range map[string]struct {
		parts []perdure.Part
		err   error
		why   string
	}{
		"fails":          {nil, &llm.Error{Kind: llm.InvalidRequest, Provider: "scripted", Message: "no summaries here"}, "no summaries here"},
		"nothing":        {nil, nil, "the summary is empty"},
		"blank":          {[]perdure.Part{perdure.Text(" \n\t")}, nil, "the summary is empty"},
		"thinking alone": {[]perdure.Part{{Type: perdure.PartThinking, Thinking: "hm"}}, nil, "the summary is empty"},
		"longer":         {[]perdure.Part{perdure.Text(strings.Repeat("much ", 40_000))}, nil, "the summary is longer than what it covers"},
	} {
		t.Run(name, func(t *testing.T) {
			var model summaryModel
			s, n, _ := windowWorkerPool(t, 100, 40_000, looks(turns, 9000), func(setup *workerSetup) {
				windows := llm.Windows{{Provider: "scripted", ID: "s"}: {Window: 40_000}}
				provider, err := setup.Providers.Lookup("scripted")
				if err != nil {
					t.Fatal(err)
				}
				model = summaryModel{windowModel: provider.(*windowModel), parts: c.parts, err: c.err}
				setup.Providers = llm.NewProviders(model)
				setup.Providers.SetWindows(windows)
			})
			at := 0.5
			x := s.idle(s.start(engine.StartRequest{UserPrompt: "go", Config: perdure.AgentConfig{Compaction: &perdure.CompactionConfig{At: &at}}}), 0)
			if lines := s.conversation(x.ID); lines[len(lines)-1] != "assistant: Done." {
				t.Errorf("the last line is %q", lines[len(lines)-1])
			}
			events := s.compactionEvents(x.ID)
			failures := slices.DeleteFunc(slices.Clone(events), func(e string) bool { return e == "scheduled" || e == "started" })
			_, summaries := n.requests()
			if len(s.compactions(x)) != 0 || len(summaries) == 0 || len(summaries) > 6 || len(failures) != len(summaries) {
				t.Errorf("%d compactions, %d summaries, events %q", len(s.compactions(x)), len(summaries), events)
			}
			begun := false
			for _, e := range events {
				failed := strings.HasPrefix(e, "failed ") && strings.Contains(e, c.why)
				if failed && !begun || !failed && e != "scheduled" && e != "started" {
					t.Errorf("%q is wrong in the events %q", e, events)
				}
				begun = !failed
			}
			if got := s.summaryUsage(x.ID); c.err == nil && got != len(summaries) {
				t.Errorf("%d of %d calls are recorded with their usage", got, len(summaries))
			}
		})
	}
}

// summaryUsage returns the number of llm_call entries that record a call for a summary and have a
// usage.
func (s *scriptedEngine) summaryUsage(id uuid.UUID) (n int) {
	s.t.Helper()
	page, err := s.store.AllEntries(s.t.Context(), id, "", 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range page.Items {
		if e.Type == perdure.EntryLLMCall && strings.Contains(string(e.Metadata), `"purpose":"compaction"`) && strings.Contains(string(e.Metadata), `"output":7`) {
			n++
		}
	}
	return n
}
