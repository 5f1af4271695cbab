package operation

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/danielgtaylor/huma/v2"
	"github.com/perdure/perdure"
)

// bodyValues is the largest number of JSON values in a body, because a body is decoded as a whole.
const bodyValues = 1_000_000

// bodyRules are the limits of every body. The limit of message parts applies to the body of a
// start.
var bodyRules = perdure.DocumentRules{Values: bodyValues, Arrays: perdure.MessageParts}

// unmarshal decodes a body. huma first decodes each body into an any to validate it. In that call,
// the text is checked, and only values as deep as schemas describe are decoded.
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

// refusedText is an error of unmarshal, encoded as text because huma passes on only the text.
type refusedText perdure.FieldError

func (r refusedText) Error() string { return refusedMark + r.Location + "\n" + r.Message }

// refusedMark is the prefix of the text of a refusedText.
const refusedMark = "refused: "

// init makes huma compare member names exactly. The option is a package variable.
func init() { huma.ValidateStrictCasing = true }

// utf8Writer replaces bytes that are not UTF-8 in JSON that an older server has stored. Each Write
// must contain a whole document.
type utf8Writer struct{ io.Writer }

func (m utf8Writer) Write(p []byte) (int, error) {
	if _, err := m.Writer.Write(perdure.ValidJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
