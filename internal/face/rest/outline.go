package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/homes"
	"github.com/perdure/perdure/internal/store"
	"golang.org/x/sync/errgroup"
)

// titleLimit is the maximum length of a title in characters.
const titleLimit = 140

// outlinesAtOnce is the maximum number of workers that are queried at once.
const outlinesAtOnce = 8

// outline adds titles and usage to the executions of a page. It makes one read for all executions.
// For a LOCAL execution it queries the worker that stores the content.
func (s *server) outline(ctx context.Context, org string, page []*perdure.Execution) error {
	ids := make([]uuid.UUID, len(page))
	for i, x := range page {
		ids[i] = x.ID
	}
	found, err := s.readWhole().Outlines(ctx, org, ids)
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

// fetchOutline reads the title and usage of a LOCAL execution from its worker. If the worker does
// not return them in time, the list is shown without them.
func (s *server) fetchOutline(ctx context.Context, x *perdure.Execution, o *store.Outline) {
	ctx, cancel := context.WithTimeout(ctx, outlineWithin)
	defer cancel()
	var inputLeft, stateLeft int64
	var inputSum, stateSum string
	err := s.Engine.Homes().Fill(ctx, x, []homes.Field{
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
	// Agents of other kinds may have any state.
	var spent struct {
		TotalUsage   *perdure.Usage           `json:"totalUsage"`
		UsageByModel map[string]perdure.Usage `json:"usageByModel"`
	}
	if json.Unmarshal(o.State, &spent) == nil {
		x.Usage, x.UsageByModel = spent.TotalUsage, spent.UsageByModel
	}
}

// titleOf returns a one-line title: the beginning of the prompt, or the kind and the input.
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

// saidIn returns the first text of the user in messages, which are the input of a run that the
// Responses API started.
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

// textIn returns the first text among the parts of a message.
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

// firstLine returns the first line of a text, cut to the limit.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if utf8.RuneCountInString(line) <= titleLimit {
		return line
	}
	return string([]rune(line)[:titleLimit-1]) + "…"
}
