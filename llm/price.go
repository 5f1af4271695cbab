package llm

import (
	"regexp"

	"github.com/perdure/perdure"
)

// Price is a price in US dollars per million tokens.
type Price = perdure.Price

// Prices contains the prices of models. An entry for a model also applies to its dated snapshots: the
// price of gpt-4o applies to gpt-4o-2024-08-06. It does not apply to other models whose ids begin with
// the same text. A nil Prices means DefaultPrices.
type Prices map[Model]Price

// snapshot matches the end of a model's id that names a version: a date, or the word latest.
var snapshot = regexp.MustCompile(`[-@](\d{8}|\d{4}-\d{2}-\d{2}|latest)$`)

// Cost is the cost of model calls in US dollars. Input includes what the prompt cache costs, for
// reads and for writes. Total is the sum of Input and Output.
type Cost struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	Total  float64 `json:"total"`
}

// Cost returns the cost of a call with this usage; nil if the price of the model is unknown.
func (p Prices) Cost(m Model, u perdure.Usage) *Cost {
	if p == nil {
		p = DefaultPrices
	}
	price, ok := p.find(m)
	if !ok {
		return nil
	}
	c := Cost{
		Input: (float64(u.Input)*price.Input + float64(u.CacheRead)*price.CacheRead +
			float64(u.CacheWrite)*price.CacheWrite) / 1e6,
		Output: float64(u.Output) * price.Output / 1e6,
	}
	c.Total = c.Input + c.Output
	return &c
}

func (p Prices) find(m Model) (Price, bool) {
	if m.Provider == "scripted" {
		return Price{}, true
	}
	return findModel(p, m)
}

// claude returns the price of an Anthropic model from its prices for input and output. A cache read
// costs a tenth of the input price, and a five-minute cache write a quarter more than the input
// price.
func claude(input, output float64) Price {
	return Price{Input: input, Output: output, CacheRead: input / 10, CacheWrite: input * 1.25}
}

// gpt returns the price of an OpenAI model. A cache write costs the input price.
func gpt(input, cached, output float64) Price {
	return Price{Input: input, Output: output, CacheRead: cached, CacheWrite: input}
}

// gemini returns the price of a Gemini model for text. A cache write costs the input price.
func gemini(input, cached, output float64) Price {
	return Price{Input: input, Output: output, CacheRead: cached, CacheWrite: input}
}

// DefaultPrices are the published list prices of the models that this version knows. Models whose
// price depends on the length of the prompt are left out, so their cost is unknown.
var DefaultPrices = Prices{
	{"anthropic", "claude-fable-5-1"}:  {Input: 10, Output: 50, CacheRead: 0.25, CacheWrite: 12.5},
	{"anthropic", "claude-mythos-5-1"}: {Input: 10, Output: 50, CacheRead: 0.25, CacheWrite: 12.5},
	{"anthropic", "claude-fable-5"}:    claude(10, 50),
	{"anthropic", "claude-mythos-5"}:   claude(10, 50),
	{"anthropic", "claude-opus-5-5"}:   {Input: 4, Output: 20, CacheRead: 0.2, CacheWrite: 5},
	{"anthropic", "claude-opus-5"}:     claude(5, 25),
	{"anthropic", "claude-opus-4-8"}:   claude(5, 25),
	{"anthropic", "claude-opus-4-7"}:   claude(5, 25),
	{"anthropic", "claude-opus-4-6"}:   claude(5, 25),
	{"anthropic", "claude-opus-4-5"}:   claude(5, 25),
	{"anthropic", "claude-opus-4-1"}:   claude(15, 75),
	{"anthropic", "claude-opus-4-0"}:   claude(15, 75),
	{"anthropic", "claude-opus-4"}:     claude(15, 75),
	{"anthropic", "claude-sonnet-5-5"}: {Input: 2, Output: 10, CacheRead: 0.1, CacheWrite: 2.5},
	{"anthropic", "claude-sonnet-5"}:   claude(2, 10),
	{"anthropic", "claude-sonnet-4-6"}: claude(3, 15),
	{"anthropic", "claude-sonnet-4-5"}: claude(3, 15),
	{"anthropic", "claude-sonnet-4-0"}: claude(3, 15),
	{"anthropic", "claude-sonnet-4"}:   claude(3, 15),
	{"anthropic", "claude-3-7-sonnet"}: claude(3, 15),
	{"anthropic", "claude-3-5-sonnet"}: claude(3, 15),
	{"anthropic", "claude-haiku-4-5"}:  claude(1, 5),
	{"anthropic", "claude-3-5-haiku"}:  claude(0.8, 4),
	{"anthropic", "claude-3-opus"}:     claude(15, 75),
	{"anthropic", "claude-3-haiku"}:    {Input: 0.25, Output: 1.25, CacheRead: 0.03, CacheWrite: 0.3},

	{"openai", "gpt-5.5"}:           gpt(5, 0.5, 30),
	{"openai", "gpt-5.4"}:           gpt(2.5, 0.25, 15),
	{"openai", "gpt-5.4-mini"}:      gpt(0.75, 0.075, 4.5),
	{"openai", "gpt-5.2"}:           gpt(1.75, 0.175, 14),
	{"openai", "gpt-5.1"}:           gpt(1.25, 0.125, 10),
	{"openai", "gpt-5"}:             gpt(1.25, 0.125, 10),
	{"openai", "gpt-5-mini"}:        gpt(0.25, 0.025, 2),
	{"openai", "gpt-5-nano"}:        gpt(0.05, 0.005, 0.4),
	{"openai", "gpt-4.1"}:           gpt(2, 0.5, 8),
	{"openai", "gpt-4.1-mini"}:      gpt(0.4, 0.1, 1.6),
	{"openai", "gpt-4.1-nano"}:      gpt(0.1, 0.025, 0.4),
	{"openai", "gpt-4o"}:            gpt(2.5, 1.25, 10),
	{"openai", "gpt-4o-2024-05-13"}: gpt(5, 5, 15),
	{"openai", "gpt-4o-mini"}:       gpt(0.15, 0.075, 0.6),
	{"openai", "o4-mini"}:           gpt(1.1, 0.275, 4.4),
	{"openai", "o3"}:                gpt(2, 0.5, 8),
	{"openai", "o3-mini"}:           gpt(1.1, 0.55, 4.4),
	{"openai", "o1"}:                gpt(15, 7.5, 60),

	{"gemini", "gemini-3-flash-preview"}: gemini(0.5, 0.05, 3),
	{"gemini", "gemini-2.5-flash"}:       gemini(0.3, 0.03, 2.5),
	{"gemini", "gemini-2.5-flash-lite"}:  gemini(0.1, 0.01, 0.4),
	{"gemini", "gemini-2.0-flash"}:       gemini(0.1, 0.025, 0.4),
}
