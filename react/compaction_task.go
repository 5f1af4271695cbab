package react

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/response"
	"github.com/perdure/perdure/llm"
)

// purposeCompaction is the recorded purpose of a model call that writes a summary.
const purposeCompaction = "compaction"

// compactionRequest is the part of a model task's input that is set if the task writes a summary.
// The summary covers the context up to the entry with the id Last.
type compactionRequest struct {
	Last uuid.UUID `json:"last"`
	// ResultBytes is the maximum number of bytes that the model sees of each text, of each tool
	// result, and of the arguments of each call.
	ResultBytes int `json:"resultBytes"`
	// MaxTokens is the maximum size of the summary in tokens.
	MaxTokens    int    `json:"maxTokens"`
	Instructions string `json:"instructions,omitempty"`
	// Prompt, if not empty, asks for the summary in place of summaryText.
	Prompt string `json:"prompt,omitempty"`
}

// summaryText is the built-in text that asks for a summary. It prescribes the form of the summary,
// so that a later summary can continue an earlier one.
const summaryText = `Write a summary of the conversation so far. It will replace the conversation: you, or another model, will continue the work with nothing but this summary and the newest messages. Do not call a tool, do not answer the user, and do not continue the work. If the conversation begins with an earlier summary, keep from it what still matters.

Use these headings, and leave out a heading under which there is nothing to say:

## Goal
What the user wants, with every constraint that still holds.
## What the user asked for, verbatim
The user's requests and corrections that still hold, in the user's own words.
## Decisions
What was decided, and why.
## State of the work
What is done and verified, and what is in progress, with exact names, values, commands and errors.
## Files
Each file that was read or changed and matters still, with its path and what was done to it.
## Open ends
What is still to be done, in order, and what is unknown.`

// summarise calls the model for a summary. It does not stream the answer.
func summarise(ctx agent.TaskContext, c Config, provider llm.Provider, in modelRequest) (modelAnswer, error) {
	began := time.Now()
	request, err := in.Compaction.ask(ctx, c, provider, in)
	if err != nil {
		return modelAnswer{}, err
	}
	if err := llm.CheckRequest(provider, request); err != nil {
		return modelAnswer{}, modelError(err)
	}
	answer, err := callModel(ctx, c, provider, in.Model, request, func(llm.Delta) error { return nil })
	if err != nil {
		return modelAnswer{}, modelError(err)
	}
	answer.Parts = perdure.AcceptableParts(perdure.RoleAssistant, answer.Parts)
	return modelAnswer{
		Content: answer.Content, ProviderResponseID: response.Real(answer.ProviderResponseID),
		LatencyMs: time.Since(began).Milliseconds(), Cost: answer.Cost,
	}, nil
}

// ask returns the model request that asks for the summary.
func (r *compactionRequest) ask(ctx requestSource, c Config, provider llm.Provider, in modelRequest) (q llm.Request, err error) {
	if q, err = buildRequest(ctx, c, provider, in); err != nil {
		return q, err
	}
	q.Format, q.Purpose = nil, llm.PurposeCompaction
	q = withoutCalls(q, provider, nil)
	q.MaxTokens = r.MaxTokens
	path, err := collect(ctx.ContextPath(in.LeafEntryID))
	if err != nil {
		return q, err
	}
	q.Messages, err = r.covered(path)
	text := cmp.Or(r.Prompt, summaryText)
	if r.Instructions != "" {
		text += "\n\nThe user adds about this summary:\n\n" + r.Instructions
	}
	q.Messages = append(q.Messages, perdure.UserText(text))
	return q, err
}

// covered returns the messages of the context up to the entry Last.
func (r *compactionRequest) covered(path []perdure.Entry) ([]perdure.Message, error) {
	c, err := perdure.ContextOf(path)
	if err != nil {
		return nil, agent.Permanent(err)
	}
	last := slices.IndexFunc(c.Entries, func(e perdure.ContextEntry) bool { return e.Entry.ID == r.Last })
	var messages []perdure.Message
	for _, e := range c.Entries[:last+1] {
		m, err := e.Message()
		if err != nil {
			return nil, agent.Permanent(err)
		}
		messages = append(messages, shortened(m, r.ResultBytes))
	}
	return messages, nil
}

// shortened returns the message with shortened texts, tool results and arguments of calls: of each
// that exceeds maxBytes bytes, only the head and the tail remain.
func shortened(m perdure.Message, maxBytes int) perdure.Message {
	m = withShortCalls(m, maxBytes)
	for i, p := range m.Parts {
		if p.Type == perdure.PartText && len(p.Text) > maxBytes {
			m.Parts[i] = perdure.Text(perdure.CutText(p.Text, maxBytes))
		}
	}
	return m
}

// withShortCalls returns a copy of the message with shortened tool results and arguments of calls:
// of each that exceeds maxBytes bytes, only the head and the tail remain.
func withShortCalls(m perdure.Message, maxBytes int) perdure.Message {
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		switch p.Type {
		case perdure.PartToolResult:
			m.Parts[i] = perdure.CutResult(p, maxBytes)
		case perdure.PartToolCall:
			m.Parts[i] = perdure.CutArguments(p, maxBytes)
		}
	}
	return m
}
