package perdure

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// TestEntriesEncodeAsTheirMembers checks that an entry is encoded like a plain struct with the same
// members. Content that is no JSON is an error.
func TestEntriesEncodeAsTheirMembers(t *testing.T) {
	texts := rapid.OneOf(rapid.Just(""), rapid.StringN(0, 12, -1), rapid.SampledFrom([]string{"a\"b\\c", "<&>", "\u2028", "\x00\n", "\xff"}))
	raws := rapid.SampledFrom([]string{"null", "{}", ` {"a" : [1, "<"]}`, `"x"`})
	rapid.Check(t, func(t *rapid.T) {
		e := Entry{
			ID: uuid.New(), Type: EntryType(texts.Draw(t, "type")), Role: Role(texts.Draw(t, "role")), TurnID: texts.Draw(t, "turn"),
			ResponseID: texts.Draw(t, "response"), MessageID: texts.Draw(t, "message"), ContentSHA256: texts.Draw(t, "sum"),
			ContentBytes: rapid.Int64().Draw(t, "bytes"), CreatedAt: AtMilli(rapid.Int64Range(0, 4e12).Draw(t, "at")),
		}
		if rapid.Bool().Draw(t, "with a parent") {
			e.ParentID = &uuid.UUID{1}
		}
		if rapid.Bool().Draw(t, "with contents") {
			e.Content, e.Metadata = json.RawMessage(raws.Draw(t, "content")), json.RawMessage(raws.Draw(t, "metadata"))
		}
		got, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		null := func(s string) *string {
			if s == "" {
				return nil
			}
			return &s
		}
		want, err := json.Marshal(struct {
			ID            uuid.UUID       `json:"id"`
			ParentID      *uuid.UUID      `json:"parentId"`
			Type          EntryType       `json:"entryType"`
			Role          *string         `json:"role"`
			TurnID        *string         `json:"turnId"`
			ResponseID    *string         `json:"responseId"`
			MessageID     *string         `json:"messageId"`
			Content       json.RawMessage `json:"content"`
			ContentBytes  int64           `json:"contentBytes,omitempty"`
			ContentSHA256 string          `json:"contentSha256,omitempty"`
			Metadata      json.RawMessage `json:"metadata"`
			CreatedAt     Time            `json:"createdAt"`
		}{
			e.ID, e.ParentID, e.Type, null(string(e.Role)), null(e.TurnID), null(e.ResponseID), null(e.MessageID),
			e.Content, e.ContentBytes, e.ContentSHA256, e.Metadata, e.CreatedAt,
		})
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if json.Unmarshal(got, &a) != nil || json.Unmarshal(want, &b) != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("%s, want %s", got, want)
		}
	})
	if _, err := json.Marshal(Entry{Content: json.RawMessage(`{"a":`)}); err == nil {
		t.Error("a content that is no JSON is encoded")
	}
}
