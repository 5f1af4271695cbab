package perdure_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/perdure/perdure"
)

func TestDoubledKeysAreNamed(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a":1,"a":2}`:                          "body.a",
		`{"a":{"a":1},"b":[{"c":1},{"c":1}]}`:    "",
		`{"a":[1,{"b":[]},{"c":{},"c":null}]}`:   "body.a[2].c",
		`{"a":1,"\u0061":2}`:                     "body.a",
		`[{"x":"a","y":"a","z":["a","a"]},"a"]`:  "",
		`{"a":{"b":{"c":1,"d":2,"c":3}},"a":{}}`: "body.a.b.c",
		`{"a":1,"A":2}`:                          "",
		`{"a":1,`:                                "", // the decoder reports that it is not JSON
		``:                                       "",
		`]`:                                      "",
		`"a"`:                                    "",
	} {
		err := perdure.CheckNoDoubledKeys("body", []byte(raw))
		var e *perdure.Error
		if errors.As(err, &e) != (want != "") || want != "" && (e.Code != perdure.InvalidArgument || e.Fields[0].Location != want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
}

// TestDocumentsAreJSONInUTF8 checks that the scanner accepts a document exactly if it is UTF-8 and
// encoding/json accepts it. Documents are checked from memory, from a reader that returns one byte at
// a time, and with a worker's rules.
func TestDocumentsAreJSONInUTF8(t *testing.T) {
	for _, raw := range []string{
		"", " ", "null", "nul", "true ", "false,", "0", "-0.5e+10", "01", "-", "1.", "1e", `"a\u00e9\n"`, `"\x"`, `"\u12g4"`,
		"\"\n\"", "\"\xff\"", "\"\xc3\"", "\"\xc3\xa9\"", "\"\xed\xa0\x80\"", "\"\xf0\x9f\x98\x80\"", "\"\xe2\x82\"", "\"\xef\xbf\xbd\"", "\"a\x00\"",
		"[]", "[1,]", "[,1]", "[1 2]", "[1,2", "{}", `{"a"}`, `{"a":1,}`, `{"a":1 "b":2}`, `{a:1}`, `{"a":[{"b":{}}]}`, "[] []", "\xff",
		`[[[[]]]]`, `{"\"":1}`, "{\"\xff\":1}", `"\ud800"`, "]", "[}", "{]",
	} {
		want := json.Valid([]byte(raw)) && utf8.ValidString(raw)
		for name, err := range map[string]error{
			"whole":      perdure.CheckDocumentBytes("value", []byte(raw), perdure.DocumentRules{}),
			"in bytes":   perdure.CheckDocument("value", iotest.OneByteReader(strings.NewReader(raw)), perdure.DocumentRules{}),
			"a worker's": perdure.CheckDocumentBytes("value", []byte(raw), perdure.DocumentRules{Workers: true}),
		} {
			if (err == nil) != want || err != nil && !perdure.IsCode(err, perdure.InvalidArgument) {
				t.Errorf("%q %s: %v, want taken: %t", raw, name, err, want)
			}
		}
	}
}

func FuzzDocument(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"\u00e9",null]}`, "\"\xc3\"", "[1,2", `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := perdure.CheckDocument("", bytes.NewReader(raw), perdure.DocumentRules{Workers: true})
		if want := json.Valid(raw) && utf8.Valid(raw); (err == nil) != want {
			t.Errorf("%q: %v, want taken: %t", raw, err, want)
		}
	})
}

