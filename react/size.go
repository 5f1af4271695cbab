package react

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/llm"
)

// contextSize is the known or estimated size, in tokens, of the context of the next model call.
type contextSize struct {
	// Tokens is the size of the context up to the last answer, as counted by the provider of the
	// model in the field Model. If Model is empty, Tokens is an estimate.
	Tokens int    `json:"tokens,omitempty"`
	Model  string `json:"model,omitempty"`
	// New is the estimated size of the messages that were appended after the last answer.
	New int `json:"new,omitempty"`
}

// otherModel is the factor that converts a count of tokens by one model into an estimate for
// another model.
const otherModel = 1.15

// of returns the estimated size of the context for the model m. The parameter `fixed` is the
// estimated size of the system prompt and the tools. It is added only if Tokens is an estimate,
// because a provider's count includes the system prompt and the tools.
func (s contextSize) of(m perdure.ModelConfig, fixed int) int {
	switch s.Model {
	case "":
		return s.Tokens + s.New + fixed
	case m.String():
		return s.Tokens + s.New
	}
	return int(float64(s.Tokens)*otherModel) + s.New
}

// answered sets the size after an answer of the model m. If the provider reports no usage, answered
// adds the estimated size of the answer.
func (s *contextSize) answered(m perdure.ModelConfig, answer perdure.Message, l llm.Limits) {
	u := answer.Usage
	if u == nil || u.Input+u.CacheRead+u.CacheWrite == 0 {
		s.New += llm.EstimateMessage(answer, l)
		return
	}
	*s = contextSize{Tokens: int(u.Input + u.CacheRead + u.CacheWrite + u.Output), Model: m.String()}
}

// append appends a message to the conversation and adds its size.
func (l *loop) append(m perdure.Message, opts ...agent.AppendOption) (err error) {
	if _, err = l.ctx.Append(m, opts...); err != nil {
		return err
	}
	l.st.Size.New += llm.EstimateMessage(m, l.anyLimits())
	return nil
}

// sizedPath is a path of entries without their contents, but with the size of each entry.
type sizedPath struct {
	entries []perdure.Entry
	tokens  map[uuid.UUID]int
}

func (p *sizedPath) add(e perdure.Entry, tokens int) {
	if p.tokens == nil {
		p.tokens = map[uuid.UUID]int{}
	}
	e.Content = nil
	p.entries, p.tokens[e.ID] = append(p.entries, e), tokens
}

// context returns the size, in tokens, of the context that is built from the path.
func (p *sizedPath) context() (int, error) {
	c, err := perdure.ContextOf(p.entries)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, e := range c.Entries {
		n += p.tokens[e.Entry.ID]
	}
	return n, nil
}

// limits returns the window and the other limits of the model m.
func (l *loop) limits(m perdure.ModelConfig) llm.Limits {
	limits, _ := l.c.Providers.Limits(m.Provider, m.ModelID)
	return limits
}

// checkWindow returns an error if the system prompt and the tools alone fill the window of the model,
// because no compaction could make room. Error: invalid_argument.
func (l *loop) checkWindow(m perdure.ModelConfig) error {
	limits, known := l.c.Providers.Limits(m.Provider, m.ModelID)
	if fixed := l.fixedSize(); known && fixed >= limits.Window {
		return perdure.FieldErrorf("systemPrompt", "has with the tools about %d tokens, but the window of %s has %d: shorten it, use fewer tools or another model", fixed, m, limits.Window)
	}
	return nil
}

// anyLimits returns the limits of the first configured model. They are used to estimate the tokens
// of images.
func (l *loop) anyLimits() llm.Limits {
	if models := l.asked().Models; len(models) > 0 {
		return l.limits(models[0])
	}
	return l.limits(perdure.ModelConfig{})
}

// fixedSize returns the estimated size of the system prompt and the tools, in tokens.
func (l *loop) fixedSize() int {
	in := l.asked()
	tools := specs(l.c.Tools, in.Tools)
	for _, t := range in.ClientTools {
		tools = append(tools, llm.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	return llm.EstimateHead(in.SystemPrompt, tools)
}
