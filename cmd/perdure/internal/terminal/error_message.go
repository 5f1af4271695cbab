package terminal

import (
	"errors"
	"strings"

	"github.com/perdure/perdure"
)

// ErrorMessage returns the text of an error without the code at its beginning, because the message
// says the same in words.
func ErrorMessage(err error) string {
	var coded *perdure.Error
	if !errors.As(err, &coded) {
		return err.Error()
	}
	text := coded.Message
	if coded.Err != nil {
		text += ": " + coded.Err.Error()
	}
	return text
}

// withoutCode removes the code at the beginning of an error's text.
func withoutCode(text string) string {
	code, rest, ok := strings.Cut(text, ": ")
	if ok && strings.Contains(code, "_") && !strings.Contains(code, " ") {
		return rest
	}
	return text
}
