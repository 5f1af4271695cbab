package openai_test

import (
	"context"
	"slices"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// answer streams the model's answer to a request, and returns the stop reason.
type answer func(ctx context.Context, req llm.Request, b *llm.Builder) (perdure.StopReason, error)

// model is a provider with scripted answers. The number of the model's messages that the
// conversation has so far is the index of the answer. After the last scripted answer, it answers
// "ok".
type model struct {
	mu       sync.Mutex // guards requests
	requests []llm.Request
	answers  []answer
}

func (m *model) Name() string { return "test" }

func (m *model) Abilities() []llm.Ability {
	return []llm.Ability{llm.AbleToChooseTools, llm.AbleToCallOneTool, llm.AbleToFormat, llm.AbleToSayObject}
}

func (m *model) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta) error) (*llm.Response, error) {
	m.mu.Lock()
	m.requests = append(m.requests, req)
	m.mu.Unlock()
	n := 0
	for _, said := range req.Messages {
		if said.Role == perdure.RoleAssistant {
			n++
		}
	}
	say := says("ok")
	if n < len(m.answers) {
		say = m.answers[n]
	}
	b := llm.NewBuilder(emit)
	stop, err := say(ctx, req, b)
	if err != nil {
		return nil, err
	}
	return b.Finish(llm.Model{Provider: "test", ID: req.Model}, stop, perdure.Usage{Input: 10, Output: 5, CacheRead: 2}, nil)
}

func (m *model) asked() []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// says returns an answer with the words as its text.
func says(words ...string) answer {
	return func(_ context.Context, _ llm.Request, b *llm.Builder) (perdure.StopReason, error) {
		for _, w := range words {
			if err := b.Text(w); err != nil {
				return "", err
			}
		}
		return perdure.StopEndTurn, nil
	}
}

// thinks returns an answer that consists of reasoning and then of the answer `then`.
func thinks(thought string, then answer) answer {
	return func(ctx context.Context, req llm.Request, b *llm.Builder) (perdure.StopReason, error) {
		if err := b.Thinking(thought); err != nil {
			return "", err
		}
		return then(ctx, req, b)
	}
}

// calls returns an answer with a text and tool calls. The parameter `nameAndArguments` contains,
// for each call, the name of the tool and the arguments.
func calls(text string, nameAndArguments ...string) answer {
	return func(_ context.Context, _ llm.Request, b *llm.Builder) (perdure.StopReason, error) {
		if err := b.Text(text); err != nil {
			return "", err
		}
		for call := range slices.Chunk(nameAndArguments, 2) {
			part, err := b.StartTool(call[0], "p_"+call[0])
			if err == nil {
				err = b.ToolArguments(part, call[1])
			}
			if err == nil {
				err = b.EndTool(part)
			}
			if err != nil {
				return "", err
			}
		}
		return perdure.StopToolUse, nil
	}
}

// stops returns the answer `a` with the stop reason `why`.
func stops(a answer, why perdure.StopReason) answer {
	return func(ctx context.Context, req llm.Request, b *llm.Builder) (perdure.StopReason, error) {
		_, err := a(ctx, req, b)
		return why, err
	}
}

// fails returns an answer that fails after its text.
func fails(a answer, retryable bool) answer {
	return func(ctx context.Context, req llm.Request, b *llm.Builder) (perdure.StopReason, error) {
		if _, err := a(ctx, req, b); err != nil {
			return "", err
		}
		return "", &llm.Error{Kind: llm.Overloaded, Retryable: retryable, Provider: "test", Message: "too many"}
	}
}

// holds returns an answer that waits after its text, until the channel `open` is closed or the call
// is cancelled.
func holds(a answer, said chan<- struct{}, open <-chan struct{}) answer {
	return func(ctx context.Context, req llm.Request, b *llm.Builder) (perdure.StopReason, error) {
		stop, err := a(ctx, req, b)
		if err != nil {
			return stop, err
		}
		select {
		case said <- struct{}{}:
		default:
		}
		select {
		case <-open:
			return stop, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
