package openai

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// givenItem is an item in the input of a create request, as JSON.
type givenItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments *string         `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Summary   json.RawMessage `json:"summary"`
	Encrypted string          `json:"encrypted_content"`

	// Members of an approval request and of the answer to it.
	ServerLabel string `json:"server_label"`
	Request     string `json:"approval_request_id"`
	Approve     *bool  `json:"approve"`
	Reason      string `json:"reason"`
}

// readItem is a parsed item in the input of a create request. If it does not refer to another item
// by id, its content is in the field `messages`.
type readItem struct {
	at       string
	refers   bool
	whole    bool // an mcp_call: it refers to a stored item, even if all its members are sent
	lost     bool // an mcp_call without an id
	id       string
	sealed   string // encrypted_content of reasoning, or of a compaction
	compacts bool   // the item is a compaction
	messages []perdure.InputMessage
}

// parseInput parses the parameter input: a text, or a list of items. References are resolved later.
func parseInput(r *request, raw json.RawMessage) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		m := perdure.InputMessage{Role: perdure.RoleUser, Parts: []perdure.Part{perdure.Text(text)}}
		r.items = []readItem{{at: "input", messages: []perdure.InputMessage{m}}}
		return nil
	}
	const kind = "a string or an array of items"
	var items []givenItem
	if err := decode(raw, "input", &items, kind); err != nil {
		return err
	}
	var err error
	if r.verdicts, err = readVerdicts(items); err != nil || r.verdicts != nil {
		return err
	}
	r.items, err = readItems(raw, "input", kind)
	return err
}

func readItems(raw json.RawMessage, param, kind string) ([]readItem, error) {
	var items []givenItem
	if err := decode(raw, param, &items, kind); err != nil {
		return nil, err
	}
	var all []readItem
	for i, item := range items {
		if item.Type == itemApproval && param == "input" {
			continue // the client sends back what it was shown; the model does not need it
		}
		one, err := item.read(param + "[" + strconv.Itoa(i) + "]")
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func (i givenItem) read(at string) (readItem, error) {
	one := readItem{at: at, id: i.ID}
	if i.Type == itemReasoning {
		one.sealed = i.Encrypted
	}
	var err error
	switch {
	case i.Type == itemToolCall && i.ID == "":
		one.lost = true
		one.messages, err = i.lostCall(at)
		return one, err
	case i.Type == itemCompaction && i.Encrypted == "":
		return one, missing(at + ".encrypted_content")
	case i.Type == itemCompaction:
		one.compacts, one.sealed = true, i.Encrypted
		return one, nil
	case i.Type == itemReference && i.ID == "":
		return one, missing(at + ".id")
	case i.Type == itemToolCall || i.Type == itemReference || i.Type == "" && i.Role == "" && i.ID != "":
		one.refers, one.whole = true, i.Type == itemToolCall
		return one, nil
	}
	m, err := i.message(at)
	one.messages = []perdure.InputMessage{m}
	return one, err
}

// lostCall parses a call of a tool that a worker has run, which the client sends without the call's
// id. The call gets a new id. Its result is the item's output; if the item has no output, the
// result is an error that tells this to the model.
func (i givenItem) lostCall(at string) ([]perdure.InputMessage, error) {
	i.CallID = "call_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	call, err := i.call(at)
	if err != nil {
		return nil, err
	}
	result := perdure.Part{
		Type: perdure.PartToolResult, ToolCallID: i.CallID, ToolName: i.Name, IsError: true,
		Parts: []perdure.Part{perdure.Text("The result of this call is not known any more.")},
	}
	if given(i.Output) {
		if result.Parts, err = contentParts(i.Output, at+".output"); err != nil {
			return nil, err
		}
		result.IsError = false
	}
	return []perdure.InputMessage{
		{Role: perdure.RoleAssistant, Parts: call}, {Role: perdure.RoleToolResult, Parts: []perdure.Part{result}},
	}, nil
}

// message converts an item of the input to a message.
func (i givenItem) message(at string) (perdure.InputMessage, error) {
	m := perdure.InputMessage{Role: perdure.RoleAssistant}
	var err error
	switch i.Type {
	case "", itemMessage:
		return i.said(at)
	case itemCall:
		m.Parts, err = i.call(at)
	case itemOutput:
		m.Role = perdure.RoleToolResult
		m.Parts, err = i.output(at)
	case itemReasoning:
		m.Parts, err = i.reasoning(at)
	default:
		err = unsupportedValue(at+".type", "'%s' is none of message, function_call, function_call_output, reasoning, compaction, mcp_call, item_reference.", i.Type)
	}
	return m, err
}

// roles maps each role of OpenAI's message items to a role of Perdure.
var roles = map[string]perdure.Role{
	"user": perdure.RoleUser, "assistant": perdure.RoleAssistant, "system": perdure.RoleSystem, "developer": perdure.RoleSystem,
}

func (i givenItem) said(at string) (perdure.InputMessage, error) {
	role, ok := roles[i.Role]
	if !ok {
		return perdure.InputMessage{}, invalid(at+".role", "invalid_value", "Invalid '%s.role': '%s' is none of user, assistant, system, developer.", at, i.Role)
	}
	parts, err := contentParts(i.Content, at+".content")
	if err == nil && role != perdure.RoleUser && slices.ContainsFunc(parts, func(p perdure.Part) bool { return p.Type != perdure.PartText }) {
		err = unsupportedValue(at+".content", "images and files are for the role user.")
	}
	return perdure.InputMessage{Role: role, Parts: parts}, err
}

func (i givenItem) call(at string) ([]perdure.Part, error) {
	switch {
	case i.CallID == "":
		return nil, missing(at + ".call_id")
	case i.Name == "":
		return nil, missing(at + ".name")
	case i.Arguments == nil:
		return nil, missing(at + ".arguments")
	}
	p := perdure.Part{Type: perdure.PartToolCall, ID: i.CallID, ProviderID: i.CallID, Name: i.Name, RawArguments: *i.Arguments}
	if json.Valid([]byte(*i.Arguments)) {
		p.Arguments = json.RawMessage(*i.Arguments)
	}
	return []perdure.Part{p}, nil
}

func (i givenItem) output(at string) ([]perdure.Part, error) {
	if i.CallID == "" {
		return nil, missing(at + ".call_id")
	}
	if !given(i.Output) {
		return nil, missing(at + ".output")
	}
	parts, err := contentParts(i.Output, at+".output")
	return []perdure.Part{{Type: perdure.PartToolResult, ToolCallID: i.CallID, Parts: parts}}, err
}

// reasoning converts the readable text of a reasoning item to a part. If the item also has
// encrypted_content, opener.open later replaces the part by the provider's signed block.
func (i givenItem) reasoning(at string) ([]perdure.Part, error) {
	var texts []string
	for _, of := range []struct {
		name string
		raw  json.RawMessage
	}{{"summary", i.Summary}, {"content", i.Content}} {
		if !given(of.raw) {
			continue
		}
		var parts []struct {
			Text string `json:"text"`
		}
		if err := decode(of.raw, at+"."+of.name, &parts, "an array of content"); err != nil {
			return nil, err
		}
		for _, p := range parts {
			texts = append(texts, p.Text)
		}
	}
	return []perdure.Part{{Type: perdure.PartThinking, Thinking: strings.Join(texts, "\n")}}, nil
}

func missing(param string) *Error {
	return invalid(param, "missing_required_parameter", "Missing required parameter: '%s'.", param)
}

// answering moves the results of the open calls to the beginning of an input. It checks that each
// open call and each call in the input has a result, and that each result belongs to one of these
// calls.
func answering(open []string, input []perdure.InputMessage) ([]perdure.InputMessage, error) {
	var first, rest []perdure.InputMessage
	waiting, own := map[string]bool{}, map[string]bool{}
	for _, id := range open {
		waiting[id] = true
	}
	calls := slices.Clone(open)
	for _, m := range input {
		if m.Role != perdure.RoleToolResult {
			for _, p := range m.Parts {
				if p.Type == perdure.PartToolCall {
					own[p.ID] = true
					calls = append(calls, p.ID)
				}
			}
			rest = append(rest, m)
			continue
		}
		id := m.Parts[0].ToolCallID
		switch {
		case waiting[id]:
			delete(waiting, id)
			first = append(first, m)
		case own[id]:
			delete(own, id)
			rest = append(rest, m)
		default:
			return nil, invalid("input", "invalid_value", "No tool call found for function call output with call_id %s.", id)
		}
	}
	if at := slices.IndexFunc(calls, func(id string) bool { return waiting[id] || own[id] }); at >= 0 {
		return nil, invalid("input", "invalid_value", "No tool output found for function call %s.", calls[at])
	}
	return append(first, rest...), nil
}
