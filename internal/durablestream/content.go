package durablestream

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure"
)

// rowBytes is the approximate size in bytes of one row of the store. A stream's content is stored
// in such rows. A JSON message is never split between rows.
const rowBytes = perdure.BlobChunk

// mediaType returns a content type without its parameters, in lower case, for comparison.
func mediaType(contentType string) string {
	plain, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) || !strings.Contains(plain, "/") {
		return ""
	}
	return plain
}

func sameType(a, b string) bool { return mediaType(a) == mediaType(b) }

func isJSON(contentType string) bool { return mediaType(contentType) == "application/json" }

// isText reports whether content of the type is text. Server-sent events carry text as it is, and
// other content as base64.
func isText(contentType string) bool {
	return isJSON(contentType) || strings.HasPrefix(mediaType(contentType), "text/")
}

// cut splits content into rows of at most rowBytes.
func cut(content []byte) (rows [][]byte) {
	for len(content) > 0 {
		n := min(len(content), rowBytes)
		rows = append(rows, content[:n])
		content = content[n:]
	}
	return rows
}

// cutJSON splits a JSON body into rows of messages. If the body is an array, its elements are the
// messages; any other body is one message. The messages of a row are separated by commas. The rows
// joined by commas are therefore the elements of one JSON array. White space between tokens is
// removed. Errors: invalid_argument.
func cutJSON(content []byte) (rows [][]byte, err error) {
	if !utf8.Valid(content) || !json.Valid(content) {
		return nil, perdure.FieldErrorf("body", "is not JSON, which the content type says it is")
	}
	messages := []json.RawMessage{content}
	if bytes.HasPrefix(bytes.TrimLeft(content, " \t\r\n"), []byte("[")) {
		messages = nil
		if err := json.Unmarshal(content, &messages); err != nil {
			return nil, perdure.FieldErrorf("body", "is not JSON: %v", err)
		}
	}
	var row bytes.Buffer
	for _, m := range messages {
		if row.Len() > 0 && row.Len()+len(m) >= rowBytes {
			rows = append(rows, bytes.Clone(row.Bytes()))
			row.Reset()
		}
		if row.Len() > 0 {
			row.WriteByte(',')
		}
		if err := json.Compact(&row, m); err != nil {
			return nil, perdure.FieldErrorf("body", "is not JSON: %v", err)
		}
	}
	if row.Len() > 0 {
		rows = append(rows, bytes.Clone(row.Bytes()))
	}
	return rows, nil
}

// array returns the JSON array of all messages in the rows.
func array(rows [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(rows, []byte{','})...), ']')
}

// unfinished returns the number of bytes at the end of a text that are the start of an incomplete
// UTF-8 character; 0 if the last character is complete.
func unfinished(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}
