package perdure_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"pgregory.net/rapid"
)

var keyExecution = uuid.MustParse("018f6b1e-7c1a-7d2e-9c3b-0123456789ab")

// TestDefaultTaskKeyVectors checks DefaultTaskKey with the vectors in docs/protocol.md, which are for
// authors of clients in other languages. It reads them from that page, so that the page stays correct.
func TestDefaultTaskKeyVectors(t *testing.T) {
	page, err := os.ReadFile("docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	vectors := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 7 || !strings.HasPrefix(strings.TrimSpace(cells[4]), "`task:") {
			continue
		}
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		vectors++
		key, err := perdure.DefaultTaskKey(keyExecution, cells[1], json.RawMessage(cells[2]), cells[3])
		if err != nil {
			t.Fatal(err)
		}
		if key != cells[4] || perdure.TaskID(key).String() != cells[5] {
			t.Errorf("%s %s %q: got %s %s", cells[1], cells[2], cells[3], key, perdure.TaskID(key))
		}
	}
	if vectors != 3 {
		t.Errorf("docs/protocol.md has %d vectors, not 3", vectors)
	}
}

func TestDefaultTaskKeyIgnoresOrderAndSpace(t *testing.T) {
	a, err := perdure.DefaultTaskKey(keyExecution, "k", json.RawMessage(`{"b":1, "a":[1.0,"x"]}`), "")
	if err != nil {
		t.Fatal(err)
	}
	b, err := perdure.DefaultTaskKey(keyExecution, "k", json.RawMessage(`{"a":[1,"x"],"b":1e0}`), "")
	if err != nil {
		t.Fatal(err)
	}
	if a != b {
		t.Errorf("%s and %s differ", a, b)
	}
}

// TestLargeNumbersAreRefusedNotMixedUp checks that integers that a float64 does not represent exactly
// are refused. Two of them could have the same canonical form, and two tasks would then share one key.
func TestLargeNumbersAreRefusedNotMixedUp(t *testing.T) {
	for _, input := range []string{`{"n":9007199254740993}`, `[123456789012345678901234567890]`, `{"a":{"b":[1,9007199254740995]}}`} {
		if _, err := perdure.DefaultTaskKey(keyExecution, "k", json.RawMessage(input), ""); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("%s: %v", input, err)
		}
	}
	for _, input := range []string{`9007199254740992`, `0.1`, `1e22`, `-0`, `{"n":[1,2.5]}`} {
		if _, err := perdure.DefaultTaskKey(keyExecution, "k", json.RawMessage(input), ""); err != nil {
			t.Errorf("%s: %v", input, err)
		}
	}
}

// TestKeysBelongToTheirExecution checks that CallerTaskKey and StepKey return different keys for two
// executions.
func TestKeysBelongToTheirExecution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind, key := rapid.StringN(1, 10, -1).Draw(t, "kind"), rapid.String().Draw(t, "key")
		other := uuid.New()
		if perdure.CallerTaskKey(keyExecution, kind, key) == perdure.CallerTaskKey(other, kind, key) {
			t.Fatal("two executions share a key")
		}
		if perdure.StepKey(keyExecution, kind, key) == perdure.StepKey(other, kind, key) {
			t.Fatal("two executions share a step")
		}
	})
}
