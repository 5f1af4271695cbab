package perdure_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"pgregory.net/rapid"
)

func message(role perdure.Role, parts ...perdure.Part) perdure.Message {
	return perdure.Message{Role: role, Content: perdure.Content{Parts: parts}}
}

func toolCall(id string) perdure.Part {
	return perdure.Part{Type: perdure.PartToolCall, ID: id, Name: "bash", RawArguments: "{}"}
}

func toolResult(id string) perdure.Part {
	return perdure.Part{Type: perdure.PartToolResult, ToolCallID: id, Parts: []perdure.Part{perdure.Text("ok")}}
}

// acceptable is an independent implementation of the providers' rule about a whole conversation: every
// tool call is answered exactly once before the next message.
func acceptable(messages []perdure.Message) bool {
	open := map[string]bool{}
	for _, m := range messages {
		if m.Role == perdure.RoleToolResult {
			id := m.Parts[0].ToolCallID
			if !open[id] {
				return false
			}
			delete(open, id)
			continue
		}
		if len(open) > 0 {
			return false
		}
		for _, c := range m.ToolCalls() {
			if open[c.ID] {
				return false
			}
			open[c.ID] = true
		}
	}
	return true
}

// TestStoredConversationIsAlwaysAcceptable checks that CheckAppend, which sees only one entry and
// its parent at a time, accepts exactly the conversations that the function `acceptable` accepts.
func TestStoredConversationIsAlwaysAcceptable(t *testing.T) {
	ids := []string{"c1", "c2", "c3"}
	rapid.Check(t, func(t *rapid.T) {
		var stored []perdure.Message
		var parent *perdure.EntryHead
		for range rapid.IntRange(1, 12).Draw(t, "n") {
			var m perdure.Message
			switch rapid.IntRange(0, 2).Draw(t, "role") {
			case 0:
				m = perdure.UserText("hello")
			case 1:
				m = message(perdure.RoleAssistant, perdure.Text("hm"))
				for _, id := range rapid.SliceOfN(rapid.SampledFrom(ids), 0, 3).Draw(t, "calls") {
					m.Parts = append(m.Parts, toolCall(id))
				}
			case 2:
				m = message(perdure.RoleToolResult, toolResult(rapid.SampledFrom(ids).Draw(t, "answers")))
			}
			e, err := perdure.NewMessageEntry(m)
			if err != nil {
				t.Fatal(err)
			}
			if err := perdure.CheckContent(e); err != nil {
				t.Fatal(err)
			}
			open, err := perdure.CheckAppend(parent, e)
			if want := acceptable(append(stored[:len(stored):len(stored)], m)); (err == nil) != want {
				t.Fatalf("let in: %v, acceptable: %v (%v)", err == nil, want, m)
			}
			if err != nil {
				if !perdure.IsCode(err, perdure.InvalidTranscript) {
					t.Fatal(err)
				}
				continue
			}
			stored = append(stored, m)
			parent = &perdure.EntryHead{ID: e.ID, Type: e.Type, Role: e.Role, Open: open}
		}
		if parent == nil || len(parent.Open) == 0 {
			return
		}
		closing, err := perdure.ClosingResults(perdure.Entry{ID: parent.ID}, parent.Open, map[string]string{"a": "bash"}, "cancelled")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range closing {
			m, err := e.Message()
			if err != nil {
				t.Fatal(err)
			}
			stored = append(stored, m)
		}
		if !acceptable(append(stored, perdure.UserText("and now?"))) {
			t.Fatal("a closed conversation does not take a next message")
		}
	})
}

