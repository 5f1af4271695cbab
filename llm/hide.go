package llm

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// shortestKey is the length, in bytes, from which a key is looked for: a local
// server's key may be a word like "none".
const shortestKey = 8

// hiddenPiece is how many characters of a key in a row are hidden; a key that is
// shorter is hidden as a whole.
const hiddenPiece = 12

// hiddenKey is what stands in the place of a key, or of a piece of one.
const hiddenKey = "[key]"

// hider takes a key out of a text, in whatever pieces the text comes: the key itself,
// URL-encoded, with escapes of JSON (RFC 8259), hexadecimal in either case, or base64 in either alphabet and wherever in
// a group of three bytes the key begins; and any 12 characters of the key in a row,
// written in these ways. What is hidden does not depend on how the text is cut.
type hider struct {
	plain, percent, json pass
}

// pass is one reading of a text: as it stands, or with escapes decoded. All are
// needed, since what begins an escape may stand before a key by chance.
type pass struct {
	forms []form
	// escape reads the escape that a text begins with: its length, 0 for none, and
	// what it stands for. unfinished is set if more of the text has to be seen. It is
	// nil for a text as it stands.
	escape func(text string) (n int, char byte, unfinished bool)

	held   []unit // what may still become part of a match
	begun  string // the begin of an escape
	inside bool   // the last unit that left was hidden
	hid    bool   // anything was
}

// form is one way to write a key.
type form struct {
	text   string
	window int // how many characters in a row give it away
	as     func(byte) byte
	pairs  map[[2]byte]bool // of neighbours in text: what has none of them is no match
}

// unit is a character of a text, decoded if it stands there as an escape.
type unit struct {
	char   byte
	raw    string
	hidden bool
}

// newHider returns nil for a key that is not looked for ([PlainKey]).
func newHider(key string) *hider {
	if PlainKey(key) {
		return nil
	}
	return hiderOf(formsOf(key))
}

func hiderOf(forms []form) *hider {
	return &hider{
		plain: pass{forms: forms}, percent: pass{forms: forms, escape: percentEscape}, json: pass{forms: forms, escape: jsonEscape},
	}
}

func formsOf(key string) []form {
	piece := min(hiddenPiece, len(key))
	forms := []form{formOf(key, piece, same), formOf(hex.EncodeToString([]byte(key)), 2*piece, lower)}
	for before := range 3 {
		text := inBase64(key, before)
		forms = append(forms, formOf(text, min(8*piece/6-1, len(text)), standard))
	}
	return forms
}

// inBase64 returns the characters that a key alone determines where so many bytes
// stand before it in its group of three.
func inBase64(key string, before int) string {
	text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + key))
	bits := 8 * (before + len(key))
	return text[(8*before+5)/6 : bits/6]
}

func same(c byte) byte { return c }

func lower(c byte) byte {
	if c >= 'A' && c <= 'F' {
		return c + 'a' - 'A'
	}
	return c
}

// standard maps the URL-safe alphabet of base64 to the other.
func standard(c byte) byte {
	switch c {
	case '-':
		return '+'
	case '_':
		return '/'
	}
	return c
}

func formOf(text string, window int, as func(byte) byte) form {
	f := form{text: text, window: window, as: as, pairs: map[[2]byte]bool{}}
	for i := range len(text) - 1 {
		f.pairs[[2]byte{text[i], text[i+1]}] = true
	}
	return f
}

// fresh returns a hider for another text.
func (h *hider) fresh() *hider { return hiderOf(h.plain.forms) }

// hide takes the key out of a text that is whole.
func (h *hider) hide(text string) string {
	if h == nil {
		return text
	}
	one := h.fresh()
	var b strings.Builder
	for len(text) > 0 {
		n := min(4<<10, len(text))
		b.WriteString(one.piece(text[:n]))
		text = text[n:]
	}
	b.WriteString(one.end())
	return b.String()
}

// shows reports whether the key is in a text.
func (h *hider) shows(text string) bool { return h != nil && h.hide(text) != text }

// piece takes in the next piece of a text and returns what of it, and of what was held
// before, can be no part of the key any more.
func (h *hider) piece(text string) string {
	return h.json.piece(h.percent.piece(h.plain.piece(text)))
}

// end returns what was held: nothing follows it.
func (h *hider) end() string {
	text := h.percent.piece(h.plain.end())
	text += h.percent.end()
	text = h.json.piece(text)
	return text + h.json.end()
}

