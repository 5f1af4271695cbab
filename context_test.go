package perdure_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"pgregory.net/rapid"
)

func entryOf(t interface{ Fatal(...any) }, m perdure.Message) perdure.Entry {
	e, err := perdure.NewMessageEntry(m)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func said(role perdure.Role, parts ...perdure.Part) perdure.Message {
	return perdure.Message{Role: role, Content: perdure.Content{Parts: parts}}
}

// compacted returns a compaction entry whose metadata is the record r.
func compacted(t interface{ Fatal(...any) }, r perdure.CompactionRecord) perdure.Entry {
	e := entryOf(t, said(perdure.RoleUser, perdure.Compaction("what was")))
	metadata, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	e.Type, e.Metadata = perdure.EntryCompaction, metadata
	return e
}

// TestContextOfProperties checks the context of random paths with compactions. The context has, in
// this order, the entries that the newest compaction lists in Pinned, the compaction, the entries
// from KeepFrom up to the compaction, and the entries after the compaction. Every other entry of
// the path is left out, or is an older compaction.
func TestContextOfProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var path []perdure.Entry
		var newest *perdure.CompactionRecord
		var at int
		for range rapid.IntRange(1, 30).Draw(t, "entries") {
			if len(path) < 2 || rapid.IntRange(0, 6).Draw(t, "kind") > 0 {
				role := rapid.SampledFrom([]perdure.Role{perdure.RoleUser, perdure.RoleAssistant, perdure.RoleSystem}).Draw(t, "role")
				path = append(path, entryOf(t, said(role, perdure.Text("x"))))
				continue
			}
			last := rapid.IntRange(0, len(path)-1).Draw(t, "last")
			r := perdure.CompactionRecord{Last: path[last].ID, Reason: perdure.CompactionManual}
			if last+1 < len(path) {
				r.KeepFrom = &path[last+1].ID
			}
			for _, e := range path[:last+1] {
				if e.Type == perdure.EntryMessage && e.Role == perdure.RoleUser && rapid.Bool().Draw(t, "pinned") {
					r.Pinned = append(r.Pinned, e.ID)
				}
			}
			newest, at = &r, len(path)
			path = append(path, compacted(t, r))
		}
		c, err := perdure.ContextOf(path)
		if err != nil {
			t.Fatal(err)
		}
		checkContext(t, c, path, newest, at)
	})
}

func checkContext(t *rapid.T, c perdure.Context, path []perdure.Entry, newest *perdure.CompactionRecord, at int) {
	if newest == nil {
		if len(c.Entries) != len(path) || c.Compaction != nil || c.LeftOut != nil {
			t.Fatalf("a path without a compaction is not its context: %+v", c)
		}
		return
	}
	place := map[uuid.UUID]int{}
	for i, e := range path {
		place[e.ID] = i
	}
	out := 0
	for _, l := range c.LeftOut {
		if got := place[l.Last] - place[l.First] + 1; got != l.Entries || l.EntryID != path[at].ID {
			t.Fatalf("left out: %+v, %d entries", l, got)
		}
		out += l.Entries
	}
	for i, e := range c.Entries {
		switch n := len(newest.Pinned); {
		case i < n && e.Entry.ID != newest.Pinned[i], i == n && e.Entry.ID != path[at].ID:
			t.Fatalf("entry %d is %s", i, e.Entry.ID)
		case i > n && e.Rewritten != (place[e.Entry.ID] < at):
			t.Fatalf("entry %d of %d: rewritten is %t", place[e.Entry.ID], at, e.Rewritten)
		case i > n+1 && place[e.Entry.ID] <= place[c.Entries[i-1].Entry.ID]:
			t.Fatalf("entry %d is out of order", i)
		}
	}
	older := 0
	for i, e := range path[:at] {
		if e.Type == perdure.EntryCompaction && (newest.KeepFrom != nil && i > place[*newest.KeepFrom]) {
			older++
		}
	}
	if newest.KeepFrom != nil && path[place[*newest.KeepFrom]].Type == perdure.EntryCompaction {
		older++
	}
	if len(c.Entries)+out+older != len(path) {
		t.Fatalf("%d entries, %d left out and %d older compactions, but the path has %d", len(c.Entries), out, older, len(path))
	}
}

