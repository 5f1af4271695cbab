package anthropic

import (
	"cmp"
	"regexp"
	"strconv"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/perdure/perdure/llm"
)

// traits is what differs between generations of models. Unknown models, as
// those of compatible servers, have the oldest form of the API.
type traits struct {
	maxTokens  int64  // asked for where the request sets no limit
	noThinking bool   // cannot reason
	adaptive   bool   // reasons by effort; a budget is refused or deprecated
	noSampling bool   // refuses a temperature and a top_p
	oneSampler bool   // refuses a temperature together with a top_p
	offWith    string // the thinking type that turns reasoning off, where it is on by default
}

var modelID = regexp.MustCompile(`^claude-(?:(\d)-(?:(\d)-)?)?([a-z]+)(?:-(\d))?(?:-(\d))?(?:$|[-@\[])`)

func traitsOf(model string) traits {
	m := modelID.FindStringSubmatch(model)
	if m == nil {
		return traits{maxTokens: 8192}
	}
	family := m[3]
	major, minor := m[4], m[5]
	if m[1] != "" { // the older order: claude-3-5-sonnet
		major, minor = m[1], m[2]
	}
	version := 10*digit(major) + digit(minor)
	if family == "fable" || family == "mythos" { // these always reason
		return traits{maxTokens: 32000, adaptive: true, noSampling: true}
	}
	t := traits{
		maxTokens:  32000,
		noThinking: version < 37,
		adaptive:   version >= 46,
		noSampling: version >= 47,
		oneSampler: version >= 41,
	}
	switch {
	case version < 35:
		t.maxTokens = 4096
	case version < 37:
		t.maxTokens = 8192
	case version == 50:
		t.offWith = "disabled"
	case version == 55 && family == "sonnet":
		t.offWith = "between_tools"
	}
	return t
}

func digit(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// budgets are the tokens a model with a fixed budget may spend on reasoning.
var budgets = map[llm.Thinking]int64{
	llm.ThinkingLow:    2048,
	llm.ThinkingMedium: 8192,
	llm.ThinkingHigh:   20480,
	llm.ThinkingXHigh:  32768,
}

// minBudget is the least that the API accepts.
const minBudget = 1024

// setLimits sets max_tokens, the reasoning and the sampling. A budget takes
// at most half of the request's MaxTokens, and where that would be less than
// the API's minimum max_tokens grows by the budget, which it must exceed.
func setLimits(p *anthropic.MessageNewParams, req llm.Request) {
	t := traitsOf(req.Model)
	p.MaxTokens = t.maxTokens
	if req.MaxTokens > 0 {
		p.MaxTokens = int64(req.MaxTokens)
	}
	thinks := false
	switch {
	case t.adaptive:
		thinks = setAdaptive(p, t, req.Thinking)
	case req.Thinking.On() && !t.noThinking && mayThink(p.Messages):
		thinks = true
		budget := max(minBudget, min(budgets[req.Thinking], p.MaxTokens/2))
		if p.MaxTokens <= budget {
			p.MaxTokens += budget
		}
		p.Thinking = anthropic.ThinkingConfigParamOfEnabled(budget)
	}
	if !t.noSampling {
		setSampling(p, req, thinks, t.oneSampler)
	}
}

// leastTopP is the least top_p that the API accepts of a model that reasons.
const leastTopP = 0.95

// setSampling sets the temperature and the top_p, as far as they are accepted: not
// all of them beside reasoning, and of models from 4.1 on one of them, which is the
// temperature.
func setSampling(p *anthropic.MessageNewParams, req llm.Request, thinks, one bool) {
	if req.Temperature != nil && !thinks {
		p.Temperature = param.NewOpt(*req.Temperature)
	}
	if req.TopP == nil || thinks && *req.TopP < leastTopP || one && p.Temperature.Valid() {
		return
	}
	p.TopP = param.NewOpt(*req.TopP)
}

// setUser tells of the end user under one name: the API has one field for it.
func setUser(p *anthropic.MessageNewParams, req llm.Request) {
	if id := cmp.Or(req.User, req.SafetyIdentifier); id != "" {
		p.Metadata.UserID = param.NewOpt(id)
	}
}

// setAdaptive lets the model decide how much to reason, within an effort. It
// reports whether reasoning was asked for. Models that always reason cannot be
// told otherwise.
func setAdaptive(p *anthropic.MessageNewParams, t traits, level llm.Thinking) bool {
	if level.On() {
		p.Thinking.OfAdaptive = &anthropic.ThinkingConfigAdaptiveParam{Display: anthropic.ThinkingConfigAdaptiveDisplaySummarized}
		p.OutputConfig.Effort = anthropic.OutputConfigEffort(level)
		if level == llm.ThinkingXHigh {
			p.OutputConfig.Effort = anthropic.OutputConfigEffortMax // the highest, which all of these have
		}
		return true
	}
	if level != llm.ThinkingOff {
		return false
	}
	switch t.offWith {
	case "disabled":
		off := anthropic.NewThinkingConfigDisabledParam()
		p.Thinking.OfDisabled = &off
	case "between_tools":
		off := anthropic.NewThinkingConfigBetweenToolsParam()
		p.Thinking.OfBetweenTools = &off
	}
	return false
}

// mayThink reports whether the conversation lets a model with a budget reason:
// answers with calls must begin with its own reasoning, which is missing after a
// change of the model or of the level.
func mayThink(messages []anthropic.MessageParam) bool {
	for i := 1; i < len(messages); i++ {
		content := messages[i-1].Content
		if answersTools(messages[i]) && (len(content) == 0 || content[0].OfThinking == nil && content[0].OfRedactedThinking == nil) {
			return false
		}
	}
	return true
}

func answersTools(m anthropic.MessageParam) bool {
	return len(m.Content) > 0 && m.Content[0].OfToolResult != nil
}
