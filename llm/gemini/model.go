package gemini

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/perdure/perdure/llm"
)

// family describes how the API differs between generations of models.
type family struct {
	version int // 25 means version 2.5; 0 means unknown
	pro     bool
}

var modelID = regexp.MustCompile(`^gemini-(\d+)(?:\.(\d+))?(?:-|$)`)

func familyOf(model string) family {
	model = strings.ToLower(model[strings.LastIndex(model, "/")+1:])
	f := family{pro: strings.Contains(model, "-pro")}
	m := modelID.FindStringSubmatch(model)
	if m == nil {
		if strings.HasPrefix(model, "gemini-") && strings.HasSuffix(model, "-latest") {
			f.version = 25 // all models with this name accept budgets
		}
		return f
	}
	f.version = 10*number(m[1]) + number(m[2])
	return f
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// wantsSignatures reports whether models of the family refuse a function call without a signature.
func (f family) wantsSignatures() bool { return f.version >= 30 }

// budgets maps a reasoning level to the maximum number of reasoning tokens, for models whose
// reasoning is limited by a number of tokens.
var budgets = map[llm.Thinking]int32{
	llm.ThinkingLow:    2048,
	llm.ThinkingMedium: 8192,
	llm.ThinkingHigh:   20480,
	llm.ThinkingXHigh:  24576, // maximum of the smaller models
}

// proBudget is the maximum number of reasoning tokens of a Pro model.
const proBudget = 32768

// minBudget is the minimum number of reasoning tokens of a model that always reasons.
const minBudget = 128

type thinkingConfig struct {
	IncludeThoughts bool   `json:"includeThoughts,omitempty"`
	ThinkingBudget  *int32 `json:"thinkingBudget,omitempty"`
	ThinkingLevel   string `json:"thinkingLevel,omitempty"`
}

// thinking returns the reasoning settings; nil for models that have none. If `summary` is set,
// summaries of the reasoning are requested at every level.
func (f family) thinking(level llm.Thinking, summary bool) *thinkingConfig {
	switch {
	case level == "" && !summary:
		return nil
	case level == "" && f.version >= 25:
		return &thinkingConfig{IncludeThoughts: true}
	case f.version >= 30:
		return &thinkingConfig{IncludeThoughts: level.On() || summary, ThinkingLevel: f.level(level)}
	case f.version >= 25:
		budget := budgets[level]
		if level == llm.ThinkingXHigh && f.pro {
			budget = proBudget
		}
		if level == llm.ThinkingOff && f.pro {
			budget = minBudget
		}
		return &thinkingConfig{IncludeThoughts: level.On() || summary, ThinkingBudget: &budget}
	}
	return nil
}

func (f family) level(level llm.Thinking) string {
	switch level {
	case llm.ThinkingLow:
		return "LOW"
	case llm.ThinkingMedium:
		if f.pro && f.version == 30 { // this model has only the levels low and high
			return "HIGH"
		}
		return "MEDIUM"
	case llm.ThinkingHigh, llm.ThinkingXHigh:
		return "HIGH"
	}
	if f.pro {
		return "LOW"
	}
	return "MINIMAL"
}
