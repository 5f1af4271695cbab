package llm

import (
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure"
)

// IsObject reports whether the text is exactly one JSON object. Complete arguments of a tool call have
// this form.
func IsObject(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") && json.Valid([]byte(text))
}

func quoteJSON(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil { // unreachable: a string always encodes
		panic(err)
	}
	return string(quoted)
}

// OwnThinking reports whether the thinking part p of the message m may be sent to the model. This
// is so if p has a signature and the same model made m; other models refuse the signature.
func OwnThinking(m perdure.Message, p perdure.Part, model Model) bool {
	return p.ThinkingSignature != "" && m.Provider == model.Provider && m.Model == model.ID
}

// LeadingSystem returns the texts of the system prompt and of the system messages at the beginning
// of the conversation, without blank texts. The result `rest` contains the remaining messages.
func LeadingSystem(req Request) (texts []string, rest []perdure.Message) {
	rest = req.Messages
	if strings.TrimSpace(req.System) != "" {
		texts = append(texts, req.System)
	}
	for len(rest) > 0 && rest[0].Role == perdure.RoleSystem {
		if text := rest[0].PlainText(); strings.TrimSpace(text) != "" {
			texts = append(texts, text)
		}
		rest = rest[1:]
	}
	return texts, rest
}

// Distinct returns messages in which all tool calls have different ids. In a stored conversation, a
// call may have the id of an earlier, completed call, but providers refuse that. In copies of the
// messages, Distinct gives the later call and its result a new id.
func Distinct(messages []perdure.Message) []perdure.Message {
	seen := map[string]bool{}
	out := messages
	renamed := map[string]string{} // new ids for calls of the last assistant message
	for i, m := range messages {
		if m.Role == perdure.RoleAssistant {
			clear(renamed)
			for _, call := range m.ToolCalls() {
				name := call.ID
				for n := 2; seen[name]; n++ {
					name = call.ID + "_" + strconv.Itoa(n)
				}
				seen[name] = true
				if name != call.ID {
					renamed[call.ID] = name
				}
			}
		}
		if len(renamed) == 0 {
			continue
		}
		if &out[0] == &messages[0] {
			out = slices.Clone(messages)
		}
		out[i].Parts = rename(m.Parts, renamed)
	}
	return out
}

func rename(parts []perdure.Part, names map[string]string) []perdure.Part {
	out := slices.Clone(parts)
	for i := range out {
		p := &out[i]
		if to, ok := names[p.ID]; ok && p.Type == perdure.PartToolCall {
			p.ID = to
		}
		if to, ok := names[p.ToolCallID]; ok && p.Type == perdure.PartToolResult {
			p.ToolCallID = to
		}
	}
	return out
}

// Turns returns the messages in the order in which a request contains them. Consecutive messages
// with tool results are yielded as one: the first of these messages, with the results of all. The
// results have the order of the tool calls in the preceding message; results without a call in that
// message come last.
func Turns(messages []perdure.Message) iter.Seq2[perdure.Message, []perdure.Part] {
	return func(yield func(perdure.Message, []perdure.Part) bool) {
		for i := 0; i < len(messages); {
			m, next := messages[i], i+1
			var results []perdure.Part
			if m.Role == perdure.RoleToolResult {
				results, next = resultsAt(messages, i)
			}
			if !yield(m, results) {
				return
			}
			i = next
		}
	}
}

// resultsAt returns the consecutive tool results from messages[i] on, and the index of the message
// after them.
func resultsAt(messages []perdure.Message, i int) (results []perdure.Part, next int) {
	for next = i; next < len(messages) && messages[next].Role == perdure.RoleToolResult; next++ {
		results = append(results, messages[next].Parts...)
	}
	if i == 0 {
		return results, next
	}
	ordered := make([]perdure.Part, 0, len(results))
	used := make([]bool, len(results))
	for _, call := range messages[i-1].ToolCalls() {
		for n, r := range results {
			if r.ToolCallID == call.ID && !used[n] {
				ordered, used[n] = append(ordered, r), true
			}
		}
	}
	for n, r := range results {
		if !used[n] {
			ordered = append(ordered, r)
		}
	}
	return ordered, next
}
