package perdure

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestFoldedMetadataComesBack checks that ExtractMetadata restores the content and metadata that
// EmbedMetadata has combined, byte for byte. EmbedMetadata refuses content that is no object.
func TestFoldedMetadataComesBack(t *testing.T) {
	for _, content := range []string{`{}`, `{ }`, `{"parts":[]}`, `{"parts": [{"type":"text","text":"a}b"}], "x": 1 }`} {
		for _, metadata := range []string{``, `{}`, `{"a":{"b":"}"}}`, `null`, `[1, 2]`} {
			e := Entry{Content: json.RawMessage(content), Metadata: json.RawMessage(metadata)}
			if err := e.EmbedMetadata(); err != nil {
				t.Fatal(err)
			}
			if e.Metadata != nil && metadata != "" || !json.Valid(e.Content) {
				t.Errorf("%s and %s fold to %s", content, metadata, e.Content)
			}
			if e.ExtractMetadata(); string(e.Content) != content || string(e.Metadata) != metadata {
				t.Errorf("%s and %s became %s and %s", content, metadata, e.Content, e.Metadata)
			}
		}
	}
	for _, content := range []string{``, `[]`, `"x"`} {
		e := Entry{Content: json.RawMessage(content), Metadata: json.RawMessage(`{}`)}
		if err := e.EmbedMetadata(); !IsCode(err, InvalidArgument) {
			t.Errorf("%q folds: %v", content, err)
		}
	}
	plain := Entry{Content: json.RawMessage(`{"parts":[]}`)}
	if plain.ExtractMetadata(); string(plain.Content) != `{"parts":[]}` || plain.Metadata != nil {
		t.Errorf("%s %s", plain.Content, plain.Metadata)
	}
}

// TestExtractMetadataFromEqualsExtractMetadata checks that ExtractMetadataFrom has the same result as
// ExtractMetadata. If the reader fails, the content before the error is passed on, and then the
// error. Metadata over 1 MiB is an internal error.
func TestExtractMetadataFromEqualsExtractMetadata(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	for _, e := range []Entry{
		{Content: json.RawMessage(`{}`)},
		{Content: json.RawMessage(``)},
		{Content: json.RawMessage(`{"metadata":{"a":1}}`)},
		{Content: json.RawMessage(`{"metadata":{"a":[1,"}"]},"parts":[]}`)},
		{Content: json.RawMessage(`{"metadata":{"a":1},"parts":["` + large + `"]}`)},
		{Content: json.RawMessage(`{"metadata":{"a":1},"parts":[]}`), Metadata: json.RawMessage(`{}`)},
	} {
		want, got := e, e
		want.ExtractMetadata()
		rest, err := got.ExtractMetadataFrom(iotest.HalfReader(bytes.NewReader(e.Content)))
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(rest)
		if err != nil || !bytes.Equal(content, want.Content) || !bytes.Equal(got.Metadata, want.Metadata) {
			t.Errorf("%.50s became %.50s with %s, want %.50s with %s; %v", e.Content, content, got.Metadata, want.Content, want.Metadata, err)
		}
	}
	broken := errors.New("broken")
	var e Entry
	source := io.MultiReader(strings.NewReader(`{"metadata":{"a":1},"parts":["`+large), iotest.ErrReader(broken))
	rest, err := e.ExtractMetadataFrom(source)
	if err != nil || string(e.Metadata) != `{"a":1}` {
		t.Fatalf("what breaks later gives %s, %v", e.Metadata, err)
	}
	if n, err := io.Copy(io.Discard, rest); !errors.Is(err, broken) || n < int64(len(large)) {
		t.Errorf("%d bytes, then %v", n, err)
	}
	e = Entry{}
	if _, err := e.ExtractMetadataFrom(strings.NewReader(`{"metadata":{"a":"` + large + large + `"}}`)); !IsCode(err, Internal) {
		t.Errorf("a metadata without end gives %v", err)
	}
}
