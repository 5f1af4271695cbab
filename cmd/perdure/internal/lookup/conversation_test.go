package lookup

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/connection/connectiontest"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// TestShowMarksChangedPrompts checks that perdure show marks only the answers whose record reports a
// changed prompt.
func TestShowMarksChangedPrompts(t *testing.T) {
	run := uuid.New()
	var path, all []perdure.Entry
	for i, words := range []string{"first words", "second words"} {
		answer, err := perdure.NewMessageEntry(perdure.Message{
			Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{perdure.Text(words)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		answer.ID = uuid.New()
		if i > 0 {
			answer.ParentID = &path[i-1].ID
		}
		record := perdure.Entry{
			ID: uuid.New(), ParentID: &answer.ID, Type: perdure.EntryLLMCall, Content: json.RawMessage(`{"parts":[]}`),
			Metadata: json.RawMessage([]string{`{"prompt":{"sha256":"a"}}`, `{"prompt":{"sha256":"b","changed":true}}`}[i]),
		}
		path, all = append(path, answer), append(all, answer, record)
	}
	lists := 0
	c := connectiontest.Answering(t, func(r *http.Request) any {
		switch {
		case strings.HasSuffix(r.URL.Path, "/snapshot"):
			return map[string]any{"entries": path[1:]}
		case strings.HasSuffix(r.URL.Path, "/entries") && r.URL.Query().Get("all") == "true":
			lists++
			return map[string]any{"items": all}
		case strings.HasSuffix(r.URL.Path, "/tasks"):
			return map[string]any{"items": []any{}}
		}
		return map[string]any{"id": run, "kind": "custom", "status": "COMPLETED"}
	})
	show := func(asJSON bool) string {
		var out bytes.Buffer
		a := &setup.App{Streams: terminal.Streams{Stdout: terminal.NewScreen(&out), Stderr: terminal.NewScreen(&out)}, JSON: asJSON}
		if err := show(t.Context(), a, &connection.Conn{Client: c}, run.String()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	text := show(false)
	first, second, mark := strings.Index(text, "first words"), strings.Index(text, "second words"), strings.Index(text, promptChangedText)
	if first < 0 || !(first < mark && mark < second) || strings.Count(text, promptChangedText) != 1 {
		t.Errorf("show says\n%s", text)
	}
	if lists != 1 {
		t.Errorf("show lists the entries %d times", lists)
	}
	var said struct{ PromptChanges []uuid.UUID }
	if err := json.Unmarshal([]byte(show(true)), &said); err != nil {
		t.Fatal(err)
	}
	if len(said.PromptChanges) != 1 || said.PromptChanges[0] != path[1].ID {
		t.Errorf("the JSON names %v", said.PromptChanges)
	}
}
