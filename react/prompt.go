package react

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// Counters count what the react agent on a worker has done since the worker's start.
type Counters struct {
	// PrefixChanges counts model calls whose prompt does not begin with the prompt of the previous
	// call in the same execution. In such a call, the provider's prompt cache does not help, and
	// the whole context is charged.
	PrefixChanges atomic.Int64
}

// promptRecord is what an llm_call entry says about the prompt of its call.
type promptRecord struct {
	llm.Prompt
	// Changed says that the prompt does not begin with the prompt of the previous call. After a
	// compaction, a change counts only if it is before the first message that the compaction
	// replaced.
	Changed bool `json:"changed,omitempty"`
	// Change says where the prompt has changed. It is nil if a worker of an older version made the previous
	// call.
	Change *llm.PromptChange `json:"change,omitempty"`
	promptCauses
}

// promptCauses are the known reasons why a prompt differs from the previous prompt.
type promptCauses struct {
	// Compaction is the newest compaction since the previous call. Messages with an index below
	// Touches are the same as in the previous call.
	Compaction *uuid.UUID `json:"compaction,omitempty"`
	Touches    *int       `json:"touches,omitempty"`
	// PreviousModel is the model of the previous call, if it was a different model.
	PreviousModel string `json:"previousModel,omitempty"`
	// Settings reports that the system prompt or the tools were changed by the client, or because
	// the response has reached its limit of tool calls.
	Settings bool `json:"settings,omitempty"`
}

// lastPrompt is the part of the state that describes the prompt of the last model call.
type lastPrompt struct {
	Messages int    `json:"messages"`
	Marks    string `json:"marks,omitempty"`
	Model    string `json:"model"`
	Settings string `json:"settings"`
	// Compaction is the newest compaction since that call. Touches is the index of the first
	// message that the compactions since that call replaced.
	Compaction *uuid.UUID `json:"compaction,omitempty"`
	Touches    int        `json:"touches,omitempty"`
}

// promptCompacted records a compaction that was appended. The compaction does not change the first
// `touches` messages of the context.
func (l *loop) promptCompacted(id uuid.UUID, touches int) {
	l.st.Prompt = ""
	if last := l.st.LastPrompt; last != nil {
		if last.Compaction != nil {
			touches = min(touches, last.Touches)
		}
		last.Compaction, last.Touches = &id, touches
	}
}

// recordPrompt compares the prompt p with the previous prompt, and returns the result for the
// llm_call entry. It stores p for the comparison with the next prompt.
func (l *loop) recordPrompt(p *llm.Prompt, m perdure.ModelConfig) *promptRecord {
	if p == nil {
		return nil
	}
	last, changed := l.st.LastPrompt, l.st.Prompt != "" && p.Prefix != l.st.Prompt
	now := lastPrompt{Messages: p.Messages, Marks: p.Marks, Model: m.String(), Settings: l.promptSettings()}
	l.st.Prompt, l.st.LastPrompt = p.SHA256, &now
	r := &promptRecord{Prompt: *p}
	r.Marks = "" // only the next call uses them
	r.Changed = changed
	if last != nil { // nil in the first call, and if a worker of an older version made the previous call
		r.promptCauses = last.causes(now)
	}
	switch {
	case last == nil:
	case changed:
		c := p.ChangeFrom(last.prompt())
		r.Change = &c
	case r.Compaction != nil:
		if c, differs := p.ChangeWithin(last.prompt(), last.Touches); differs {
			r.Changed, r.Change = true, &c
		}
	}
	l.promptChanged(r)
	return r
}

// prompt returns the fields of p with which the next prompt is compared, as an llm.Prompt.
func (p *lastPrompt) prompt() llm.Prompt {
	return llm.Prompt{Messages: p.Messages, Marks: p.Marks}
}

// causes returns the known reasons why the next prompt differs from p.
func (p *lastPrompt) causes(next lastPrompt) (c promptCauses) {
	if p.Compaction != nil {
		c.Compaction, c.Touches = p.Compaction, &p.Touches
	}
	if p.Model != next.Model {
		c.PreviousModel = p.Model
	}
	c.Settings = p.Settings != next.Settings
	return c
}

// promptChanged counts a changed prompt. It also logs a warning, unless the settings or the model
// have changed.
func (l *loop) promptChanged(r *promptRecord) {
	if !r.Changed {
		return
	}
	if l.c.Counters != nil {
		l.c.Counters.PrefixChanges.Add(1)
	}
	if r.Settings || r.PreviousModel != "" {
		return
	}
	at := cmp.Or(r.Change, &llm.PromptChange{})
	cmp.Or(l.c.Logger, slog.Default()).Warn("a prompt does not begin with the previous one; the provider's cache was missed",
		"execution", l.ctx.ID(), "head", at.Head, "from", at.From, "to", at.To)
}

// promptSettings returns a hash of the settings that determine the beginning of a prompt: the
// system prompt and the tools.
func (l *loop) promptSettings() string {
	in := l.asked()
	raw, err := json.Marshal([]any{in.SystemPrompt, in.Tools, in.ClientTools, l.spent()})
	if err != nil { // impossible: the settings were decoded from JSON
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}
