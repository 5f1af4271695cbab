package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/store"
	"golang.org/x/sync/errgroup"
)

// titleLimit is how many characters a title has at most.
const titleLimit = 140

// outlinesAtOnce bounds how many workers are asked at a time.
const outlinesAtOnce = 8

// outline fills in what a page of a list shows of executions beside their rows.
// It reads once for all of them; for what rests at a worker it asks that.
func (s *server) outline(ctx context.Context, org string, page []*perdure.Execution) error {
	ids := make([]uuid.UUID, len(page))
	for i, x := range page {
		ids[i] = x.ID
	}
	found, err := s.Engine.Read().Outlines(ctx, org, ids)
	if err != nil {
		return err
	}
	var asked errgroup.Group
	asked.SetLimit(outlinesAtOnce)
	for _, x := range page {
		o := found[x.ID]
		if x.PersistenceMode != perdure.Local {
			outlineOf(x, o)
			continue
		}
		asked.Go(func() error {
			s.fetchOutline(ctx, x, &o)
			outlineOf(x, o)
			return nil
		})
	}
	return asked.Wait()
}

// outlineWithin is how long a list waits for the workers of LOCAL executions.
const outlineWithin = time.Second

// fetchOutline gets what rests at the worker of a LOCAL execution. What it does
// not give, or not in time, is not shown: a list is there without it.
func (s *server) fetchOutline(ctx context.Context, x *perdure.Execution, o *store.Outline) {
	ctx, cancel := context.WithTimeout(ctx, outlineWithin)
	defer cancel()
	var inputLeft, stateLeft int64
	var inputSum, stateSum string
	err := s.Engine.Show(ctx, x, []engine.Shown{
		shown(&o.Input, o.InputBlob, &inputLeft, &inputSum),
		shown(&o.State, o.StateBlob, &stateLeft, &stateSum),
	})
	if inputLeft > 0 || err != nil && o.InputBlob != nil {
		o.Input = nil
	}
	if stateLeft > 0 || err != nil && o.StateBlob != nil {
		o.State = nil
	}
}

func outlineOf(x *perdure.Execution, o store.Outline) {
	x.Title = titleOf(o.Input, x.Kind)
	// Other kinds of agents keep what they like in their state.
	var spent struct {
		TotalUsage   *perdure.Usage           `json:"totalUsage"`
		UsageByModel map[string]perdure.Usage `json:"usageByModel"`
	}
	if json.Unmarshal(o.State, &spent) == nil {
		x.Usage, x.UsageByModel = spent.TotalUsage, spent.UsageByModel
	}
}

// titleOf is what an execution is about, in a line: the beginning of its prompt,
// or its kind and input.
func titleOf(input json.RawMessage, kind string) string {
	var asked struct {
		Prompt any `json:"userPrompt"`
		Parts  any `json:"parts"`
		Said   any `json:"messages"`
	}
	if json.Unmarshal(input, &asked) == nil {
		if prompt, ok := asked.Prompt.(string); ok && strings.TrimSpace(prompt) != "" {
			return firstLine(prompt)
		}
		if text := textIn(asked.Parts); text != "" {
			return firstLine(text)
		}
		if text := saidIn(asked.Said); text != "" {
			return firstLine(text)
		}
	}
	var compact bytes.Buffer
	if json.Compact(&compact, input) != nil {
		return kind
	}
	switch text := compact.String(); text {
	case "null", "{}":
		return kind
	default:
		return firstLine(kind + " " + text)
	}
}

// saidIn is the first text of the user's among messages, which the input of a run
// that the Responses API has started is made of.
func saidIn(messages any) string {
	all, _ := messages.([]any)
	for _, m := range all {
		message, _ := m.(map[string]any)
		if message["role"] != string(perdure.RoleUser) {
			continue
		}
		if text := textIn(message["parts"]); text != "" {
			return text
		}
	}
	return ""
}

// textIn is the first text among the parts of a message.
func textIn(parts any) string {
	all, _ := parts.([]any)
	for _, p := range all {
		part, _ := p.(map[string]any)
		if text, ok := part["text"].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// firstLine is the first line of a text, cut.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if utf8.RuneCountInString(line) <= titleLimit {
		return line
	}
	return string([]rune(line)[:titleLimit-1]) + "…"
}
