package perdure_test

import (
	"errors"
	"testing"

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
		`{"a":1,`:                                "", // the decoder says that it is no JSON
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
