package links

import (
	"bytes"
	"cmp"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
)

// formLimit is the maximum size of a submitted form in bytes. An answer has at most
// perdure.MaxAnswer bytes, and URL encoding makes up to three characters of each byte.
const formLimit = 3*perdure.MaxAnswer + 64<<10

const (
	// wholeField is the name of the form field that contains the whole answer as JSON. It is used
	// if the answer is not an object whose members are texts, numbers and booleans.
	wholeField = "answer"
	// memberField is the prefix of the names of form fields that each contain one member of the
	// answer.
	memberField = "answer."
)

// form contains the values of a form that a browser has submitted.
type form struct {
	values url.Values
	// problem describes an error in the values; "" if none was found.
	problem string
}

// value returns the value of the named form field. It returns "" if f is nil.
func (f *form) value(name string) string {
	if f == nil {
		return ""
	}
	return f.values.Get(name)
}

// readForm reads the submitted form in the body of a request. Errors: invalid_argument.
func readForm(w http.ResponseWriter, r *http.Request) (form, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return form{}, perdure.Errorf(perdure.InvalidArgument, "The page's own form must be sent.")
	}
	r.Body = http.MaxBytesReader(w, r.Body, formLimit)
	if err := r.ParseForm(); err != nil {
		return form{}, perdure.Errorf(perdure.InvalidArgument, "The form is too large, or was not sent completely.")
	}
	return form{values: r.PostForm}, nil
}

// answer converts the form to an answer to the question of `l`. Errors: invalid_argument.
func (f form) answer(l *questions.Linked, token string) (questions.AnswerRequest, error) {
	r := questions.AnswerRequest{
		Question: l.QuestionID, AnswerID: f.value("answerId"), Verdict: perdure.Verdict(f.value("verdict")), Reason: f.value("reason"),
		Role: l.Key.Role, Link: questions.LinkToken(token), DetailsSHA256: new(perdure.Hash),
	}
	if r.DetailsSHA256.UnmarshalText([]byte(f.value("detailsSha256"))) != nil {
		return r, perdure.Errorf(perdure.InvalidArgument, "The form does not name what it answers. Open the link again.")
	}
	if r.Verdict != perdure.VerdictAnswer {
		return r, nil
	}
	var err error
	r.Value, err = f.answerValue(l.Question)
	return r, err
}

// answerValue builds the JSON value of the answer from the fields of the form. Errors:
// invalid_argument.
func (f form) answerValue(q *perdure.Question) (json.RawMessage, error) {
	if fields := fieldsOf(q.Schema); fields != nil {
		return f.object(fields)
	}
	text := f.value(wholeField)
	switch {
	case len(q.Choices) > 0 && text == "":
		return nil, perdure.Errorf(perdure.InvalidArgument, "Choose an answer.")
	case typeOf(q.Schema) == "string" && text == "":
		return nil, perdure.Errorf(perdure.InvalidArgument, "The answer is missing.")
	case len(q.Choices) > 0 || typeOf(q.Schema) == "string":
		return encoded(text), nil
	case !json.Valid([]byte(text)):
		return nil, perdure.Errorf(perdure.InvalidArgument, "The answer is not JSON. A text stands in quotation marks.")
	}
	return json.RawMessage(text), nil
}

// object builds a JSON object from the fields of the form. Empty optional fields are left out.
func (f form) object(fields []field) (json.RawMessage, error) {
	object := []byte{'{'}
	for _, one := range fields {
		given := f.value(memberField + one.Name)
		if given == "" {
			if one.Required {
				return nil, perdure.Errorf(perdure.InvalidArgument, "%s is missing.", one.Label)
			}
			continue
		}
		value, err := one.read(given)
		if err != nil {
			return nil, err
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(append(append(object, encoded(one.Name)...), ':'), encoded(value)...)
	}
	return append(object, '}'), nil
}

// encoded returns the JSON of a text, a number or a boolean. The bytes are those of JSON.stringify
// in a browser, except that U+2028 and U+2029 are escaped. So an answer has the same bytes whether
// a person gives it in the web user interface or on a link's page.
func encoded(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // such values always encode
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// read converts the text in a form field to a value of the field's type. Errors: invalid_argument.
func (o field) read(text string) (any, error) {
	switch o.Type {
	case "boolean":
		value, err := strconv.ParseBool(text)
		if err != nil {
			return nil, perdure.Errorf(perdure.InvalidArgument, "%s must be true or false.", o.Label)
		}
		return value, nil
	case "integer", "number":
		var n json.Number
		if json.Unmarshal([]byte(text), &n) != nil || n == "" {
			return nil, perdure.Errorf(perdure.InvalidArgument, "%s must be a number.", o.Label)
		}
		return n, nil
	}
	return text, nil
}

// field is a form field for one property of the JSON Schema of an answer.
type field struct {
	Name, Label, Description string
	Type                     string // string, integer, number or boolean
	Required                 bool
	Options                  []string
	Long                     bool   // the field has several lines
	Given                    string // the text that the field contains when the page is shown
}

// ID is the name of the field in the form.
func (o field) ID() string { return memberField + o.Name }

// property is the part of a property's JSON Schema that a form field shows.
type property struct {
	Type        any
	Title       string
	Description string
	Enum        []any
	MaxLength   int
	Default     json.RawMessage
}

// longText is the value of maxLength, in characters, above which a text gets a form field with
// several lines.
const longText = 200

// typeOf returns the type in a JSON Schema; "" if the schema has no type or several.
func typeOf(schema json.RawMessage) string {
	var s struct{ Type string }
	if json.Unmarshal(schema, &s) != nil {
		return ""
	}
	return s.Type
}

func rank(required bool) int {
	if required {
		return 0
	}
	return 1
}

// fieldsOf returns one form field for each property of a schema, with the required fields first. It
// returns nil if the schema is not of an object whose members are texts, numbers or booleans. The
// person then writes the answer as JSON.
func fieldsOf(schema json.RawMessage) []field {
	var s struct {
		Type       string
		Properties json.RawMessage
		Required   []string
	}
	if json.Unmarshal(schema, &s) != nil || s.Type != "object" {
		return nil
	}
	var fields []field
	plain := true
	eachMember(s.Properties, func(name string, raw json.RawMessage) {
		f, ok := fieldOf(name, raw, s.Required)
		plain = plain && ok
		fields = append(fields, f)
	})
	if !plain {
		return nil
	}
	slices.SortStableFunc(fields, func(a, b field) int { return cmp.Compare(rank(a.Required), rank(b.Required)) })
	return fields
}
