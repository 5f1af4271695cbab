package anthropic

import (
	"cmp"
	"regexp"
	"strconv"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/perdure/perdure/llm"
)

// traits describe how the API differs between generations of models. A request to an unknown model,
// such as one of a compatible server, has the oldest form.
type traits struct {
	maxTokens  int64  // max_tokens, if the request sets no limit
	noThinking bool   // the model cannot reason
	adaptive   bool   // reasoning is set by an effort, not by a token budget
	noSampling bool   // the model refuses temperature and top_p
	oneSampler bool   // the model refuses temperature together with top_p
	offWith    string // the thinking type that turns reasoning off, for models that reason by default
}

var modelID = regexp.MustCompile(`^claude-(?:(\d)-(?:(\d)-)?)?([a-z]+)(?:-(\d))?(?:-(\d))?(?:$|[-@\[])`)

func traitsOf(model string) traits {
	m := modelID.FindStringSubmatch(model)
	if m == nil {
		return traits{maxTokens: 8192}
	}
	family := m[3]
	major, minor := m[4], m[5]
	if m[1] != "" { // older names have the version first: claude-3-5-sonnet
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

// budgets are the maximum numbers of reasoning tokens, by level, for a model with a fixed budget.
var budgets = map[llm.Thinking]int64{
	llm.ThinkingLow:    2048,
	llm.ThinkingMedium: 8192,
	llm.ThinkingHigh:   20480,
	llm.ThinkingXHigh:  32768,
}

// minBudget is the smallest reasoning budget in tokens that the API accepts.
const minBudget = 1024

// setLimits sets max_tokens, reasoning and sampling. A reasoning budget is at most half of
// max_tokens, but at least minBudget. The API requires a max_tokens greater than the budget. If
// max_tokens is not greater, setLimits adds the budget to max_tokens.
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

// leastTopP is the smallest top_p that the API accepts from a request with reasoning.
const leastTopP = 0.95

// setSampling sets temperature and top_p if the model accepts them. If `thinks` is set, the request
// asks for reasoning, and the model accepts no temperature and only a high top_p. If `one` is set,
// the model does not accept temperature and top_p together, and temperature is preferred.
func setSampling(p *anthropic.MessageNewParams, req llm.Request, thinks, one bool) {
	if req.Temperature != nil && !thinks {
		p.Temperature = param.NewOpt(*req.Temperature)
	}
	if req.TopP == nil || thinks && *req.TopP < leastTopP || one && p.Temperature.Valid() {
		return
	}
	p.TopP = param.NewOpt(*req.TopP)
}

// setUser sets the id of the end user: User or, if it is empty, SafetyIdentifier. The API has one
// field for both.
func setUser(p *anthropic.MessageNewParams, req llm.Request) {
	if id := cmp.Or(req.User, req.SafetyIdentifier); id != "" {
		p.Metadata.UserID = param.NewOpt(id)
	}
}

// setAdaptive sets the effort by which the model decides how much to reason. It reports whether the
// request asks for reasoning. For a model that always reasons, the level off has no effect.
func setAdaptive(p *anthropic.MessageNewParams, t traits, level llm.Thinking) bool {
	if level.On() {
		p.Thinking.OfAdaptive = &anthropic.ThinkingConfigAdaptiveParam{Display: anthropic.ThinkingConfigAdaptiveDisplaySummarized}
		p.OutputConfig.Effort = anthropic.OutputConfigEffort(level)
		if level == llm.ThinkingXHigh {
			p.OutputConfig.Effort = anthropic.OutputConfigEffortMax // all of these models have this effort
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

// mayThink reports whether a model with a reasoning budget may reason in this conversation. The API
// requires that an assistant message with tool calls begins with the model's own reasoning. After a
// change of the model or of the reasoning level, earlier messages do not begin with this model's
// reasoning.
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
