package perdure

import (
	"encoding/json"
	"testing"
)

// What is folded and unfolded again is, byte for byte, what it was.
func TestFoldedMetadataComesBack(t *testing.T) {
	for _, content := range []string{`{}`, `{ }`, `{"parts":[]}`, `{"parts": [{"type":"text","text":"a}b"}], "x": 1 }`} {
		for _, metadata := range []string{``, `{}`, `{"a":{"b":"}"}}`, `null`, `[1, 2]`} {
			e := Entry{Content: json.RawMessage(content), Metadata: json.RawMessage(metadata)}
			if err := e.Fold(); err != nil {
				t.Fatal(err)
			}
			if e.Metadata != nil && metadata != "" || !json.Valid(e.Content) {
				t.Errorf("%s and %s fold to %s", content, metadata, e.Content)
			}
			if e.Unfold(); string(e.Content) != content || string(e.Metadata) != metadata {
				t.Errorf("%s and %s became %s and %s", content, metadata, e.Content, e.Metadata)
			}
		}
	}
	for _, content := range []string{``, `[]`, `"x"`} {
		e := Entry{Content: json.RawMessage(content), Metadata: json.RawMessage(`{}`)}
		if err := e.Fold(); !IsCode(err, InvalidArgument) {
			t.Errorf("%q folds: %v", content, err)
		}
	}
	plain := Entry{Content: json.RawMessage(`{"parts":[]}`)}
	if plain.Unfold(); string(plain.Content) != `{"parts":[]}` || plain.Metadata != nil {
		t.Errorf("%s %s", plain.Content, plain.Metadata)
	}
}
