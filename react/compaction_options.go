package react

import (
	"math"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

const (
	minCompactTarget = 0.01
	maxCompactTarget = 0.5
	// MaxCompactPrompt is the maximum number of bytes of CompactOptions.Prompt.
	MaxCompactPrompt = 16 << 10
)

// CompactOptions are a worker's options for compactions. The zero value means the defaults. An
// execution's config.compaction has precedence over Off and At.
type CompactOptions struct {
	// Off turns off automatic compaction of executions whose settings turn it neither on nor off.
	Off bool
	// At is the size of the context at which a conversation is compacted, as a fraction of the
	// model's window without the tokens that are reserved for an answer. It ranges from
	// perdure.MinCompactionAt to perdure.MaxCompactionAt; the default is
	// perdure.DefaultCompactionAt. It applies to executions whose settings do not set this size.
	At float64
	// Target is the fraction of the window that the newest turns may fill after a compaction: from 0.01 to
	// 0.5; default a quarter of the window, but at most 20,000 tokens. The newest turn is kept even if it
	// is larger.
	Target float64
	// Model is the model that writes the summaries; default the model of the next turn. A
	// compaction that a client requests through the Responses API uses the model that the client
	// chooses.
	Model *perdure.ModelConfig
	// Prompt is the text that asks the model for a summary; default a built-in text. It has at most
	// MaxCompactPrompt bytes.
	Prompt string
}

// Check checks the options for a worker with these providers. Errors: invalid_argument.
func (o CompactOptions) Check(providers *llm.Providers) error {
	switch {
	case o.At != 0 && !within(o.At, perdure.MinCompactionAt, perdure.MaxCompactionAt):
		return perdure.FieldErrorf("compact.at", "is %v; it must be from %v to %v", o.At, perdure.MinCompactionAt, perdure.MaxCompactionAt)
	case o.Target != 0 && !within(o.Target, minCompactTarget, maxCompactTarget):
		return perdure.FieldErrorf("compact.target", "is %v; it must be from %v to %v", o.Target, minCompactTarget, maxCompactTarget)
	case o.Target != 0 && o.Target >= *o.config().At:
		return perdure.FieldErrorf("compact.target", "is %v; it must be smaller than the threshold, which is %v", o.Target, *o.config().At)
	case len(o.Prompt) > MaxCompactPrompt:
		return perdure.FieldErrorf("compact.prompt", "has %d bytes; the limit is %d", len(o.Prompt), MaxCompactPrompt)
	}
	if err := perdure.CheckText("compact.prompt", o.Prompt); err != nil {
		return err
	}
	return o.checkModel(providers)
}

func (o CompactOptions) checkModel(providers *llm.Providers) error {
	if o.Model == nil {
		return nil
	}
	if !slices.Contains(providers.Names(), o.Model.Provider) {
		return perdure.FieldErrorf("compact.model.provider", "%q is not a provider of this worker", o.Model.Provider)
	}
	if err := o.Model.CheckModelID("compact.model."); err != nil {
		return err
	}
	return o.Model.CheckEndpoint("compact.model.")
}

// within reports whether v is a number from lowest to highest.
func within(v, lowest, highest float64) bool { return !math.IsNaN(v) && v >= lowest && v <= highest }

// config returns the compaction settings for executions that set none: the values in o, with
// perdure.DefaultCompactionAt in place of an At of 0.
func (o CompactOptions) config() *perdure.CompactionConfig {
	at := o.At
	if at == 0 {
		at = perdure.DefaultCompactionAt
	}
	return &perdure.CompactionConfig{At: &at, Off: &o.Off}
}

// compactionConfig returns the compaction settings of the response. Settings that the response lacks are
// taken from the worker's options.
func (l *loop) compactionConfig() *perdure.CompactionConfig {
	defaults := perdure.AgentConfig{Compaction: l.c.Compact.config()}
	return defaults.Merge(perdure.AgentConfig{Compaction: l.asked().Config.Compaction}).Compaction
}

// writer returns the model that writes the summary before a turn for which the model m is chosen.
func (l *loop) writer(m perdure.ModelConfig) perdure.ModelConfig {
	if l.c.Compact.Model == nil || l.coversAll() {
		return m
	}
	return *l.c.Compact.Model
}
