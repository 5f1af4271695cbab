package operation

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/danielgtaylor/huma/v2"
	"github.com/perdure/perdure"
)

// bodyValues is the maximum number of JSON values in a request body. It limits the memory for the
// decoded body.
const bodyValues = 1_000_000

// bodyRules are the limits of every request body. Arrays limits the parts of messages, which only
// the body of a start contains.
var bodyRules = perdure.DocumentRules{Values: bodyValues, Arrays: perdure.MessageParts}

// unmarshal decodes a request body. huma decodes each body twice, the first time into an `any` for
// the validation. In that first call, unmarshal also checks the JSON text, and decodes null in
// place of values that are nested so deep that no schema describes them.
func unmarshal(raw []byte, v any) error {
	if _, first := v.(*any); first {
		var refused *perdure.Error
		if errors.As(perdure.CheckDocumentBytes("", raw, bodyRules), &refused) {
			return refusedText(refused.Fields[0])
		}
		raw = shallow(raw)
	}
	return json.Unmarshal(raw, v)
}

// refusedText is a field error that unmarshal returns. The text of the error contains the name of
// the field and the message, because huma passes on only the text of an error.
type refusedText perdure.FieldError

func (r refusedText) Error() string { return refusedMark + r.Location + "\n" + r.Message }

// refusedMark is the first part of the text of a refusedText.
const refusedMark = "refused: "

// init makes huma compare the names of members exactly. huma offers this option only as a package
// variable.
func init() { huma.ValidateStrictCasing = true }

// utf8Writer replaces invalid UTF-8 in JSON that an older version of the server has stored. Each
// Write must contain a whole JSON document.
type utf8Writer struct{ io.Writer }

func (m utf8Writer) Write(p []byte) (int, error) {
	if _, err := m.Writer.Write(perdure.ValidJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
