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

// rowBytes is about how much one row of content holds. A message of JSON is
// never cut.
const rowBytes = perdure.BlobChunk

// mediaType is a content type without its parameters, in lower case: what
// compares.
func mediaType(contentType string) string {
	plain, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) || !strings.Contains(plain, "/") {
		return ""
	}
	return plain
}

func sameType(a, b string) bool { return mediaType(a) == mediaType(b) }

func isJSON(contentType string) bool { return mediaType(contentType) == "application/json" }

// isText reports whether the content is text that events carry as it is.
func isText(contentType string) bool {
	return isJSON(contentType) || strings.HasPrefix(mediaType(contentType), "text/")
}

// cut makes rows of bytes.
func cut(content []byte) (rows [][]byte) {
	for len(content) > 0 {
		n := min(len(content), rowBytes)
		rows = append(rows, content[:n])
		content = content[n:]
	}
	return rows
}

// cutJSON makes rows of messages: the elements of an array, or one value. A row
// is messages with commas between, so that rows joined by commas are an array's
// inside. Line ends between tokens go. Error: invalid_argument.
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

// array is rows of messages as one JSON array.
func array(rows [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(rows, []byte{','})...), ']')
}

// unfinished is how many bytes at the end of a text begin a character whose rest
// is still to come.
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
