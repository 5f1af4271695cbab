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

// rowBytes is the approximate size of one row of content. A JSON message is never split.
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

// isText reports whether the content is text, which events carry unencoded.
func isText(contentType string) bool {
	return isJSON(contentType) || strings.HasPrefix(mediaType(contentType), "text/")
}

// cut splits bytes into rows.
func cut(content []byte) (rows [][]byte) {
	for len(content) > 0 {
		n := min(len(content), rowBytes)
		rows = append(rows, content[:n])
		content = content[n:]
	}
	return rows
}

// cutJSON splits a JSON body into rows of messages: the elements of an array, or one value. The
// messages of a row are joined by commas, so that rows joined by commas are the inside of an array.
// Line ends between tokens are removed. Errors: invalid_argument.
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

// array joins rows of messages to a JSON array.
func array(rows [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(rows, []byte{','})...), ']')
}

// unfinished returns the number of bytes at the end of a text that begin an incomplete character.
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
