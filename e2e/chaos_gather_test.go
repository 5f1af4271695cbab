package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/e2e/chaos"
	"github.com/perdure/perdure/llm/scripted"
)

// gather collects the data of each run. It reports differences between the events that readers
// received and the stored log.
func (l *load) gather() []chaos.Run {
	l.t.Helper()
	calls := l.calls()
	var all []chaos.Run
	for _, r := range l.runs {
		replay, err := fold(l.replay(r))
		if err != nil {
			l.fault("run %d (%s): its log: %v", r.script.Run, r.id, err)
		}
		for n, reader := range r.readers {
			l.compare(r, n, reader, replay)
		}
		all = append(all, chaos.Run{
			ID: r.id.String(), Script: r.script, OneShot: r.oneShot, Status: r.status, Messages: l.messages(r), Log: plainLog(replay),
			Sent: r.sorted(), Calls: calls[r.script.Name], Effects: l.effects(r.script),
		})
	}
	return all
}

// calls returns the model calls that the scripted provider has recorded, by the name of the script.
func (l *load) calls() map[string][]scripted.Call {
	l.t.Helper()
	raw, err := os.ReadFile(l.journal())
	if err != nil {
		l.t.Fatal(err)
	}
	all := map[string][]scripted.Call{}
	for line := range strings.Lines(string(raw)) {
		var c scripted.Call
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			l.t.Fatalf("the journal: %v", err)
		}
		all[c.Model] = append(all[c.Model], c)
	}
	return all
}

// replay reads all events of a run's log from its start.
func (l *load) replay(r *loadRun) []client.Event {
	l.t.Helper()
	var all []client.Event
	for cursor := ""; ; {
		page, err := l.Events(l.t.Context(), r.id, cursor, 500)
		if err != nil {
			l.t.Fatal(err)
		}
		if page.Reset != nil {
			l.fault("run %d (%s): its log was reset: %+v", r.script.Run, r.id, *page.Reset)
		}
		all = append(all, page.Items...)
		if cursor = page.NextCursor; page.UpToDate {
			return all
		}
	}
}

// compare checks that the events that a reader received, over all its connections, equal the stored log
// byte for byte.
func (l *load) compare(r *loadRun, n int, reader *follower, replay []event) {
	if reader.err != nil {
		l.fault("run %d (%s): reader %d: %v", r.script.Run, r.id, n, reader.err)
		return
	}
	followed, err := fold(reader.events)
	if err != nil {
		l.fault("run %d (%s): reader %d: %v", r.script.Run, r.id, n, err)
	}
	for _, d := range differences(followed, replay) {
		l.fault("run %d (%s): reader %d and the log differ: %s", r.script.Run, r.id, n, d)
	}
}

func (l *load) messages(r *loadRun) []perdure.Message {
	l.t.Helper()
	var all []perdure.Message
	for e, err := range l.Entries(l.t.Context(), r.id) {
		if err != nil {
			l.t.Fatal(err)
		}
		m, err := e.Message()
		if err != nil {
			l.t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

func (l *load) effects(s chaos.Script) map[string]int {
	l.t.Helper()
	raw, err := os.ReadFile(filepath.Join(l.workspace, s.Effects()))
	if err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
	found := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		found[strings.TrimSpace(line)]++
	}
	return found
}

// plainLog converts events of a log into the form that package chaos checks.
func plainLog(events []event) []chaos.Event {
	var all []chaos.Event
	for _, e := range events {
		var more struct {
			Kind     string `json:"kind"`
			SignalID string `json:"signalId"`
		}
		if !e.block {
			_ = json.Unmarshal([]byte(e.data), &more) // other events do not have these members
		}
		plain := chaos.Event{
			Seq: e.seq, Type: e.kind, At: e.head.CreatedAt, Kind: more.Kind, Signal: more.SignalID,
			Call: e.head.ToolCallID, Turn: e.head.TurnID,
		}
		if e.head.TaskID != nil {
			plain.Task = e.head.TaskID.String()
		}
		all = append(all, plain)
	}
	return all
}
