package openairesponses

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

type inputItem = responses.ResponseInputItemUnionParam

func conversation(req llm.Request) []inputItem {
	c := converter{
		model: llm.Model{Provider: Name, ID: req.Model},
		ids:   llm.ToolIDs(req.Messages, Name, llm.OpenAIResponsesIDs),
		out:   []inputItem{}, reasonings: map[string]bool{},
	}
	for m, results := range llm.Turns(req.Messages) {
		switch m.Role {
		case perdure.RoleSystem:
			if text := m.PlainText(); !blank(text) {
				c.out = append(c.out, responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleSystem))
			}
		case perdure.RoleAssistant:
			c.assistant(m)
		case perdure.RoleToolResult:
			c.results(results)
		default:
			c.user(m.Parts)
		}
	}
	return c.out
}

type converter struct {
	model llm.Model
	ids   map[string]string
	out   []inputItem
	// reasonings are the ids already sent. A server with one id for all reasoning items receives it
	// once.
	reasonings map[string]bool
}

// user sends a single text as a string, which every server accepts, and anything else as parts.
func (c *converter) user(parts []perdure.Part) {
	var content responses.ResponseInputMessageContentListParam
	for _, p := range parts {
		switch {
		case p.Type == perdure.PartText && !blank(p.Text):
			content = append(content, responses.ResponseInputContentParamOfInputText(p.Text))
		case p.Type == perdure.PartImage:
			image := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetail(cmp.Or(p.Detail, "auto")))
			image.OfInputImage.ImageURL = param.NewOpt(imageURL(p))
			content = append(content, image)
		case p.Type == perdure.PartFile:
			content = append(content, responses.ResponseInputContentUnionParam{OfInputFile: inputFile(p)})
		}
	}
	role := responses.EasyInputMessageRoleUser
	switch {
	case len(content) == 0:
		c.out = append(c.out, responses.ResponseInputItemParamOfMessage("(empty message)", role))
	case len(content) == 1 && content[0].OfInputText != nil:
		c.out = append(c.out, responses.ResponseInputItemParamOfMessage(content[0].OfInputText.Text, role))
	default:
		c.out = append(c.out, responses.ResponseInputItemParamOfMessage(content, role))
	}
}

// assistant adds an item for each part. Reasoning is sent with the part that follows it in the
// message, because the API refuses reasoning by itself.
func (c *converter) assistant(m perdure.Message) {
	var waiting []inputItem
	add := func(i inputItem) {
		c.out = append(append(c.out, waiting...), i)
		waiting = nil
	}
	for _, p := range m.Parts {
		switch {
		case p.Type == perdure.PartThinking && llm.OwnThinking(m, p, c.model):
			if i, ok := c.reasoning(p); ok {
				waiting = append(waiting, i)
			}
		case p.Type == perdure.PartText && !blank(p.Text):
			add(c.said(m, p))
		case p.Type == perdure.PartToolCall:
			add(responses.ResponseInputItemParamOfFunctionCall(llm.OutwardArguments(p), c.ids[p.ID], p.Name))
		}
	}
}

// said returns a text of the model. Its phase, commentary or final answer, is sent only to the
// model that set it.
func (c *converter) said(m perdure.Message, p perdure.Part) inputItem {
	i := responses.ResponseInputItemParamOfMessage(p.Text, responses.EasyInputMessageRoleAssistant)
	if p.TextSignature != "" && m.Provider == c.model.Provider && m.Model == c.model.ID {
		i.OfMessage.Phase = responses.EasyInputMessagePhase(p.TextSignature)
	}
	return i
}

// reasoning returns a reasoning item unchanged.
func (c *converter) reasoning(p perdure.Part) (inputItem, bool) {
	var block reasoningBlock
	if json.Unmarshal(p.Native, &block) != nil || len(block.Summary) == 0 {
		return inputItem{}, false
	}
	block.EncryptedContent = p.ThinkingSignature
	if c.reasonings[block.ID] {
		block.ID = ""
	}
	c.reasonings[block.ID] = true
	raw, err := json.Marshal(block)
	if err != nil {
		return inputItem{}, false
	}
	own := param.Override[responses.ResponseReasoningItemParam](json.RawMessage(raw))
	return inputItem{OfReasoning: &own}, true
}

func (c *converter) results(results []perdure.Part) {
	for _, r := range results {
		i := responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
			CallID: param.NewOpt(c.resultID(r)), Output: output(r),
		}}
		c.out = append(c.out, i)
	}
}

// resultID returns the outward id of the call that r answers. If the call is not on the path, the
// result keeps its own id, so that the provider's error names it.
func (c *converter) resultID(r perdure.Part) string {
	if id, known := c.ids[r.ToolCallID]; known {
		return id
	}
	return r.ToolCallID
}

// output returns a result's output. It is a string, which every server accepts, unless there are
// images or files.
func output(r perdure.Part) responses.ResponseInputItemFunctionCallOutputOutputUnionParam {
	var texts []string
	var list responses.ResponseFunctionCallOutputItemListParam
	images := false
	for _, p := range r.Parts {
		switch {
		case p.Type == perdure.PartText && !blank(p.Text):
			texts = append(texts, p.Text)
			list = append(list, responses.ResponseFunctionCallOutputItemUnionParam{
				OfInputText: &responses.ResponseInputTextContentParam{Text: p.Text},
			})
		case p.Type == perdure.PartImage:
			images = true
			list = append(list, responses.ResponseFunctionCallOutputItemUnionParam{
				OfInputImage: &responses.ResponseInputImageContentParam{
					ImageURL: param.NewOpt(imageURL(p)), Detail: responses.ResponseInputImageContentDetail(p.Detail),
				},
			})
		case p.Type == perdure.PartFile:
			images = true
			list = append(list, responses.ResponseFunctionCallOutputItemUnionParam{OfInputFile: outputFile(p)})
		}
	}
	if images {
		return responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfResponseFunctionCallOutputItemArray: list}
	}
	text := strings.Join(texts, "\n")
	switch {
	case text != "":
	case r.IsError:
		text = "error"
	default:
		text = "(no output)"
	}
	return responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: param.NewOpt(text)}
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
