package openairesponses

import (
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"github.com/perdure/perdure/llm"
)

// item is an open output item.
type item struct {
	index int64
	id    string
	call  *llm.Call
	said  llm.Grown // text, refusal or reasoning so far
	ended bool
}

func (a *answer) start(index int64, out responses.ResponseOutputItemUnion) error {
	it := &item{index: index, id: out.ID}
	a.items = append(a.items, it)
	a.builder.Break()
	if out.Type != "function_call" {
		return nil
	}
	call, err := a.calls.Start(out.Name, out.CallID)
	it.call = call
	if err != nil {
		return err
	}
	return a.calls.Append(call, out.Arguments.OfString)
}

// find returns the open item of an event, nil if there is none. It searches by the index in the
// output, which servers send correctly, and by id if several items have the same index. An id is
// not enough: some servers send the same id for all items, or another id in each event.
func (a *answer) find(index int64, id string) *item {
	var found *item
	for _, it := range a.items {
		if it.ended || it.index != index {
			continue
		}
		if id != "" && it.id == id {
			return it
		}
		found = it
	}
	return found
}

// end ends an item, and adds the content that the events omitted.
func (a *answer) end(index int64, out responses.ResponseOutputItemUnion) error {
	it := a.find(index, out.ID)
	if it == nil {
		if err := a.start(index, out); err != nil {
			return err
		}
		it = a.items[len(a.items)-1]
	}
	it.ended = true
	defer a.builder.Break()
	switch out.Type {
	case "function_call":
		return a.endCall(it, out)
	case "message":
		return a.endMessage(it, out)
	case "reasoning":
		return a.endReasoning(it, out)
	}
	return nil
}

func (a *answer) endCall(it *item, out responses.ResponseOutputItemUnion) error {
	if it.call == nil {
		return nil
	}
	if err := a.calls.Identify(it.call, out.Name, out.CallID); err != nil {
		return err
	}
	if err := a.wholeArguments(it, out.Arguments.OfString); err != nil {
		return err
	}
	return a.calls.End(it.call)
}

func (a *answer) endMessage(it *item, out responses.ResponseOutputItemUnion) error {
	var whole strings.Builder
	for _, c := range out.Content {
		if c.Type == "refusal" {
			a.refused = true
		}
		whole.WriteString(c.Text + c.Refusal)
	}
	if rest, ok := strings.CutPrefix(llm.Joined(whole.String()), llm.Joined(it.said.String())); ok {
		if err := a.builder.Text(rest); err != nil {
			return err
		}
	}
	if out.Phase != "" && whole.Len() > 0 {
		a.builder.SignText(string(out.Phase))
	}
	return nil
}

func (a *answer) endReasoning(it *item, out responses.ResponseOutputItemUnion) error {
	var texts []string
	for _, s := range out.Summary {
		texts = append(texts, s.Text)
	}
	if rest, ok := strings.CutPrefix(llm.Joined(strings.Join(texts, "\n\n")), llm.Joined(it.said.String())); ok {
		if err := a.builder.Thinking(rest); err != nil {
			return err
		}
	}
	if out.EncryptedContent == "" { // the provider has not stored it, so it cannot be sent back
		return nil
	}
	var block reasoningBlock
	if err := json.Unmarshal(llm.Escaped([]byte(out.RawJSON())), &block); err != nil {
		return llm.CutStream(Name)
	}
	block.EncryptedContent = ""
	if string(block.Content) == "null" {
		block.Content = nil
	}
	native, err := json.Marshal(block)
	if err != nil {
		return err
	}
	a.builder.SetSignature(out.EncryptedContent)
	a.builder.SetNative(native)
	return nil
}
