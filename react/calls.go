package react

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/tool"
)

// Calls is a [perdure.CallRebuilder]. It rebuilds the requests of stored model calls with the code
// that built the original requests.
type Calls struct {
	// Providers are the providers whose request bodies can be shown; nil means no providers.
	Providers *llm.Providers
}

// storedSource is a requestSource for a stored model call: it returns the entries and tasks that
// were stored with the call.
type storedSource struct{ s perdure.StoredCall }

func (r storedSource) Execution() (*perdure.Execution, error) {
	return &perdure.Execution{Input: r.s.Input}, nil
}

func (r storedSource) ContextPath(leaf uuid.UUID) iter.Seq2[perdure.Entry, error] {
	return r.s.ContextPath(leaf)
}

// Tasks implements taskSource.
func (r storedSource) Tasks(ids ...uuid.UUID) ([]*perdure.Task, error) { return r.s.FindTasks(ids...) }

// tools returns the tools of the stored call: their names, descriptions and schemas, without code.
func (r storedSource) tools() []tool.Tool {
	all := make([]tool.Tool, len(r.s.Tools))
	for i, t := range r.s.Tools {
		all[i] = tool.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema}
	}
	return all
}

// unknownProvider stands for a model provider that this program does not have. It declares no
// abilities.
type unknownProvider struct{ llm.Provider }

func (c Calls) lookup(provider string) (llm.Provider, error) {
	if c.Providers == nil {
		c.Providers = llm.NewProviders()
	}
	return c.Providers.Lookup(provider)
}

// request rebuilds the request of a stored model call.
func (c Calls) request(s perdure.StoredCall) (in modelRequest, r llm.Request, err error) {
	if s.Task.Kind != perdure.ModelTaskKind || json.Unmarshal(s.Task.Input, &in) != nil {
		return in, r, perdure.Errorf(perdure.NotFound, "task %s is no model call", s.Task.ID)
	}
	source, provider := storedSource{s}, llm.Provider(unknownProvider{})
	if known, err := c.lookup(in.Model.Provider); err == nil {
		provider = known
	}
	config := Config{Tools: source.tools()}
	switch {
	case in.Generate != nil:
		r = in.Generate.ask(in.Model)
	case in.Run != nil:
		r, err = new(runTurns).ask(source, s.Task.ID, in)
	case in.Compaction != nil:
		r, err = in.Compaction.ask(source, config, provider, in)
	default:
		if r, err = buildRequest(source, config, provider, in); err != nil {
			return in, r, err
		}
		conv := &conversation{}
		_, err = conv.readContext(func() iter.Seq2[perdure.Entry, error] { return source.ContextPath(in.LeafEntryID) })
		r.Messages = conv.messages
	}
	return in, r, err
}

// Rebuild implements [perdure.CallRebuilder].
func (c Calls) Rebuild(s perdure.StoredCall) (*perdure.ModelCall, error) {
	in, r, err := c.request(s)
	if err != nil {
		return nil, err
	}
	call := &perdure.ModelCall{
		TaskID: s.Task.ID, Purpose: perdure.CallTurn, Status: s.Task.Status, Attempt: s.Task.Attempt, Error: s.Task.Error,
		Model: in.Model, LeafEntryID: &in.LeafEntryID, EntryID: in.EntryID, SystemPrompt: r.System, Tools: []perdure.CallTool{}, Messages: r.Messages,
		Parameters: perdure.CallParameters{
			MaxTokens: r.MaxTokens, Temperature: r.Temperature, Thinking: string(r.Thinking), ToolChoice: r.ToolChoice, ToolName: r.ToolName,
			ParallelToolCalls: r.ParallelToolCalls, Format: r.Format, Hints: r.Hints,
		},
	}
	switch {
	case in.Generate != nil, in.Run != nil:
		call.Purpose, call.LeafEntryID = perdure.CallGenerate, nil
	case in.Compaction != nil:
		call.Purpose = perdure.CallCompaction
	}
	for _, t := range r.Tools {
		call.Tools = append(call.Tools, perdure.CallTool(t))
	}
	if len(s.Task.Result) == 0 {
		return call, nil
	}
	return call, addAnswer(call, s.Task.Result, r)
}

// addAnswer adds the model's answer to the call. It also compares the hash of the rebuilt request r
// with the recorded hash.
func addAnswer(call *perdure.ModelCall, result json.RawMessage, r llm.Request) error {
	var a modelAnswer
	if err := json.Unmarshal(result, &a); err != nil {
		return perdure.Errorf(perdure.NotFound, "the result of task %s is no answer of a model", call.TaskID)
	}
	call.Answer, call.LatencyMs, call.ProviderResponseID, call.Cost = &a.Content, a.LatencyMs, a.ProviderResponseID, (*perdure.CallCost)(a.Cost)
	if a.Prompt == nil {
		return nil
	}
	now, err := llm.PromptOf(r)
	if err != nil {
		return err
	}
	call.Prompt = &perdure.CallPrompt{SHA256: a.Prompt.SHA256, Shown: now.SHA256, Matches: a.Prompt.SHA256 == now.SHA256}
	return nil
}

// Body implements [perdure.CallRebuilder].
func (c Calls) Body(ctx context.Context, s perdure.StoredCall, provider string) ([]byte, error) {
	in, r, err := c.request(s)
	if err != nil {
		return nil, err
	}
	if provider == "" {
		provider = in.Model.Provider
	}
	if provider != in.Model.Provider {
		r.BaseURL, r.APIKeyEnv = "", "" // these fields belong to the provider of the stored call
	}
	p, err := c.lookup(provider)
	if err != nil {
		return nil, err
	}
	bodied, ok := p.(llm.Bodied)
	if !ok {
		return nil, perdure.FieldErrorf("as", "provider %s sends no request", provider)
	}
	if err := llm.CheckRequest(p, r); err != nil {
		return nil, perdure.FieldErrorf("as", "provider %s cannot send this request: %v", provider, err)
	}
	body, err := bodied.Body(ctx, r)
	if err != nil && perdure.CodeOf(err) != perdure.InvalidArgument {
		return nil, perdure.FieldErrorf("as", "provider %s cannot send this request: %v", provider, err)
	}
	return body, err
}