// TestContextOfRefuses checks the errors for a compaction that does not fit its path.
func TestContextOfRefuses(t *testing.T) {
	first, id := entryOf(t, said(perdure.RoleUser, perdure.Text("x"))), uuid.New()
	broken := compacted(t, perdure.CompactionRecord{Last: first.ID, Reason: perdure.CompactionManual})
	broken.Metadata = json.RawMessage(`{"last":1}`)
	for name, e := range map[string]perdure.Entry{
		"keeps from elsewhere": compacted(t, perdure.CompactionRecord{Last: first.ID, KeepFrom: &id, Reason: perdure.CompactionManual}),
		"no reason":            compacted(t, perdure.CompactionRecord{Last: first.ID}),
		"no last":              compacted(t, perdure.CompactionRecord{Reason: perdure.CompactionManual}),
		"no record":            broken,
	} {
		if _, err := perdure.ContextOf([]perdure.Entry{first, e}); !perdure.IsCode(err, perdure.InvalidTranscript) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestContextEntryMessage checks which message a model gets for an entry of its context. Thinking is
// left out if earlier messages were rewritten, and a long tool result is cut.
func TestContextEntryMessage(t *testing.T) {
	call := perdure.Part{Type: perdure.PartToolCall, ID: "c", Name: "n", RawArguments: "{}", ThinkingSignature: "s"}
	thought := perdure.Part{Type: perdure.PartThinking, Thinking: "hm", ThinkingSignature: "s"}
	answer := perdure.ContextEntry{Entry: entryOf(t, said(perdure.RoleAssistant, thought, perdure.Text("yes"), call)), Rewritten: true}
	m, err := answer.Message()
	if err != nil || len(m.Parts) != 2 || m.Parts[0].Text != "yes" || m.Parts[1].ThinkingSignature != "s" {
		t.Errorf("%+v, %v", m.Parts, err)
	}
	for _, parts := range [][]perdure.Part{{thought}, {thought, perdure.Text(" \n")}} {
		only := perdure.ContextEntry{Entry: entryOf(t, said(perdure.RoleAssistant, parts...)), Rewritten: true}
		if m, err := only.Message(); err != nil || len(m.Parts) != 1 || strings.TrimSpace(m.PlainText()) == "" {
			t.Errorf("%+v, %v", m.Parts, err)
		}
	}

	long := "head" + strings.Repeat("ä", 2_000_000) + "tail"
	result := perdure.Part{Type: perdure.PartToolResult, ToolCallID: "c", Parts: []perdure.Part{perdure.Text(long), {Type: perdure.PartImage, URL: "https://x.example/a.png"}}}
	e := perdure.ContextEntry{Entry: entryOf(t, said(perdure.RoleToolResult, result)), ResultBytes: 1001}
	m, err = e.Message()
	if err != nil {
		t.Fatal(err)
	}
	text := m.Parts[0].Parts[0].Text
	if !strings.HasPrefix(text, "head") || !strings.HasSuffix(text, "tail") || !strings.Contains(text, "[... 4.0 MB left out by compaction ...]") || len(text) > 1100 || strings.ToValidUTF8(text, "") != text {
		t.Errorf("%d bytes: %.200s", len(text), text)
	}
	if len(m.Parts[0].Parts) != 2 || m.Parts[0].Parts[1].Type != perdure.PartImage {
		t.Errorf("the image is gone: %+v", m.Parts[0].Parts)
	}
	e.ResultBytes = len(long)
	if m, err := e.Message(); err != nil || m.Parts[0].Parts[0].Text != long {
		t.Errorf("a result at the limit is changed, %v", err)
	}
}

// TestCompactionConfig checks the limits of the settings. It also checks that a merge keeps a field
// that only one of the two configurations sets.
func TestCompactionConfig(t *testing.T) {
	at := func(v float64) *perdure.CompactionConfig { return &perdure.CompactionConfig{At: &v} }
	for v, ok := range map[float64]bool{0.1: true, 0.95: true, 0.09: false, 0.96: false, -1: false} {
		if err := (perdure.AgentConfig{Compaction: at(v)}).CheckCompaction(); (err == nil) != ok {
			t.Errorf("at %v: %v", v, err)
		}
	}
	off := true
	merged := perdure.AgentConfig{Compaction: at(0.5)}.Merge(perdure.AgentConfig{Compaction: &perdure.CompactionConfig{Off: &off}})
	if !merged.Compaction.Disabled() || merged.Compaction.Threshold() != 0.5 {
		t.Errorf("merged: %+v", merged.Compaction)
	}
	var none *perdure.CompactionConfig
	if none.Disabled() || none.Threshold() != perdure.DefaultCompactionAt {
		t.Error("the defaults do not apply")
	}
}
