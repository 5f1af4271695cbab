// Package hidetest writes a key in every encoding, and finds a key in texts. Only tests use it.
package hidetest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// Key is a key for tests.
const Key = "sk-test-Q7_x+9/Zk3vB2nM8pL4wR6tY1uE5"

// window is the number of consecutive characters of a key that must not be readable.
const window = 12

// Writings returns the forms in which a key can appear in a text. These are the whole key and three
// of its pieces of twelve characters, each unchanged and in every encoding. The keys of the map are
// names of the forms.
func Writings(key string) map[string]string {
	all := map[string]string{}
	for name, piece := range map[string]string{
		"whole": key, "begin": key[:window], "end": key[len(key)-window:], "middle": key[9 : 9+window],
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

// Readable reports whether a text contains twelve consecutive characters of the key, unchanged or
// encoded. It decodes the text as hexadecimal and base64 from every offset, and shares no code
// with package hide.
func Readable(text, key string) bool {
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
		for i := 0; i+window <= len(key); i++ {
			if strings.Contains(one, key[i:i+window]) {
				return true
			}
		}
	}
	return false
}

const base64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// begin decodes the longest prefix of a text that consists of characters of the alphabet. The
// parameter `group` is the number of characters that are decoded together. A last group of only one
// character is omitted.
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
