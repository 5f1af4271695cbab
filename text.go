package perdure

import (
	"bytes"
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

// ValidText returns a text that CheckText accepts: what it refuses is replaced by
// U+FFFD. It is for what has to be kept whatever it says, such as errors.
func ValidText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// ValidJSON returns JSON in which U+FFFD stands for each run of bytes that are not
// UTF-8: raw itself if there are none. It is for what an older server has stored.
func ValidJSON(raw []byte) []byte {
	if utf8.Valid(raw) {
		return raw
	}
	return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
}