func TestCheckContentRefusesWhatARoleDoesNotSay(t *testing.T) {
	for name, m := range map[string]perdure.Message{
		"user calls":             message(perdure.RoleUser, toolCall("c")),
		"assistant result":       message(perdure.RoleAssistant, toolResult("c")),
		"two results":            message(perdure.RoleToolResult, toolResult("c"), toolResult("d")),
		"nameless call":          message(perdure.RoleAssistant, perdure.Part{Type: perdure.PartToolCall, ID: "c"}),
		"no parts":               {Role: perdure.RoleUser},
		"compaction and text":    message(perdure.RoleUser, perdure.Compaction("s"), perdure.Text("a")),
		"two compactions":        message(perdure.RoleUser, perdure.Compaction("s"), perdure.Compaction("t")),
		"blank compaction":       message(perdure.RoleUser, perdure.Compaction(" ")),
		"model's compaction":     message(perdure.RoleAssistant, perdure.Compaction("s")),
		"compaction in a result": message(perdure.RoleToolResult, perdure.Part{Type: perdure.PartToolResult, ToolCallID: "c", Parts: []perdure.Part{perdure.Compaction("s")}}),
		"call in a result":       message(perdure.RoleToolResult, perdure.Part{Type: perdure.PartToolResult, ToolCallID: "c", Parts: []perdure.Part{toolCall("d")}}),
	} {
		e, err := perdure.NewMessageEntry(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := perdure.CheckContent(e); !perdure.IsCode(err, perdure.InvalidTranscript) {
			t.Errorf("%s: %v", name, err)
		}
	}
	e, err := perdure.NewMessageEntry(message(perdure.RoleAssistant, toolCall("c")))
	if err != nil {
		t.Fatal(err)
	}
	e.Calls = []string{"another"}
	if err := perdure.CheckContent(e); !perdure.IsCode(err, perdure.InvalidTranscript) {
		t.Errorf("calls beside the content that it does not hold: %v", err)
	}
	e.Content = nil
	if err := perdure.CheckContent(e); !perdure.IsCode(err, perdure.InvalidTranscript) {
		t.Errorf("no content at all: %v", err)
	}
	e.Blob = &perdure.BlobRef{}
	if err := perdure.CheckContent(e); err != nil {
		t.Errorf("content in a blob: %v", err)
	}
}

// TestACompactionIsAMessageOfItsOwn checks that a compaction is stored as the only part of a user's
// message, with a provider's own block unchanged. The text of the compaction is the message's plain
// text.
func TestACompactionIsAMessageOfItsOwn(t *testing.T) {
	part := perdure.Compaction("goal: x")
	part.Native = json.RawMessage(`{"b": 1,"a":2}`)
	m := message(perdure.RoleUser, part)
	m.Provider, m.Model = "anthropic", "m"
	e, err := perdure.NewMessageEntry(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := perdure.CheckContent(e); !perdure.IsCode(err, perdure.InvalidTranscript) {
		t.Errorf("a summary in an entry of type message: %v", err)
	}
	e.Type, e.Metadata = perdure.EntryCompaction, json.RawMessage(`{"last":"0198c0de-0000-7000-8000-000000000001","reason":"manual"}`)
	if err := perdure.CheckContent(e); err != nil {
		t.Fatal(err)
	}
	got, err := e.Message()
	if err != nil {
		t.Fatal(err)
	}
	if p := got.Parts[0]; p.Type != perdure.PartCompaction || got.PlainText() != "goal: x" || string(p.Native) != `{"b":1,"a":2}` || got.Provider != "anthropic" {
		t.Errorf("the stored message is %+v", got)
	}
	if raw, err := json.Marshal(perdure.Part{Type: perdure.PartCompaction}); err != nil || string(raw) != `{"type":"compaction","text":""}` {
		t.Errorf("an empty one is %s, %v", raw, err)
	}
}

// TestASummaryIsAnInput checks that an input message is a summary if it has both the part and the
// record of a compaction, and no other part.
func TestASummaryIsAnInput(t *testing.T) {
	record := &perdure.CompactionRecord{Reason: perdure.CompactionInput}
	manual := &perdure.CompactionRecord{Reason: perdure.CompactionManual}
	for name, c := range map[string]struct {
		role   perdure.Role
		parts  []perdure.Part
		record *perdure.CompactionRecord
		ok     bool
	}{
		"a summary":        {perdure.RoleUser, []perdure.Part{perdure.Compaction("goal: x")}, record, true},
		"no record":        {perdure.RoleUser, []perdure.Part{perdure.Compaction("goal: x")}, nil, false},
		"another record":   {perdure.RoleUser, []perdure.Part{perdure.Compaction("goal: x")}, manual, false},
		"a text":           {perdure.RoleUser, []perdure.Part{perdure.Text("goal: x")}, record, false},
		"another part":     {perdure.RoleUser, []perdure.Part{perdure.Compaction("goal: x"), perdure.Text("y")}, record, false},
		"another role":     {perdure.RoleAssistant, []perdure.Part{perdure.Compaction("goal: x")}, record, false},
		"an empty summary": {perdure.RoleUser, []perdure.Part{perdure.Compaction(" ")}, record, false},
	} {
		err := perdure.CheckMessages("messages", nil, []perdure.InputMessage{{Role: c.role, Parts: c.parts, Compaction: c.record}})
		if c.ok && err != nil || !c.ok && !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLLMCallHasNoChildren(t *testing.T) {
	e, err := perdure.NewMessageEntry(perdure.UserText("hi"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := perdure.CheckAppend(&perdure.EntryHead{Type: perdure.EntryLLMCall}, e); !perdure.IsCode(err, perdure.InvalidTranscript) {
		t.Error(err)
	}
}

// TestEntryIDsAreRandom checks that NewMessageEntry creates unique ids of version 7 in ascending
// order.
func TestEntryIDsAreRandom(t *testing.T) {
	seen := map[uuid.UUID]bool{}
	last := ""
	for range 1000 {
		e, err := perdure.NewMessageEntry(perdure.UserText("the same"))
		if err != nil {
			t.Fatal(err)
		}
		if e.ID.Version() != 7 || seen[e.ID] || e.ID.String() <= last {
			t.Fatalf("the id %s comes after %s", e.ID, last)
		}
		seen[e.ID], last = true, e.ID.String()
	}
}
