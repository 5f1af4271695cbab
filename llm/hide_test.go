package llm

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure"
	"pgregory.net/rapid"
)

const testKey = "sk-test-Q7_x+9/Zk3vB2nM8pL4wR6tY1uE5"

// writings returns the key, and three pieces of twelve characters of it, unchanged and in each
// encoding, by name.
func writings(key string) map[string]string {
	all := map[string]string{}
	for name, piece := range map[string]string{
		"whole": key, "begin": key[:hiddenPiece], "end": key[len(key)-hiddenPiece:], "middle": key[9 : 9+hiddenPiece],
	} {
		all[name] = piece
		all[name+", URL-encoded"] = url.QueryEscape(piece)
		all[name+", all percent"] = percent(piece, "%%%02X")
		all[name+", all percent, lower case"] = percent(piece, "%%%02x")
		all[name+", JSON escapes"] = percent(piece, `\u%04x`)
		all[name+", JSON escapes, upper case"] = percent(piece, `\u%04X`)
		all[name+", JSON escape of one"] = piece[:3] + percent(piece[3:4], `\u%04x`) + strings.ReplaceAll(piece[4:], "/", `\/`)
		all[name+", hex"] = hex.EncodeToString([]byte(piece))
		all[name+", HEX"] = strings.ToUpper(hex.EncodeToString([]byte(piece)))
		for before := range 3 {
			text := strings.Repeat("u", before) + piece + ":p"
			all[fmt.Sprintf("%s, base64 after %d", name, before)] = base64.StdEncoding.EncodeToString([]byte(text))
			all[fmt.Sprintf("%s, URL-safe base64 after %d", name, before)] = base64.RawURLEncoding.EncodeToString([]byte(text))
		}
	}
	return all
}

func percent(text, format string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, format, text[i])
	}
	return b.String()
}

// readable reports whether a text contains twelve consecutive characters of the key, unchanged or
// encoded. It decodes the text as hexadecimal and base64 from every offset, and shares no code
// with the hider.
func readable(text, key string) bool {
	decoded := []string{text}
	if plain, err := url.PathUnescape(text); err == nil {
		decoded = append(decoded, plain)
	}
	var said string
	if json.Unmarshal([]byte(`"`+text+`"`), &said) == nil {
		decoded = append(decoded, said)
	}
	for _, plain := range decoded[:len(decoded):len(decoded)] {
		for at := range len(plain) {
			rest := plain[at:]
			decoded = append(decoded, begin(rest, 2, "0123456789abcdefABCDEF", hex.DecodeString))
			standard := strings.NewReplacer("-", "+", "_", "/").Replace(rest)
			decoded = append(decoded, begin(standard, 4, base64Alphabet, base64.RawStdEncoding.DecodeString))
		}
	}
	for _, one := range decoded {
		for i := 0; i+hiddenPiece <= len(key); i++ {
			if strings.Contains(one, key[i:i+hiddenPiece]) {
				return true
			}
		}
	}
	return false
}

const base64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// begin decodes the longest prefix of a text that has only characters of the alphabet. It omits a
// last character that is the only one of its group.
func begin(text string, group int, alphabet string, decode func(string) ([]byte, error)) string {
	n := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune(alphabet, r) })
	if n < 0 {
		n = len(text)
	}
	if rest := n % group; rest == 1 {
		n--
	}
	raw, err := decode(text[:n])
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func TestAKeyIsHiddenHoweverItIsWritten(t *testing.T) {
	h := newHider(testKey)
	for name, text := range writings(testKey) {
		whole := "before " + text + " after"
		if !readable(whole, testKey) {
			t.Fatalf("%s: the test cannot read %q", name, whole)
		}
		got := h.hide(whole)
		if readable(got, testKey) || !strings.Contains(got, hiddenKey) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%s: %q became %q", name, whole, got)
		}
	}
}

