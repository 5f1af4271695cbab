package llm

import (
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// ContinueText is the text of the user message that Outward inserts where a provider requires a user
// message. It never changes, so that later requests hit the provider's prompt cache.
const ContinueText = "Continue."

// OutwardRules are rules of a provider that the transcript rules do not contain.
type OutwardRules struct {
	Provider string
	// ImageBase64 is the maximum size of an image in bytes of base64; 0 means no limit.
	ImageBase64 int
	// Takes reports whether the provider accepts a file, or an image with a URL. If Takes is nil,
	// the provider accepts neither.
	Takes func(perdure.Part) bool
}

// Outward returns a request in the form in which it is sent to a provider. Stored messages may be
// older than today's checks, and not every provider accepts every legal conversation. Outward
// changes copies, never the stored messages:
//
//   - A part that the provider does not accept becomes a text that says so.
//   - A compaction becomes a text with perdure.SummaryPrefix and the summary.
//   - If the provider does not accept the name of a call, a valid name replaces it.
//     Of two calls with the same id, the later call gets a new id (Distinct).
//   - A user message with ContinueText is inserted before an assistant message at the
//     beginning, and after an assistant message that a model must continue.
//   - Blank system messages, and tools with the name of an earlier tool, are omitted.
//
// The encoding of a message does not depend on later messages. So when a conversation grows, a
// request begins with the previous request, and the provider's prompt cache can be used.
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
		case perdure.PartCompaction:
			*p = perdure.Text(perdure.SummaryPrefix + p.Text)
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

// shown returns p if the provider accepts it, and otherwise a text part that describes p. The size
// of an image with a URL is not checked, because the URL is not fetched.
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

// outwardName returns the name of a tool call in a form that the provider accepts. Models sometimes
// call a tool by an invalid name, which providers refuse in a request.
func outwardName(provider, name string) string {
	const maxLength = 64 // every provider accepts this length
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
	name = name[:min(len(name), maxLength)]
	if !perdure.TakesToolName(provider, name) {
		name = "_" + name[:min(len(name), maxLength-1)]
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

// wasLast reports whether the assistant message messages[i] is or was the last message of a prompt,
// so that a model must continue it. Either no message follows, or a client sent messages[i] and the
// next message is a model's answer.
func wasLast(messages []perdure.Message, i int) bool {
	if i+1 == len(messages) {
		return true
	}
	next := messages[i+1]
	return next.Role == perdure.RoleAssistant && !isGiven(next) && isGiven(messages[i])
}

// isGiven reports whether a client sent the assistant message m, and no model call returned it. The
// provider's name does not tell: a client must name the provider if its message has signatures. But
// only messages that a model call returned have a stop reason or usage.
func isGiven(m perdure.Message) bool {
	return m.Provider == "" || m.StopReason == "" && m.Usage == nil
}

// answered inserts a user message with ContinueText where providers require one. System messages
// are ignored here. There are three places: before the first message if it is not a user message,
// after an assistant message that was the last one of a prompt (see wasLast), and in a conversation
// without messages.
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
