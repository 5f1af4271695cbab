package react_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm/scripted"
)

// longOutcome is the result of a long run: what it has stored, which model calls it has paid for,
// and which effects its tools had.
type longOutcome struct {
	lines       []string // the messages of the conversation, without compactions
	compactions int
	records     map[string]int // number of llm_call entries by purpose of the call
	turns       []*perdure.Task
	summaries   []*perdure.Task
	interrupted int            // number of tool tasks that were interrupted
	effects     map[string]int // number of times that bash wrote each line
	paid        map[int][]scripted.Call
	died        int
}

func (h *crashStore) outcome(id uuid.UUID) *longOutcome {
	h.t.Helper()
	o := &longOutcome{records: map[string]int{}, effects: map[string]int{}, paid: map[int][]scripted.Call{}, died: h.died}
	h.readPath(id, o)
	h.readTasks(id, o)
	for cursor := ""; ; {
		page, err := h.store.AllEntries(h.t.Context(), id, cursor, 1000)
		h.must(err)
		for _, e := range page.Items {
			var call struct{ Purpose string }
			if e.Type == perdure.EntryLLMCall {
				h.must(json.Unmarshal(e.Metadata, &call))
				o.records[call.Purpose]++
			}
		}
		if page.Next == "" {
			break
		}
		cursor = page.Next
	}
	raw, err := os.ReadFile(h.journal)
	h.must(err)
	for line := range bytes.Lines(raw) {
		var c scripted.Call
		h.must(json.Unmarshal(line, &c))
		o.paid[c.Turn] = append(o.paid[c.Turn], c)
	}
	raw, err = os.ReadFile(filepath.Join(h.folder, "effects"))
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		o.effects[line]++
	}
	return o
}

func (h *crashStore) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *crashStore) readPath(id uuid.UUID, o *longOutcome) {
	h.t.Helper()
	x, err := h.store.Execution(h.t.Context(), "default", id)
	h.must(err)
	for e, err := range h.store.Path(h.t.Context(), id, *x.Leaf, nil, 0, false) {
		h.must(err)
		if e.Type == perdure.EntryCompaction {
			o.compactions++
			continue
		}
		m, err := e.Message()
		h.must(err)
		line := string(m.Role) + ": " + m.PlainText()
		for _, p := range m.Parts {
			line += fmt.Sprintf(" %s %s %s %v", p.Name, p.RawArguments, perdure.Content{Parts: p.Parts}.PlainText(), p.IsError)
		}
		o.lines = append(o.lines, line)
	}
}

func (h *crashStore) readTasks(id uuid.UUID, o *longOutcome) {
	h.t.Helper()
	for cursor := ""; ; {
		page, err := h.store.ListTasks(h.t.Context(), id, false, cursor, 1000)
		h.must(err)
		for _, task := range page.Items {
			var in struct{ Compaction json.RawMessage }
			h.must(json.Unmarshal(task.Input, &in))
			switch {
			case task.Kind != modelTask && task.Status == perdure.TaskInterrupted:
				o.interrupted++
			case task.Kind == modelTask && in.Compaction != nil:
				o.summaries = append(o.summaries, task)
			case task.Kind == modelTask:
				o.turns = append(o.turns, task)
			}
		}
		if page.Next == "" {
			return
		}
		cursor = page.Next
	}
}

// undisturbed checks that a run without deaths has no interrupted tools, at least five compactions,
// and one attempt of each model call.
func (o *longOutcome) undisturbed(t *testing.T) {
	t.Helper()
	o.compare(t, o)
	if o.died > 0 || o.interrupted > 0 || o.compactions < 5 || o.attempts() != len(o.turns)+len(o.summaries) {
		t.Errorf("%d deaths, %d compactions, %d attempts of %d calls", o.died, o.compactions, o.attempts(), len(o.turns)+len(o.summaries))
	}
}

func (o *longOutcome) attempts() (n int) {
	for _, task := range append(append([]*perdure.Task{}, o.turns...), o.summaries...) {
		n += task.Attempt
	}
	return n
}

// compare checks that the run has the same conversation and the same number of turns as the run
// `want`, which had no deaths. No effect of a tool may occur twice, and only interrupted tools may
// have had no effect.
func (o *longOutcome) compare(t *testing.T, want *longOutcome) {
	t.Helper()
	o.comparePaid(t)
	if len(o.turns) != len(want.turns) || o.records[""] != len(want.turns) || o.records[purposeCompaction] > len(o.summaries) || o.compactions == 0 {
		t.Errorf("%d model calls with %v records and %d compactions; want %d and %v", len(o.turns), o.records, o.compactions, len(want.turns), want.records)
	}
	o.compareLines(t, want)
	missing := 0
	for line := range want.effects {
		if o.effects[line] > 1 {
			t.Errorf("%q was done %d times", line, o.effects[line])
		}
		if o.effects[line] == 0 {
			missing++
		}
	}
	if missing > o.interrupted || len(o.effects) > len(want.effects) {
		t.Errorf("%d effects are missing of %d, with %d interrupted tools", missing, len(want.effects), o.interrupted)
	}
	t.Logf("%d deaths: %d turns, %d entries, %d compactions, %d summaries, %d attempts, %d interrupted tools",
		o.died, len(o.turns), len(o.lines), o.compactions, len(o.summaries), o.attempts(), o.interrupted)
}

const purposeCompaction = "compaction"

// comparePaid checks that each attempt of a model call was paid for at most once, and that all
// attempts of a call sent the same bytes. It also checks that no part of the conversation was
// summarized twice.
func (o *longOutcome) comparePaid(t *testing.T) {
	t.Helper()
	for i, task := range o.turns {
		paid := o.paid[i+1]
		if task.Status != perdure.TaskCompleted || len(paid) < 1 || len(paid) > task.Attempt {
			t.Errorf("turn %d is %s after %d attempts, with %d calls", i, task.Status, task.Attempt, len(paid))
		}
		for _, c := range paid {
			if c.SHA256 != paid[0].SHA256 {
				t.Errorf("the attempts of turn %d differ", i)
			}
		}
	}
	attempts, prompts := 0, map[string]bool{}
	for _, task := range o.summaries {
		attempts += task.Attempt
	}
	for _, c := range o.paid[0] {
		prompts[c.SHA256] = true
	}
	if len(o.paid[0]) > attempts || len(prompts) != len(o.summaries) {
		t.Errorf("%d calls for %d different summaries in %d attempts of %d tasks", len(o.paid[0]), len(prompts), attempts, len(o.summaries))
	}
	if len(o.paid) > len(o.turns)+1 {
		t.Errorf("calls for %d turns, of %d", len(o.paid)-1, len(o.turns))
	}
}

// compareLines checks that the run has the same conversation as the run without deaths, except for
// the results of interrupted tools.
func (o *longOutcome) compareLines(t *testing.T, want *longOutcome) {
	t.Helper()
	if len(o.lines) != len(want.lines) {
		t.Fatalf("%d entries, want %d", len(o.lines), len(want.lines))
	}
	others := 0
	for i, line := range o.lines {
		if line == want.lines[i] {
			continue
		}
		if others++; others > o.interrupted || !strings.HasPrefix(line, string(perdure.RoleToolResult)) {
			t.Errorf("entry %d is %q, want %q", i, line, want.lines[i])
		}
	}
}