// TestTextWithoutTheKeyIsUnchanged checks that hide returns texts without the key unchanged. It
// also checks that a word as the key is not hidden, and that a key of eight characters is.
func TestTextWithoutTheKeyIsUnchanged(t *testing.T) {
	h := newHider(testKey)
	for _, text := range []string{
		"", "%", "100%", "%4", "%zz %", `\`, `a\`, `\u`, `\u00`, `\u004`, `\u12345 \n\"\\`, `\ud83d\ude00`, `C:\users`, "plain ü 漢字 \U0001f600", testKey[:hiddenPiece-1], testKey[1:hiddenPiece] + " " + testKey[5:5+hiddenPiece-1],
		"\xff\xfe invalid", hex.EncodeToString([]byte(testKey[:hiddenPiece-1])), strings.Repeat("sk-test-", 1000), `{"a":"` + testKey[:6] + `"}`,
	} {
		if got := h.hide(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if newHider("none") != nil || newHider("none").hide("none") != "none" {
		t.Error("a word is taken for a key")
	}
	if got := newHider("sh0rtk3y").hide("a sh0rtk3y b"); got != "a [key] b" {
		t.Errorf("a short key: %q", got)
	}
}

// TestHidingDoesNotDependOnSplits checks that a text in random pieces has the same result as the
// whole text, and that the result does not contain the key. Between pieces, the hider withholds
// fewer than 48 characters.
func TestHidingDoesNotDependOnSplits(t *testing.T) {
	h := newHider(testKey)
	all := writings(testKey)
	names := rapid.SampledFrom(sorted(all))
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			text.WriteString(rapid.StringMatching(`[a-z %=ü-]{0,6}`).Draw(t, "between"))
			piece := all[names.Draw(t, "writing")]
			text.WriteString(piece[:rapid.IntRange(0, len(piece)).Draw(t, "length")])
		}
		whole := text.String()
		want := h.hide(whole)
		if readable(want, testKey) {
			t.Fatalf("%q became %q", whole, want)
		}
		one := h.fresh()
		var got strings.Builder
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			got.WriteString(one.piece(rest[:n]))
			rest = rest[n:]
			if len(one.plain.held)+len(one.percent.held)+len(one.json.held) >= 4*hiddenPiece {
				t.Fatalf("%d characters are held", len(one.plain.held)+len(one.percent.held)+len(one.json.held))
			}
		}
		got.WriteString(one.end())
		if got.String() != want {
			t.Fatalf("in pieces %q, whole %q", got.String(), want)
		}
	})
}

func sorted(all map[string]string) []string {
	var names []string
	for name := range all {
		names = append(names, name)
	}
	for i := range names {
		for j := i + 1; j < len(names); j++ {
			if names[j] < names[i] {
				names[i], names[j] = names[j], names[i]
			}
		}
	}
	return names
}

func FuzzHider(f *testing.F) {
	for _, text := range writings(testKey) {
		f.Add(text, uint8(3))
	}
	f.Add("%7%73k", uint8(1))
	h := newHider(testKey)
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		want, one, got := h.hide(text), h.fresh(), ""
		for rest := text; rest != ""; {
			n := min(int(size%7)+1, len(rest))
			got += one.piece(rest[:n])
			rest = rest[n:]
		}
		if got += one.end(); got != want {
			t.Fatalf("in pieces %q, whole %q", got, want)
		}
		if len(text) < 2000 && readable(want, testKey) {
			t.Fatalf("%q became %q", text, want)
		}
		if want != text && !strings.Contains(want, hiddenKey) {
			t.Fatalf("%q became %q", text, want)
		}
	})
}

