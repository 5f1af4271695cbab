package operation

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/danielgtaylor/huma/v2"
	"github.com/perdure/perdure"
)

// bodyValues is the maximum number of JSON values in a request body. A body is decoded as a
// whole, and every value in it needs memory.
const bodyValues = 1_000_000

// bodyRules are the limits of every request body. Arrays contains the limit of the parts of a message;
// a body has messages only if it starts an execution.
var bodyRules = perdure.DocumentRules{Values: bodyValues, Arrays: perdure.MessageParts}

// unmarshal decodes a request body. To validate a body, huma first decodes it into an any. In that
// call, unmarshal checks the text, and decodes null in place of values that are nested too deep for
// any schema to describe them.
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

// refusedText is a field error of unmarshal, encoded as the text of an error, because huma passes
// on only an error's text.
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
