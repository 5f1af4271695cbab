package llm

import (
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// ContinueText is what the user says where a provider wants a message of the user
// and the conversation has none. It is always the same, so that prompt caches hit.
const ContinueText = "Continue."

// OutwardRules are what a provider takes beyond the rules of the store.
type OutwardRules struct {
	Provider string
	// ImageBase64 is the most bytes of an image as base64; 0 is no limit.
	ImageBase64 int
	// Takes reports whether the provider takes an image by its URL, or a file.
	Takes func(perdure.Part) bool
}

// Outward returns a request as it goes to a provider. What is stored may be older
// than the checks of today, and legal conversations are not all accepted by all
// providers. Outward mends these copies, and nothing in the store:
//
//   - a part that the provider does not take becomes a text that says so;
//   - the name of a call that the provider does not take is changed to one that it
//     takes, and of two calls with one id the later gets another (Distinct);
//   - before an assistant that nobody has spoken to, and after an assistant that a
//     model has to continue from, the user says ContinueText;
//   - blank system messages, and tools that have the name of an earlier one, are
//     left out.
//
// What it makes of a message does not change when a conversation grows, so that a
// request begins with the request before it and prompt caches hit.
func Outward(req Request, rules OutwardRules) Request {
	req.Tools = distinctTools(req.Tools)
	messages := make([]perdure.Message, 0, len(req.Messages)+2)
	for _, m := range Distinct(req.Messages) {
		if m.Role == perdure.RoleSystem && strings.TrimSpace(m.PlainText()) == "" {
			continue
		}
		m.Parts = rules.parts(m)
		messages = append(messages, m)
	}
	req.Messages = answered(messages)
	return req
}

func (r OutwardRules) parts(m perdure.Message) []perdure.Part {
	parts := slices.Clone(perdure.AcceptableParts(m.Role, m.Parts))
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case perdure.PartImage, perdure.PartFile:
			*p = r.shown(*p)
		case perdure.PartToolCall:
			p.Name = outwardName(r.Provider, p.Name)
		case perdure.PartToolResult:
			p.ToolName = outwardName(r.Provider, p.ToolName)
			p.Parts = slices.Clone(p.Parts)
			for n := range p.Parts {
				p.Parts[n] = r.shown(p.Parts[n])
			}
		}
	}
	return parts
}

// shown returns a part of a message, or a text that names it where the provider does
// not take it. The server fetches nothing: what it is remains unknown then.
func (r OutwardRules) shown(p perdure.Part) perdure.Part {
	if p.Type == perdure.PartFile || p.Type == perdure.PartImage && p.URL != "" {
		if r.Takes != nil && r.Takes(p) {
			return p
		}
		return perdure.Text("(" + p.Describe() + " stood here, which this model's provider does not take)")
	}
	return r.image(p)
}

func (r OutwardRules) image(p perdure.Part) perdure.Part {
	if p.Type != perdure.PartImage || r.ImageBase64 == 0 || len(p.Data) <= r.ImageBase64 {
		return p
	}
	return perdure.Text("(an image stood here that is too large for this model's provider)")
}

// outwardName returns the name under which a provider is told of a call. Models
// call tools by names that were never offered, and providers refuse those.
func outwardName(provider, name string) string {
	const most = 64 // which every provider takes
	if name == "" {
		name = perdure.UnnamedTool
	}
	if perdure.TakesToolName(provider, name) {
		return name
	}
	name = strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	name = name[:min(len(name), most)]
	if !perdure.TakesToolName(provider, name) {
		name = "_" + name[:min(len(name), most-1)]
	}
	return name
}

func distinctTools(tools []ToolSpec) []ToolSpec {
	seen := map[string]bool{}
	var out []ToolSpec
	for _, t := range tools {
		if !seen[t.Name] {
			out = append(out, t)
		}
		seen[t.Name] = true
	}
	return out
}

// wasLast reports whether messages[i], an assistant's, is the last message, or was
// when a model made the one after it: a client gave it, so no model could continue
// from it but in a call of its own. Other neighbours stay one turn.
func wasLast(messages []perdure.Message, i int) bool {
	if i+1 == len(messages) {
		return true
	}
	next := messages[i+1]
	return next.Role == perdure.RoleAssistant && !isGiven(next) && isGiven(messages[i])
}

// isGiven reports whether a client gave an assistant's message. It may name the provider
// whose signatures it has; how the model stopped, and what it used, is known only of
// what was said here.
func isGiven(m perdure.Message) bool {
	return m.Provider == "" || m.StopReason == "" && m.Usage == nil
}

// answered lets the user speak first, and after an assistant that a model continues
// from.
func answered(messages []perdure.Message) []perdure.Message {
	var out []perdure.Message
	begun := false
	for i, m := range messages {
		if m.Role == perdure.RoleSystem {
			out = append(out, m)
			continue
		}
		if !begun && m.Role != perdure.RoleUser {
			out = append(out, perdure.UserText(ContinueText))
		}
		begun = true
		out = append(out, m)
		if m.Role == perdure.RoleAssistant && len(m.ToolCalls()) == 0 && wasLast(messages, i) {
			out = append(out, perdure.UserText(ContinueText))
		}
	}
	if !begun {
		out = append(out, perdure.UserText(ContinueText))
	}
	return out
}