// TestDocumentsAreBounded checks that a document that breaks a rule is refused with the location of
// the error. A document at the limit passes.
func TestDocumentsAreBounded(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	keys := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"k%d":0`, i)
		}
		return "{" + strings.TrimPrefix(b.String(), ",") + "}"
	}
	parts := func(n int) string { return "[" + strings.TrimPrefix(strings.Repeat(",0", n), ",") + "]" }
	message := perdure.DocumentRules{Arrays: perdure.MessageParts}
	for _, c := range []struct {
		name, raw string
		rules     perdure.DocumentRules
		at        string // location of the error; "" if the document is accepted
	}{
		{"nested", nested(perdure.MaxNesting), message, ""},
		{"nested over", nested(perdure.MaxNesting + 1), message, "v"},
		{"a worker's nested", nested(perdure.MaxNesting + 1), perdure.DocumentRules{Workers: true}, ""},
		{"keys", keys(perdure.MaxKeys), message, ""},
		{"keys over", keys(perdure.MaxKeys + 1), message, "v"},
		{"keys of the objects around", `{"a":` + keys(perdure.MaxKeys) + `}`, message, "v"},
		{"keys one after another", `[` + keys(perdure.MaxKeys) + `,` + keys(perdure.MaxKeys) + `]`, message, ""},
		{"a worker's keys", keys(perdure.MaxKeys + 1), perdure.DocumentRules{Workers: true}, ""},
		{"a long key", `{"` + strings.Repeat("k", perdure.MaxKeyBytes+1) + `":1}`, message, "v"},
		{"values", parts(9), perdure.DocumentRules{Values: 10}, ""},
		{"values over", parts(10), perdure.DocumentRules{Values: 10}, "v"},
		{"parts", `{"parts":` + parts(perdure.MaxParts) + `}`, message, ""},
		{"parts over", `{"parts":` + parts(perdure.MaxParts+1) + `}`, message, "v.parts"},
		{"parts in another case", `{"PARTſ":` + parts(perdure.MaxParts+1) + `}`, message, "v.PARTſ"},
		{"parts of a result", `{"parts":[1,{"parts":` + parts(perdure.MaxParts+1) + `}]}`, message, "v.parts[1].parts"},
		{"parts of arguments", `{"parts":[{"arguments":{"parts":` + parts(perdure.MaxParts+1) + `}}]}`, message, ""},
		{"doubled in what is opaque", `{"a":{"b":[{"c":1,"c":2}]}}`, perdure.DocumentRules{Opaque: []string{"a"}}, ""},
		{"doubled beside what is opaque", `{"a":{"b":1},"a":{"b":2}}`, perdure.DocumentRules{Opaque: []string{"a"}}, "v.a"},
		{"bytes in a member", "{\"a\":[{\"b\":\"\xff\"}]}", message, "v.a[0].b"},
	} {
		err := perdure.CheckDocument("v", strings.NewReader(c.raw), c.rules)
		var e *perdure.Error
		if errors.As(err, &e) != (c.at != "") || c.at != "" && e.Fields[0].Location != c.at {
			t.Errorf("%s: %v, want an error at %q", c.name, err, c.at)
		}
	}
}

// TestADocumentThatCannotBeReadIsNotJudged checks that an error of the reader is returned as it is,
// without the code invalid_argument.
func TestADocumentThatCannotBeReadIsNotJudged(t *testing.T) {
	broken := errors.New("broken")
	err := perdure.CheckDocument("v", io.MultiReader(strings.NewReader(`{"a":`), iotest.ErrReader(broken)), perdure.DocumentRules{})
	if !errors.Is(err, broken) || perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("the error is %v", err)
	}
}

// TestCheckingADocumentTakesConstantMemory checks that the number of allocations of a check does not
// grow with the length of the text.
func TestCheckingADocumentTakesConstantMemory(t *testing.T) {
	costs := func(elements int) float64 {
		raw := "[" + strings.Repeat(`{"type":"text","text":""},`, elements) + `"` + strings.Repeat("x", elements) + `"]`
		return testing.AllocsPerRun(3, func() {
			if err := perdure.CheckDocument("v", strings.NewReader(raw), perdure.DocumentRules{Workers: true}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if small, large := costs(10), costs(100_000); large > small {
		t.Errorf("%v allocations became %v", small, large)
	}
}
