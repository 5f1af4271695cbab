package log

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzSplitIsDecoded checks that the functions split and decoded return the same members for every
// JSON text that split accepts.
func FuzzSplitIsDecoded(f *testing.F) {
	for _, text := range []string{
		`{"b":1,"a":"x\"y\\","c":{"d":[1,"}",{}]}}`, `{"a":1,"a":2}`, `{"a": 1}`, `{}`, `{"\u0061":1}`, `{"é":"ö"}`, `{"a":"\\"}`,
		`{"a":[],"b":{},"c":-1.5e3,"d":null,"e":true}`, `{"a":1}}`, `{"a":1,}`, `{"a":}`, `{"<a>":"<b>&\u2028"}`, "{\"a\":\"\xff\"}", `{"a":"b`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := split([]byte(text))
		if !ok || !json.Valid([]byte(text)) { // the store contains only valid JSON objects
			return
		}
		want, err := decoded(json.RawMessage(text))
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s is split into %d members, decoded into %d (%v)", text, len(got), len(want), err)
		}
		for i := range got {
			if !bytes.Equal(got[i].key, want[i].key) || !bytes.Equal(got[i].value, want[i].value) {
				t.Fatalf("%s: member %d is %s: %s, decoded %s: %s", text, i, got[i].key, got[i].value, want[i].key, want[i].value)
			}
		}
	})
}

// TestCompactFieldsAreSplit checks that split accepts compact objects with plain keys, and returns
// false for other texts.
func TestCompactFieldsAreSplit(t *testing.T) {
	content := `[{"text":"` + strings.Repeat(`a \" ö \\ `, 1000) + `","type":"text"}]`
	members, ok := split([]byte(`{"role":"user","content":` + content + `,"createdAt":"2026-01-02T12:00:00.000Z"}`))
	if !ok || len(members) != 3 || string(members[0].value) != content || string(members[2].key) != `"role"` {
		t.Fatalf("split reports %v and %d members", ok, len(members))
	}
	for _, other := range []string{``, `{}`, `[]`, `{"a":1 }`, `{"a" :1}`, `{"a\n":1}`, `{"a":1,"a":2}`, `{"a":"b`, `{"a":1]`, `{"a":,"b":1}`, "{\"\xff\":1}"} {
		if _, ok := split([]byte(other)); ok {
			t.Errorf("%q is split", other)
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	fields := json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat(`some words, \"and\" `, 10_000) + `"}],"id":"x","role":"user"}`)
	b.SetBytes(int64(len(fields)))
	for b.Loop() {
		members, err := membersOf(fields)
		if err != nil {
			b.Fatal(err)
		}
		merge([]byte(`{"seq":5}`), members)
	}
}