// TestGuardedPiecesAreTheResponse checks that the parts of the response equal the folded deltas,
// and that neither contains the key. After a part's first delta, earlier parts receive only deltas
// of tool arguments and tool ends.
func TestGuardedPiecesAreTheResponse(t *testing.T) {
	half := len(testKey) / 2
	var got []Delta
	resp, err := Guarded(testKey, func(d Delta) error { got = append(got, d); return nil }, func(emit func(Delta) error) (*Response, error) {
		b := NewBuilder(emit)
		c := NewCalls(b, "test")
		for _, text := range []string{"thought ", testKey[:half], testKey[half:]} {
			_ = b.Thinking(text)
		}
		b.Sign("signed")
		for _, text := range []string{"said ", testKey[:half], testKey[half:], ", and ", testKey[:5]} {
			_ = b.Text(text)
		}
		one, _ := c.Start("read", testKey)
		two, _ := c.Start(testKey, "call_2")
		for _, text := range []string{`{"a":"`, testKey[:half]} {
			_ = c.Append(one, text)
			_ = c.Append(two, text)
		}
		_ = c.Append(one, testKey[half:]+`"}`)
		_ = c.Append(two, `"}`)
		_ = c.Finish()
		return b.Finish(Model{Provider: "test", ID: "m"}, perdure.StopEndTurn, perdure.Usage{Output: 1}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if readable(fmt.Sprintf("%+v %+v", got, resp), testKey) {
		t.Errorf("the key is in %+v or %+v", got, resp)
	}
	want := []perdure.Part{
		{Type: perdure.PartThinking, Thinking: "thought [key]"},
		{Type: perdure.PartText, Text: "said [key], and " + testKey[:5]},
		{Type: perdure.PartToolCall, Name: "read", ProviderID: "[key]", RawArguments: `{"a":"[key]"}`, Arguments: []byte(`{"a":"[key]"}`)},
		{Type: perdure.PartToolCall, Name: "[key]", ProviderID: "call_2", RawArguments: `{"a":"[key]"}`, Arguments: []byte(`{"a":"[key]"}`)},
	}
	if diff := cmp.Diff(want, resp.Parts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Fold(got), resp.Parts); diff != "" {
		t.Error(diff)
	}
	for i := 1; i < len(got); i++ {
		if got[i].Part < got[i-1].Part && got[i].Kind != DeltaToolArguments && got[i].Kind != DeltaToolEnd {
			t.Errorf("part %d goes on after part %d", got[i].Part, got[i-1].Part)
		}
	}
}

// TestGuardedReturnsTheErrorOfEmit checks that Guarded returns an error of emit, even if emit
// fails for text that Guarded emits only at the end.
func TestGuardedReturnsTheErrorOfEmit(t *testing.T) {
	broken := errors.New("no more")
	for fails := range 3 {
		n := 0
		emit := func(Delta) error {
			if n++; n > fails {
				return broken
			}
			return nil
		}
		_, err := Guarded(testKey, emit, func(emit func(Delta) error) (*Response, error) {
			b := NewBuilder(emit)
			for _, text := range []string{"a ", "b ", testKey[:4]} {
				if err := b.Text(text); err != nil {
					return nil, err
				}
			}
			return b.Finish(Model{}, perdure.StopEndTurn, perdure.Usage{Output: 1}, nil)
		})
		if !errors.Is(err, broken) {
			t.Errorf("after %d pieces: %v", fails, err)
		}
	}
}

func TestGuardedErrorsAndPanicsHoldNoKey(t *testing.T) {
	for name, text := range writings(testKey) {
		for _, err := range []error{
			errors.New(text), &Error{Kind: Auth, Message: text, Retryable: true}, &Error{Kind: Auth, Message: "no", Err: errors.New(text)},
			fmt.Errorf("around %w", &Error{Kind: Auth, Message: text}),
		} {
			_, got := Guarded(testKey, nil, func(func(Delta) error) (*Response, error) { return nil, err })
			for cause := got; cause != nil; cause = errors.Unwrap(cause) {
				if readable(fmt.Sprintf("%v %+v", cause, cause), testKey) {
					t.Errorf("%s: the error is %v", name, cause)
				}
			}
			var said, before *Error
			if errors.As(err, &before) && (!errors.As(got, &said) || said.Kind != before.Kind || said.Retryable != before.Retryable) {
				t.Errorf("%s: %v has become %v", name, err, got)
			}
		}
		func() {
			defer func() {
				if p := recover(); p == nil || readable(fmt.Sprint(p), testKey) {
					t.Errorf("%s: the panic is %v", name, p)
				}
			}()
			_, _ = Guarded(testKey, nil, func(func(Delta) error) (*Response, error) { panic("no: " + text) })
		}()
	}
}
