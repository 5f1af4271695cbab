package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/schema"
)

// request contains the parameters of a create request, except its input. It is stored with the
// response, because the response object repeats the parameters.
type request struct {
	Model              string            `json:"model"`
	Instructions       *string           `json:"instructions,omitempty"`
	Tools              []functionTool    `json:"tools,omitempty"`
	ToolChoice         json.RawMessage   `json:"tool_choice,omitempty"`
	ParallelToolCalls  *bool             `json:"parallel_tool_calls,omitempty"`
	MaxOutputTokens    *int              `json:"max_output_tokens,omitempty"`
	Temperature        *float64          `json:"temperature,omitempty"`
	TopP               *float64          `json:"top_p,omitempty"`
	User               *string           `json:"user,omitempty"`
	SafetyIdentifier   *string           `json:"safety_identifier,omitempty"`
	PromptCacheKey     *string           `json:"prompt_cache_key,omitempty"`
	MaxToolCalls       *int              `json:"max_tool_calls,omitempty"`
	Truncation         string            `json:"truncation,omitempty"`
	Include            []string          `json:"include,omitempty"`
	Effort             *string           `json:"effort,omitempty"`
	Summary            *string           `json:"summary,omitempty"`
	Verbosity          *string           `json:"verbosity,omitempty"`
	Format             *formatField      `json:"-"`
	FormatRaw          json.RawMessage   `json:"format,omitempty"`
	Metadata           map[string]string `json:"metadata,omitempty"`
	Store              *bool             `json:"store,omitempty"`
	Background         bool              `json:"background,omitempty"`
	PreviousResponseID string            `json:"previous_response_id,omitempty"`

	// CompactFrom is the compact_threshold of the parameter context_management. It is 0 if the
	// parameter has no threshold, and nil if the parameter is missing.
	CompactFrom *int `json:"compact_from,omitempty"`

	// History is the hash of the conversation up to the end of the input.
	History *historyOfResponse `json:"history,omitempty"`

	inConversation

	Stream     bool                   `json:"-"`
	items      []readItem             // items of the input
	resolved   []resolvedItem         // the items after their references were resolved
	input      []perdure.InputMessage // the input as messages; tool results have the order in which the client sent them
	toolChoice toolChoice
	verdicts   []verdict // the answers, if the input answers approval requests

	// The fields below are set only for a create request over a WebSocket.
	warmUp bool    // the input is only kept for the next create request
	from   *origin // takes the place of PreviousResponseID

	compacts bool // the request asks for a compaction and not for a response
}

// origin identifies the response from which a create request continues. The field `id` is that
// response's id, or "". If `local` is set, the response was created with "store": false, and only
// create requests over the same WebSocket can continue from it.
type origin struct {
	id    string
	local bool
}

func (r *request) origin() origin {
	if r.from != nil {
		return *r.from
	}
	return origin{id: r.PreviousResponseID}
}

func (r *request) stored() bool { return r.Store == nil || *r.Store }

// parser parses the JSON of one parameter into the request.
type parser func(r *request, raw json.RawMessage) error

// parsers has a parser for each supported parameter of a create request.
var parsers = map[string]parser{
	"model":                into("model", func(r *request) any { return &r.Model }, "a string"),
	"instructions":         into("instructions", func(r *request) any { return &r.Instructions }, "a string"),
	"parallel_tool_calls":  into("parallel_tool_calls", func(r *request) any { return &r.ParallelToolCalls }, "a boolean"),
	"max_output_tokens":    into("max_output_tokens", func(r *request) any { return &r.MaxOutputTokens }, "a whole number"),
	"temperature":          into("temperature", func(r *request) any { return &r.Temperature }, "a number"),
	"top_p":                into("top_p", func(r *request) any { return &r.TopP }, "a number"),
	"user":                 into("user", func(r *request) any { return &r.User }, "a string"),
	"safety_identifier":    into("safety_identifier", func(r *request) any { return &r.SafetyIdentifier }, "a string"),
	"prompt_cache_key":     into("prompt_cache_key", func(r *request) any { return &r.PromptCacheKey }, "a string"),
	"max_tool_calls":       into("max_tool_calls", func(r *request) any { return &r.MaxToolCalls }, "a whole number"),
	"truncation":           parseTruncation,
	"include":              parseInclude,
	"store":                into("store", func(r *request) any { return &r.Store }, "a boolean"),
	"background":           into("background", func(r *request) any { return &r.Background }, "a boolean"),
	"stream":               into("stream", func(r *request) any { return &r.Stream }, "a boolean"),
	"previous_response_id": into("previous_response_id", func(r *request) any { return &r.PreviousResponseID }, "a string"),
	"metadata":             parseMetadata,
	"reasoning":            parseReasoning,
	"text":                 parseText,
	"tools":                parseTools,
	"tool_choice":          parseToolChoice,
	"input":                parseInput,
	"conversation":         parseConversation,
	"context_management":   parseContextManagement,
}

