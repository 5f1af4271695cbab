package rules

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestFieldsAreJSON checks that the function fields encodes members like encoding/json.
func TestFieldsAreJSON(t *testing.T) {
	task := uuid.New()
	for name, members := range map[string]map[string]any{
		"none":    nil,
		"plain":   {"kind": "echo", "status": perdure.StatusRunning, "woke": perdure.WakeReason("task"), "id": task, "n": int64(-12), "m": 7, "yes": true, "no": nil},
		"escaped": {"kind": "a\"b\\c\nd\x00e<f>&g\u2028h\xffi ö", "<k>": "~ \x7f"},
		"many":    {"a": 1, "c": 2, "b": 3, "z": 4, "y": 5, "x": 6, "w": 7, "v": 8, "u": 9, "aa": 10, "B": 11},
		"rows":    {"wait": perdure.Wait{Task: &task}, "raw": json.RawMessage(`{ "a" : [1, 2] }`), "sha256": perdure.Hash{1, 2}, "error": &perdure.Error{Code: perdure.Internal, Message: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			if members == nil {
				members = map[string]any{}
			}
			want, err := json.Marshal(members)
			if err != nil {
				t.Fatal(err)
			}
			if got := fields(members); string(got) != string(want) {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}
