package operation

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

func someEntries() []perdure.Entry {
	return []perdure.Entry{
		{ID: uuid.UUID{1}, Type: perdure.EntryMessage, Role: perdure.RoleUser, Content: json.RawMessage(`{"parts":[{"type":"text","text":"<&>\u2028\"\\"}]}`)},
		{ID: uuid.UUID{2}, ParentID: &uuid.UUID{1}, Type: perdure.EntryLLMCall, ContentBytes: 7, ContentSHA256: "ab", Metadata: json.RawMessage(`{"a":1}`)},
		{ID: uuid.UUID{3}, TurnID: "t\"<", MessageID: "\u2029", CreatedAt: perdure.AtMilli(1e12), Content: json.RawMessage("null")},
	}
}

func someExecutions() []*perdure.Execution {
	return []*perdure.Execution{
		{ID: uuid.UUID{1}, Kind: "<&>\u2028", Status: perdure.StatusCompleted, Metadata: json.RawMessage(` {"a" : "<b>"}`), Wait: &perdure.Wait{}},
		{ID: uuid.UUID{2}, Title: "a\"b", Status: perdure.StatusWaiting, Traceparent: "00-1"},
	}
}

// TestPagesEncodeAsOthers checks that a page of entries, or of executions, has the bytes that
// encoding/json writes.
func TestPagesEncodeAsOthers(t *testing.T) {
	next := `a"b`
	for _, l := range []any{
		List[perdure.Entry]{Items: []perdure.Entry{}},
		List[perdure.Entry]{Items: someEntries()[:1], NextCursor: &next},
		List[perdure.Entry]{Items: someEntries()},
		List[*perdure.Execution]{Items: someExecutions(), NextCursor: &next},
	} {
		var got, want bytes.Buffer
		for range 2 { // the second time, the buffer has been used before
			got.Reset()
			if is, err := encodeList(&got, l); err != nil || !is {
				t.Fatal(is, err)
			}
		}
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(l); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("got\n%swant\n%s", &got, &want)
		}
	}
	for _, other := range []any{List[int]{}, []perdure.Entry{}, nil} {
		if is, _ := encodeList(new(bytes.Buffer), other); is {
			t.Errorf("%T is written as a list", other)
		}
	}
}

// TestAPageWithBrokenContentIsNotWritten checks that a list with content or metadata that is not
// JSON causes an internal error, and that nothing is written.
func TestAPageWithBrokenContentIsNotWritten(t *testing.T) {
	for _, broken := range []string{``, `{`, `{}},{"id":1`, `{"a":1}]`} {
		for _, put := range []func(e *perdure.Entry){
			func(e *perdure.Entry) { e.Content = json.RawMessage(broken) },
			func(e *perdure.Entry) { e.Metadata = json.RawMessage(broken) },
		} {
			var out bytes.Buffer
			l := List[perdure.Entry]{Items: someEntries()}
			put(&l.Items[1])
			if _, err := encodeList(&out, l); !perdure.IsCode(err, perdure.Internal) || out.Len() > 0 {
				t.Errorf("%q is answered %q, %v", broken, &out, err)
			}
		}
	}
}