// neutral maps unsupported parameters to the values that are accepted because they have no effect.
// null is always accepted.
var neutral = map[string][]string{
	"presence_penalty": {"0", "0.0"}, "frequency_penalty": {"0", "0.0"}, "top_logprobs": {"0"},
	"service_tier":           {`"auto"`, `"default"`},
	"stream_options":         {"{}", `{"include_obfuscation":false}`},
	"prompt_cache_retention": nil, "prompt": nil,
}

// parse parses the body of a create request. Unknown and unsupported parameters are refused.
func parse(body []byte) (*request, error) {
	members, err := membersOf(body)
	if err != nil {
		return nil, err
	}
	return parseMembers(&request{}, members)
}

// membersOf checks the JSON text of a body, and returns the members of its object.
func membersOf(body []byte) (map[string]json.RawMessage, error) {
	if err := checkBody(body, bodyRules); err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return nil, invalid("", "invalid_json", "We could not parse the JSON body of your request: it has to be a JSON object.")
	}
	return members, nil
}

func parseMembers(r *request, members map[string]json.RawMessage) (*request, error) {
	if given(members["conversation"]) && given(members["previous_response_id"]) {
		return nil, invalid("conversation", "mutually_exclusive_parameters",
			"Mutually exclusive parameters: 'conversation' and 'previous_response_id'. Ensure you are only providing one of them.")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		raw := members[name]
		if !given(raw) {
			continue
		}
		if read, ok := parsers[name]; ok {
			if err := read(r, raw); err != nil {
				return nil, err
			}
			continue
		}
		if err := checkNeutral(name, raw); err != nil {
			return nil, err
		}
	}
	return r, r.check()
}

// bodyRules are the limits of the body of a create request. The number of values limits the memory
// for the decoded body.
var bodyRules = perdure.DocumentRules{Values: 1_000_000, Arrays: map[string]int{
	"input": perdure.MaxMessages, "input[].content": perdure.MaxParts, "input[].output": perdure.MaxParts, "input[].summary": perdure.MaxParts,
}}

// checkBody checks the JSON text of a body against the rules, before it is decoded.
func checkBody(body []byte, rules perdure.DocumentRules) error {
	var refused *perdure.Error
	if !errors.As(perdure.CheckDocumentBytes("", body, rules), &refused) {
		return nil
	}
	at := refused.Fields[0]
	switch {
	case perdure.CheckNoDoubledKeys("", body) != nil:
		return invalid(at.Location, "duplicate_parameter", "Duplicate parameter: '%s' %s.", at.Location, at.Message)
	case strings.HasPrefix(at.Message, "has over"):
		return invalid(at.Location, "array_above_max_length", "Invalid '%s': it %s.", at.Location, at.Message)
	case at.Location == "":
		return invalid("", "invalid_json", "We could not parse the JSON body of your request: it %s.", at.Message)
	}
	return invalid(at.Location, "invalid_value", "Invalid '%s': it %s.", at.Location, at.Message)
}

// given reports whether a parameter is present and not null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func checkNeutral(name string, raw json.RawMessage) error {
	values, known := neutral[name]
	if !known {
		return invalid(name, "unknown_parameter", "Unknown parameter: '%s'.", name)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err == nil && slices.Contains(values, compact.String()) {
		return nil
	}
	return unsupported(name, "leave it out")
}

func unsupported(param, advice string) *Error {
	return invalid(param, "unsupported_parameter", "Unsupported parameter: '%s' is not supported here; %s.", param, advice)
}

func unsupportedValue(param, format string, args ...any) *Error {
	e := invalid(param, "unsupported_value", format, args...)
	e.Message = "Unsupported value for '" + param + "': " + e.Message
	return e
}

func into(name string, field func(*request) any, kind string) parser {
	return func(r *request, raw json.RawMessage) error { return decode(raw, name, field(r), kind) }
}

