package perdure

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// CheckText refuses a text that cannot be stored in every kind of store: a text with a zero byte,
// which valid JSON may contain as \u0000, or with bytes that are not UTF-8. The error is
// invalid_argument and names the field.
func CheckText(field, text string) error {
	switch {
	case !utf8.ValidString(text):
		return FieldErrorf(field, "is not valid UTF-8")
	case strings.IndexByte(text, 0) >= 0:
		return FieldErrorf(field, "holds a zero byte")
	}
	return nil
}

// ValidText returns the text with U+FFFD in place of the bytes that CheckText refuses. It is for texts
// that must be stored even if they are invalid, such as error messages.
func ValidText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// ValidJSON returns raw with U+FFFD in place of each run of bytes that are not UTF-8. If there are
// none, it returns raw itself. It is for JSON that an older server stored.
func ValidJSON(raw []byte) []byte {
	if utf8.Valid(raw) {
		return raw
	}
	return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
}
