package perdure

import (
	"strings"
	"unicode/utf8"
)

// CheckText refuses a text that not every store can keep: one with bytes that are
// no UTF-8, or with a zero byte. JSON may hold both, escaped. Error:
// invalid_argument, which names the field.
func CheckText(field, text string) error {
	switch {
	case !utf8.ValidString(text):
		return FieldErrorf(field, "is not valid UTF-8")
	case strings.IndexByte(text, 0) >= 0:
		return FieldErrorf(field, "holds a zero byte")
	}
	return nil
}

// ValidText gives a text that CheckText accepts: what it refuses is replaced by
// U+FFFD. It is for what has to be kept whatever it says, such as errors.
func ValidText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
