package durablestream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestJSONIsCutAtItsMessages(t *testing.T) {
	long := `"` + strings.Repeat("x", rowBytes) + `"`
	for body, want := range map[string]string{
		`{"a": 1.50}`:               `[{"a":1.50}]`,
		` [1, [2, 3], [], "a\nb"] `: `[1,[2,3],[],"a\nb"]`,
		`[[[1,2,3]]]`:               `[[[1,2,3]]]`,
		`[]`:                        `[]`,
		"\n[\n]\n":                  `[]`,
		`null`:                      `[null]`,
		`[null]`:                    `[null]`,
		`12345678901234567890.1`:    `[12345678901234567890.1]`,
		"\"\u2028<&\"":              "[\"\u2028<&\"]",
		"[" + long + ",1," + long + "," + long + ",2,3]": "[" + long + ",1," + long + "," + long + ",2,3]",
	} {
		rows, err := cutJSON([]byte(body))
		if err != nil {
			t.Errorf("%.40s: %v", body, err)
		}
		if got := string(array(rows)); got != want {
			t.Errorf("%.40s becomes %.60s", body, got)
		}
		for _, row := range rows {
			if !json.Valid(array([][]byte{row})) || bytes.ContainsAny(row, "\r\n") || len(row) > rowBytes && bytes.Contains(row, []byte(",")) {
				t.Errorf("%.40s has the row %.60s of %d bytes", body, row, len(row))
			}
		}
	}
	for _, body := range []string{`{`, `[1,]`, `1 2`, `nul`, ``, " ", "\"\xff\"", `[1] [2]`} {
		if rows, err := cutJSON([]byte(body)); err == nil {
			t.Errorf("%q is taken as %s", body, rows)
		}
	}
}

// TestUnfinishedCharacterIsHeldBack checks the function `unfinished` with a text that is cut at
// every byte. The result must be the length of the incomplete character at the end, or 0.
func TestUnfinishedCharacterIsHeldBack(t *testing.T) {
	const text = "aé€😀\xffz\xf0\x9f"
	for a := range len(text) + 1 {
		n := unfinished([]byte(text[:a]))
		if n > 3 || n > a {
			t.Fatalf("%d bytes of %q are unfinished", n, text[:a])
		}
		held := text[a-n : a]
		if n > 0 && (utf8.FullRuneInString(held) || !utf8.RuneStart(held[0])) {
			t.Errorf("%q is held back of %q", held, text[:a])
		}
		if n == 0 && a > 0 && !utf8.FullRuneInString(text[lastStart(text[:a]):a]) {
			t.Errorf("%q ends inside a character", text[:a])
		}
	}
}

func lastStart(text string) int {
	for i := len(text) - 1; i > 0; i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return 0
}

func TestContentTypesCompareWithoutParameters(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"text/plain", "TEXT/Plain; charset=utf-8", true}, {"application/json", "application/json;charset=utf-8", true}, {"text/plain", "text/html", false},
	} {
		if sameType(c.a, c.b) != c.same {
			t.Errorf("%s and %s", c.a, c.b)
		}
	}
	for contentType, want := range map[string]string{
		"application/json; charset=utf-8": "true true", "text/csv": "false true", "application/x-protobuf": "false false", "application/ndjson": "false false",
	} {
		if got := fmt.Sprint(isJSON(contentType), isText(contentType)); got != want {
			t.Errorf("%s is %s", contentType, got)
		}
	}
}
