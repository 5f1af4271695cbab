package gemini

import (
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/genai"

	"github.com/perdure/perdure/llm"
)

// family is what differs between generations of models.
type family struct {
	version int // 25 is 2.5; 0 is unknown
	pro     bool
}

var modelID = regexp.MustCompile(`^gemini-(\d+)(?:\.(\d+))?(?:-|$)`)

func familyOf(model string) family {
	model = strings.ToLower(model[strings.LastIndex(model, "/")+1:])
	f := family{pro: strings.Contains(model, "-pro")}
	m := modelID.FindStringSubmatch(model)
	if m == nil {
		if strings.HasPrefix(model, "gemini-") && strings.HasSuffix(model, "-latest") {
			f.version = 25 // budgets are taken by all that this name may stand for
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

// wantsSignatures reports whether the model refuses a function call that carries
// no signature.
func (f family) wantsSignatures() bool { return f.version >= 30 }

// budgets are the tokens that a model with a budget may spend on reasoning.
var budgets = map[llm.Thinking]int32{
	llm.ThinkingLow:    2048,
	llm.ThinkingMedium: 8192,
	llm.ThinkingHigh:   20480,
	llm.ThinkingXHigh:  24576, // the most of the smaller models; the others have more
}

// proBudget is the most that a Pro model with a budget may spend.
const proBudget = 32768

// minBudget is the least that a model which always reasons takes.
const minBudget = 128

// thinking is nil for models that cannot be told. summary asks for summaries of what
// a model thinks, at whatever level.
func (f family) thinking(level llm.Thinking, summary bool) *genai.ThinkingConfig {
	switch {
	case level == "" && !summary:
		return nil
	case level == "" && f.version >= 25:
		return &genai.ThinkingConfig{IncludeThoughts: true}
	case f.version >= 30:
		return &genai.ThinkingConfig{IncludeThoughts: level.On() || summary, ThinkingLevel: f.level(level)}
	case f.version >= 25:
		budget := budgets[level]
		if level == llm.ThinkingXHigh && f.pro {
			budget = proBudget
		}
		if level == llm.ThinkingOff && f.pro {
			budget = minBudget
		}
		return &genai.ThinkingConfig{IncludeThoughts: level.On() || summary, ThinkingBudget: &budget}
	}
	return nil
}

func (f family) level(level llm.Thinking) genai.ThinkingLevel {
	switch level {
	case llm.ThinkingLow:
		return genai.ThinkingLevelLow
	case llm.ThinkingMedium:
		if f.pro && f.version == 30 { // it knows low and high only
			return genai.ThinkingLevelHigh
		}
		return genai.ThinkingLevelMedium
	case llm.ThinkingHigh, llm.ThinkingXHigh:
		return genai.ThinkingLevelHigh
	}
	if f.pro {
		return genai.ThinkingLevelLow
	}
	return genai.ThinkingLevelMinimal
}
