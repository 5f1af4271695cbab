// Package hide removes an API key from texts, in every encoding in which it may appear.
package hide

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// hiddenPiece is the minimum length, in characters, of a piece of a key that is hidden. Of a
// shorter key, only the whole key is hidden.
const hiddenPiece = 12

// hiddenKey is the text that replaces a key, or a part of it.
const hiddenKey = "[key]"

// Hider removes a key from a text that arrives in pieces of any size. It finds the key unchanged
// and in these encodings: URL, JSON escapes (RFC 8259), hexadecimal in either case, and base64 in
// either alphabet. In base64, the key may begin at any byte of a group of three. Hider also finds
// any 12 consecutive characters of the key, unchanged or in one of these encodings. The result does
// not depend on the sizes of the pieces.
type Hider struct {
	plain, percent, json pass
}

// pass searches a text for the API key. One pass reads the text unchanged, and each of the others
// decodes the escapes of one encoding. The pass over the unchanged text is needed: text before the
// key may look like the start of an escape, and a decoding pass then reads the first characters of
// the key as the rest of that escape.
type pass struct {
	forms []form
	// escape decodes the escape at the beginning of a text to the result `char`. The result n is
	// the length of the escape; 0 if the text begins with none. The result `unfinished` is true if
	// the text may be the beginning of an escape that is not complete yet. The field is nil for the
	// pass over the unchanged text.
	escape func(text string) (n int, char byte, unfinished bool)

	held   []unit // characters that may still become part of a match
	begun  string // the beginning of an escape
	inside bool   // whether the last returned unit was hidden
	hid    bool   // whether anything was hidden
}

// form is one encoding of the key.
type form struct {
	text   string
	window int // number of consecutive characters that are hidden
	as     func(byte) byte
	pairs  map[[2]byte]bool // pairs of adjacent bytes; a text without any of them has no match
}

// unit is a character of a text, decoded if it is an escape.
type unit struct {
	char   byte
	raw    string
	hidden bool
}

// New creates a Hider for the key. The key must not be an ordinary word, because Hide would then
// remove this word from ordinary texts (see llm.PlainKey).
func New(key string) *Hider { return hiderOf(formsOf(key)) }

func hiderOf(forms []form) *Hider {
	return &Hider{
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

// inBase64 returns the key as it appears inside a longer base64 text. The parameter `before` is the
// number of bytes (0 to 2) that precede the key in its first group of three bytes. Base64
// characters that depend also on bytes before or after the key are left out.
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

// standard converts a character of URL-safe base64 to standard base64.
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

// Fresh returns a new Hider for the same key and another text.
func (h *Hider) Fresh() *Hider { return hiderOf(h.plain.forms) }

// Hide returns the whole text without the key.
func (h *Hider) Hide(text string) string {
	one := h.Fresh()
	var b strings.Builder
	for len(text) > 0 {
		n := min(4<<10, len(text))
		b.WriteString(one.Piece(text[:n]))
		text = text[n:]
	}
	b.WriteString(one.End())
	return b.String()
}

// Shows reports whether a text contains something that Hide would remove.
func (h *Hider) Shows(text string) bool { return h.Hide(text) != text }

// Piece adds the next piece of a text. It returns the text that no earlier call has returned, without
// the key, up to the first character that may still become part of a match.
func (h *Hider) Piece(text string) string {
	return h.json.piece(h.percent.piece(h.plain.piece(text)))
}

// End returns the rest of the text, which Piece has withheld.
func (h *Hider) End() string {
	text := h.percent.piece(h.plain.end())
	text += h.percent.end()
	text = h.json.piece(text)
	return text + h.json.end()
}

// Hid reports whether anything was hidden so far.
func (h *Hider) Hid() bool { return h.plain.hid || h.percent.hid || h.json.hid }

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

// percentEscape decodes a percent-encoded character of a URL.
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

// jsonEscape decodes an escape in a JSON string. It ignores the escapes of characters that keys do
// not contain, such as those outside ASCII.
func jsonEscape(text string) (n int, char byte, unfinished bool) {
	switch {
	case text[0] != '\\':
		return 0, 0, false
	case len(text) == 1:
		return 0, 0, true
	case strings.IndexByte(`"\/`, text[1]) >= 0:
		return 2, text[1], false
	}
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

// fromHex returns the byte that two hexadecimal digits represent.
func fromHex(digits string) byte {
	decoded, _ := hex.DecodeString(digits) // the caller has checked the digits
	return decoded[0]
}

// take adds a character to the field `held`. If the character completes a match, take marks the
// characters of the match as hidden.
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

// holds reports whether the units occur, as consecutive characters, in the first bytes of the
// form's text. The parameter `first` is the number of these bytes.
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

// undecided returns the index, in the field `held`, of the first unit with which a match may still
// begin; len(p.held) if there is none. No match can begin with an earlier unit.
func (p *pass) undecided() int {
	for start := range p.held {
		if p.mayMatch(p.held[start:]) {
			return start
		}
	}
	return len(p.held)
}

// mayMatch reports whether a match can begin with the units.
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

// leave removes the first n units from the field `held`. It returns their text, with hiddenKey in
// place of each hidden sequence.
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