// decode decodes a parameter into v. The parameter `kind` describes the expected value in the error
// message.
func decode(raw json.RawMessage, param string, v any, kind string) error {
	var unknown *perdure.Error
	if errors.As(perdure.CheckExactNames(param, raw, v), &unknown) {
		at := unknown.Fields[0].Location
		return invalid(at, "unknown_parameter", "Unknown parameter: '%s'.", at)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return invalid(param, "invalid_type", "Invalid type for '%s': expected %s.", param, kind)
	}
	return nil
}

// check checks that the parameters fit together.
func (r *request) check() error {
	if r.verdicts != nil {
		return r.checkVerdicts()
	}
	switch {
	case r.Model == "":
		return invalid("model", "missing_required_parameter", "Missing required parameter: 'model'.")
	case len(r.items) == 0 && !r.warmUp && (!r.compacts || r.PreviousResponseID == ""):
		return invalid("input", "missing_required_parameter", "Missing required parameter: 'input'.")
	case r.Background && !r.stored():
		return unsupportedValue("background", "a response in background has to be stored; 'store' is false.")
	case r.MaxOutputTokens != nil && *r.MaxOutputTokens < 1:
		return invalid("max_output_tokens", "integer_below_min_value", "Invalid 'max_output_tokens': must be at least 1.")
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 2):
		return invalid("temperature", "invalid_value", "Invalid 'temperature': must be from 0 to 2.")
	}
	if err := r.checkHints(); err != nil {
		return err
	}
	return r.checkChoice()
}

func parseMetadata(r *request, raw json.RawMessage) error {
	if err := decode(raw, "metadata", &r.Metadata, "an object of strings"); err != nil {
		return err
	}
	if len(r.Metadata) > 16 {
		return invalid("metadata", "object_above_max_properties", "Invalid 'metadata': has over 16 members.")
	}
	for key, value := range r.Metadata {
		if utf8.RuneCountInString(key) > 64 || utf8.RuneCountInString(value) > 512 {
			return invalid("metadata", "invalid_value", "Invalid 'metadata': a key has at most 64 characters, a value 512.")
		}
	}
	return nil
}

var formatName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func parseFormat(r *request, raw json.RawMessage) error {
	var f formatField
	if err := decode(raw, "text.format", &f, "an object"); err != nil {
		return err
	}
	switch f.Type {
	case "text":
		return nil
	case "json_object":
	case "json_schema":
		if !formatName.MatchString(f.Name) {
			return invalid("text.format.name", "invalid_value", "Invalid 'text.format.name': must be 1 to 64 letters, digits, _ or -.")
		}
		if !isObject(f.Schema) {
			return invalid("text.format.schema", "missing_required_parameter", "Missing required parameter: 'text.format.schema', an object.")
		}
		if err := checkSchema("text.format.schema", f.Schema); err != nil {
			return err
		}
	default:
		return unsupportedValue("text.format.type", "'%s' is none of text, json_object, json_schema.", f.Type)
	}
	r.Format, r.FormatRaw = &f, raw
	return nil
}

func isObject(raw json.RawMessage) bool {
	var v map[string]json.RawMessage
	return json.Unmarshal(raw, &v) == nil && v != nil
}

// checkSchema limits the size of a JSON Schema that is passed to the model provider unchanged. It
// does not compile the schema, because each provider supports its own subset of JSON Schema.
func checkSchema(param string, raw json.RawMessage) error {
	if !given(raw) {
		return nil
	}
	if err := schema.CheckText(raw); err != nil {
		return invalid(param, "invalid_value", "Invalid '%s': the schema %v.", param, err)
	}
	return nil
}

func parseTools(r *request, raw json.RawMessage) error {
	if err := decode(raw, "tools", &r.Tools, "an array of tools"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, t := range r.Tools {
		at := "tools[" + strconv.Itoa(i) + "]"
		switch {
		case t.Type != "function":
			return unsupportedValue(at+".type", "'%s'; tools that run here come with the agent definition, and a client's own are of type 'function'.", t.Type)
		case !formatName.MatchString(t.Name):
			return invalid(at+".name", "invalid_value", "Invalid '%s.name': must be 1 to 64 letters, digits, _ or -.", at)
		case seen[t.Name]:
			return invalid(at+".name", "invalid_value", "Invalid '%s.name': '%s' is there twice.", at, t.Name)
		case given(t.Parameters) && !isObject(t.Parameters):
			return invalid(at+".parameters", "invalid_type", "Invalid type for '%s.parameters': expected an object.", at)
		}
		if err := checkSchema(at+".parameters", t.Parameters); err != nil {
			return err
		}
		seen[t.Name] = true
	}
	return nil
}