// hid reports whether anything was hidden.
func (h *hider) hid() bool { return h.plain.hid || h.percent.hid || h.json.hid }

func (p *pass) piece(text string) string {
	p.read(p.begun + text)
	return p.leave(p.undecided())
}

func (p *pass) end() string {
	rest := p.begun
	p.begun = ""
	for i := range len(rest) {
		p.take(rest[i], rest[i:i+1])
	}
	return p.leave(len(p.held))
}

func (p *pass) read(text string) {
	p.begun = ""
	for text != "" {
		n, char := 1, text[0]
		if p.escape != nil {
			size, stands, unfinished := p.escape(text)
			if unfinished {
				p.begun = text
				return
			}
			if size > 0 {
				n, char = size, stands
			}
		}
		p.take(char, text[:n])
		text = text[n:]
	}
}

// percentEscape reads an escape of a URL.
func percentEscape(text string) (n int, char byte, unfinished bool) {
	if text[0] != '%' {
		return 0, 0, false
	}
	digits := text[1:min(3, len(text))]
	if !isHex(digits) {
		return 0, 0, false
	}
	if len(digits) < 2 {
		return 0, 0, true
	}
	return 3, fromHex(digits), false
}

// jsonEscape reads an escape of a string of JSON. One that stands for more than a
// byte is none: keys have no such characters.
func jsonEscape(text string) (n int, char byte, unfinished bool) {
	switch {
	case text[0] != '\\':
		return 0, 0, false
	case len(text) == 1:
		return 0, 0, true
	case strings.IndexByte(`"\/`, text[1]) >= 0:
		return 2, text[1], false
	}
	// The high half is 00; the low one is a character of ASCII.
	const high = "u00"
	digits := text[1:min(6, len(text))]
	if begin := min(len(digits), len(high)); digits[:begin] != high[:begin] || !isHex(digits[begin:]) {
		return 0, 0, false
	}
	if len(digits) < 5 {
		return 0, 0, true
	}
	return 6, fromHex(digits[3:]), false
}

func isHex(digits string) bool { return strings.Trim(digits, "0123456789abcdefABCDEF") == "" }

// fromHex returns the byte that two digits stand for.
func fromHex(digits string) byte {
	decoded, _ := hex.DecodeString(digits) // they have been looked at
	return decoded[0]
}

// take adds a character, and marks what it completes.
func (p *pass) take(char byte, raw string) {
	p.held = append(p.held, unit{char: char, raw: raw})
	for _, f := range p.forms {
		if n := len(p.held) - f.window; n >= 0 && f.holds(p.held[n:], len(f.text)) {
			for i := n; i < len(p.held); i++ {
				p.held[i].hidden = true
			}
		}
	}
}

// holds reports whether the units stand in a row in the first characters of the form.
func (f form) holds(units []unit, first int) bool {
	last := len(units) - 1
	if last > 0 && !f.pairs[[2]byte{f.as(units[last-1].char), f.as(units[last].char)}] {
		return false
	}
	var text [64]byte
	return strings.Contains(f.text[:first], string(f.written(text[:0], units)))
}

func (f form) written(to []byte, units []unit) []byte {
	for _, u := range units {
		to = append(to, f.as(u.char))
	}
	return to
}

// undecided returns how many units from the start no match can reach any more.
func (p *pass) undecided() int {
	for start := range p.held {
		if p.mayMatch(p.held[start:]) {
			return start
		}
	}
	return len(p.held)
}

// mayMatch reports whether the units are the begin of what would be hidden.
func (p *pass) mayMatch(units []unit) bool {
	if raw := units[0].raw; len(raw) == 1 && !utf8.RuneStart(raw[0]) {
		return false
	}
	for _, f := range p.forms {
		if n := len(units); n < f.window && f.holds(units, len(f.text)-f.window+n) {
			return true
		}
	}
	return false
}

// leave lets the first units go.
func (p *pass) leave(n int) string {
	var b strings.Builder
	for _, u := range p.held[:n] {
		switch {
		case !u.hidden:
			b.WriteString(u.raw)
		case !p.inside:
			b.WriteString(hiddenKey)
			p.hid = true
		}
		p.inside = u.hidden
	}
	p.held = append(p.held[:0], p.held[n:]...)
	return b.String()
}
