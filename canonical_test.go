package perdure

import (
	"bytes"
	"testing"

	"github.com/gowebpki/jcs"
)

// FuzzPlainCanonical checks plainCanonical. If it accepts an input, its result equals that of
// package jcs, and the input has no number that checkNumbers refuses.
func FuzzPlainCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"b":1, "a" : [ true , {"z":null,"y":"x\n\"\\\t"} ], "aa":-12, "":{} }`, `[]`, ` 0 `, `-0`, `01`, `[1,]`, `{"a":1,"a":2}`, `{"a":1,}`,
		`[123456789012345,999999999999999]`, `[1234567890123456]`, `1.0`, `1e3`, `"é"`, `"\u0041"`, `"\/"`, `{"\n":1}`, `"` + "\x7f" + `"`, `tru`, ``, `[[[]]]`,
		`{"a":{"d":1,"c":2},"A":0}`, `1 2`, `nullx`, `-`, `"a`, `{"a"1}`, `{"a":`, "\"\x00\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		got, ok := plainCanonical(input)
		if !ok {
			return
		}
		if want, err := jcs.Transform(input); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q becomes %q, want %q, %v", input, got, want, err)
		}
		if err := checkNumbers(input); err != nil {
			t.Errorf("%q: %v", input, err)
		}
	})
}

// TestPlainInputsAreTakenAsPlain checks that plainCanonical accepts typical inputs of tasks, and
// refuses an array that is nested a million times.
func TestPlainInputsAreTakenAsPlain(t *testing.T) {
	for input, want := range map[string]string{
		`{"pattern":"*.go","path":"a b/c"}`:                          `{"path":"a b/c","pattern":"*.go"}`,
		`{"command":"go test ./...\n","timeout":120}`:                `{"command":"go test ./...\n","timeout":120}`,
		`{"turn":3,"try":0,"model":{"provider":"p","modelId":"m"}}`:  `{"model":{"modelId":"m","provider":"p"},"try":0,"turn":3}`,
		`{"c":[{"b":1,"a":2},{"y":{"2":[],"1":{}},"x":0}],"b":true}`: `{"b":true,"c":[{"a":2,"b":1},{"x":0,"y":{"1":{},"2":[]}}]}`,
		`7`: `7`,
	} {
		if got, ok := plainCanonical([]byte(input)); !ok || string(got) != want {
			t.Errorf("%s becomes %s, %t; want %s", input, got, ok, want)
		}
	}
	deep := bytes.Repeat([]byte("["), 1<<20)
	if _, ok := plainCanonical(deep); ok {
		t.Error("what is nested without end is taken")
	}
}
