package llmtest

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/perdure/perdure/llm"
)

// Echoes returns the forms in which a server may repeat a key, or twelve of its characters.
func Echoes(key string) []string {
	var all []string
	for _, piece := range []string{key, key[:12], key[len(key)-12:], key[3:15]} {
		all = append(all, piece, url.QueryEscape(piece), percentEncoded(piece), hex.EncodeToString([]byte(piece)), strings.ToUpper(hex.EncodeToString([]byte(piece))))
		for before := range 3 {
			text := []byte("user"[:before+1] + piece + ":none")
			all = append(all, base64.StdEncoding.EncodeToString(text), base64.RawURLEncoding.EncodeToString(text))
		}
	}
	return all
}

func percentEncoded(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, "%%%02x", text[i])
	}
	return b.String()
}

// Tells returns the form of the key that the text contains; "" if it contains none. A base64 form
// is searched without its first and last characters, because these depend on adjacent bytes.
func Tells(text, key string) string {
	for _, echo := range Echoes(key) {
		inner := strings.TrimRight(echo, "=")
		if len(inner) > 15 && inner != key {
			inner = inner[2 : len(inner)-2]
		}
		if strings.Contains(text, inner) {
			return echo
		}
	}
	return ""
}

// testEchoedKey uses a server that repeats a key, or a part of the key, in each of the forms of
// Echoes. It checks that responses and errors contain neither the key nor the part.
func testEchoedKey(t *testing.T, r Remote) {
	for _, echo := range Echoes(Secret) {
		said := "it was " + echo + " then"
		p, _ := r.Serve(
			t,
			Answer{Thinking: said, Signature: "c2lnbmVk", Text: strings.Split(said, ""), Calls: []Call{{ID: "call_1", Name: "read", Arguments: `{"path":"` + echo + `"}`}}},
			Answer{Status: 400, Body: `{"type":"error","error":{"type":"invalid_request_error","message":"` + said + `"}}`},
			Answer{Text: []string{"half"}, Event: `{"type":"error","error":{"type":"some_error","message":"` + said + `"}}`},
		)
		resp, deltas := Ask(t, p, r.request())
		if got := fmt.Sprintf("%s %+v", textOf(deltas), resp); Tells(got, Secret) != "" || !strings.Contains(got, "[key]") {
			t.Errorf("%s is in %s", echo, got)
		}
		for range 2 {
			if _, _, err := TryAsk(t.Context(), p, r.request()); err == nil || Tells(fmt.Sprintf("%v %+v", err, err), Secret) != "" {
				t.Errorf("%s is in the error %v", echo, err)
			}
		}
	}
}

func textOf(deltas []llm.Delta) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(d.Text)
	}
	return b.String()
}
