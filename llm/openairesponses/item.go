package openairesponses

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/gpt"
)

// receivedItem is an output item in an event.
type receivedItem struct {
	Type, ID, Name, Phase gpt.Text
	CallID                gpt.Text `json:"call_id"`
	Arguments             gpt.Text
	Content               []struct{ Type, Text, Refusal gpt.Text }
	Summary               []struct{ Text gpt.Text }
	EncryptedContent      gpt.Text `json:"encrypted_content"`
	raw                   []byte
}

// UnmarshalJSON implements json.Unmarshaler. It also stores the JSON of the whole item, which is
// sent back unchanged later.
func (i *receivedItem) UnmarshalJSON(raw []byte) error {
	type members receivedItem
	err := json.Unmarshal(raw, (*members)(i))
	i.raw = bytes.Clone(raw)
	return err
}

// item is an output item that is being received.
type item struct {
	index gpt.Count
	id    gpt.Text
	call  *llm.Call
	said  llm.GrowingText // the text, refusal or reasoning so far
	ended bool
}

func (a *answer) start(index gpt.Count, out receivedItem) error {
	it := &item{index: index, id: out.ID}
	a.items = append(a.items, it)
	a.Builder.Break()
	if out.Type != "function_call" {
		return nil
	}
	call, err := a.Calls.Start(string(out.Name), string(out.CallID))
	it.call = call
	if err != nil {
		return err
	}
	return a.Calls.Append(call, string(out.Arguments))
}

// find returns the open item to which an event belongs; nil if there is none. It looks for an item
// with the same index in the output. Only if several open items have this index, it compares their
// ids as well. Ids alone are not reliable: some servers send the same id for all items, or a
// different id in each event of an item.
func (a *answer) find(index gpt.Count, id gpt.Text) *item {
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

// end ends an item. It adds the content of the item that no earlier event contained.
func (a *answer) end(index gpt.Count, out receivedItem) error {
	it := a.find(index, out.ID)
	if it == nil {
		if err := a.start(index, out); err != nil {
			return err
		}
		it = a.items[len(a.items)-1]
	}
	it.ended = true
	defer a.Builder.Break()
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

func (a *answer) endCall(it *item, out receivedItem) error {
	if it.call == nil {
		return nil
	}
	if err := a.Calls.Identify(it.call, string(out.Name), string(out.CallID)); err != nil {
		return err
	}
	if err := a.wholeArguments(it, string(out.Arguments)); err != nil {
		return err
	}
	return a.Calls.End(it.call)
}

func (a *answer) endMessage(it *item, out receivedItem) error {
	var whole strings.Builder
	for _, c := range out.Content {
		if c.Type == "refusal" {
			a.refused = true
		}
		whole.WriteString(string(c.Text + c.Refusal))
	}
	if rest, ok := strings.CutPrefix(llm.Joined(whole.String()), llm.Joined(it.said.String())); ok {
		if err := a.Builder.Text(rest); err != nil {
			return err
		}
	}
	if out.Phase != "" && whole.Len() > 0 {
		a.Builder.SignText(string(out.Phase))
	}
	return nil
}

func (a *answer) endReasoning(it *item, out receivedItem) error {
	var texts []string
	for _, s := range out.Summary {
		texts = append(texts, string(s.Text))
	}
	if rest, ok := strings.CutPrefix(llm.Joined(strings.Join(texts, "\n\n")), llm.Joined(it.said.String())); ok {
		if err := a.Builder.Thinking(rest); err != nil {
			return err
		}
	}
	if out.EncryptedContent == "" { // without its encrypted content, reasoning cannot be sent back
		return nil
	}
	var block reasoningBlock
	if err := json.Unmarshal(llm.Escaped(out.raw), &block); err != nil {
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
	a.Builder.SetSignature(string(out.EncryptedContent))
	a.Builder.SetNative(native)
	return nil
}
