package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// maxPauses is the maximum number of requests with which one model call continues a paused answer.
const maxPauses = 5

// pausedAnswer contains the content blocks of an answer that ended with pause_turn. The API
// continues the answer if the next request contains these blocks unchanged, including those of the
// API's own tools.
type pausedAnswer struct {
	blocks []json.RawMessage
	usage  perdure.Usage // usage of the earlier requests
	times  int
}

// continues reports whether the answer is paused and another request must continue it. If so, it
// stores the answer's content blocks. An answer with tool calls is not continued, because the agent
// must run these calls first.
func (p *pausedAnswer) continues(a *answer) bool {
	if !a.Done || a.stop != anthropic.StopReasonPauseTurn || len(a.Calls.All()) > 0 || p.times == maxPauses {
		return false
	}
	blocks := a.echo.blocks()
	if len(blocks) == 0 {
		return false
	}
	p.times++
	p.blocks = append(p.blocks, blocks...)
	p.usage = p.usage.Add(a.Usage)
	a.again()
	return true
}

// message returns all blocks received so far as one assistant message, for the request that
// continues the answer.
func (p *pausedAnswer) message() (anthropic.MessageParam, error) {
	raw, err := json.Marshal(map[string]any{"role": "assistant", "content": p.blocks})
	return param.Override[anthropic.MessageParam](json.RawMessage(raw)), err
}

// again prepares `a` for the stream of the next request, which continues the answer. The parts
// received so far stay in `a`.
func (a *answer) again() {
	a.Builder.Break()
	a.open, a.echo = map[int64]*block{}, blockEcho{}
	a.stop, a.Usage, a.Done = "", perdure.Usage{}, false
}

// blockEcho collects the content blocks of a stream unchanged, so that they can be sent back.
type blockEcho struct {
	order []int64
	open  map[int64]*echoedBlock
}

// echoedBlock is one content block: its JSON members as received at the start of the block, and the
// deltas that extend some of them.
type echoedBlock struct {
	members   map[string]json.RawMessage
	added     map[string]*llm.GrowingText
	input     llm.GrowingText
	citations []json.RawMessage
}

func (e *blockEcho) take(event anthropic.MessageStreamEventUnion) {
	switch event.Type {
	case "content_block_start":
		b := &echoedBlock{added: map[string]*llm.GrowingText{}}
		if json.Unmarshal(llm.Escaped([]byte(event.ContentBlock.RawJSON())), &b.members) != nil || b.members == nil {
			return
		}
		if e.open == nil {
			e.open = map[int64]*echoedBlock{}
		}
		e.open[event.Index] = b
		e.order = append(e.order, event.Index)
	case "content_block_delta":
		if b := e.open[event.Index]; b != nil {
			b.add(event)
		}
	}
}

func (b *echoedBlock) add(event anthropic.MessageStreamEventUnion) {
	switch d := event.Delta; d.Type {
	case "text_delta":
		b.more("text", d.Text)
	case "thinking_delta":
		b.more("thinking", d.Thinking)
	case "signature_delta":
		b.more("signature", d.Signature)
	case "input_json_delta":
		b.input.Add(d.PartialJSON)
	case "citations_delta":
		var said struct {
			Delta struct{ Citation json.RawMessage }
		}
		if json.Unmarshal(llm.Escaped([]byte(event.RawJSON())), &said) == nil && len(said.Delta.Citation) > 0 {
			b.citations = append(b.citations, said.Delta.Citation)
		}
	}
}

// more appends the text of a delta to the text of a member of the block.
func (b *echoedBlock) more(member, piece string) {
	if b.added[member] == nil {
		b.added[member] = &llm.GrowingText{}
	}
	b.added[member].Add(piece)
}

// blocks returns the content blocks of the stream in order, without blank text blocks, which the API
// refuses.
func (e *blockEcho) blocks() []json.RawMessage {
	var all []json.RawMessage
	for _, index := range slices.Compact(slices.Clone(e.order)) {
		if raw, ok := e.open[index].json(); ok {
			all = append(all, raw)
		}
	}
	return all
}

func (b *echoedBlock) json() (json.RawMessage, bool) {
	for member, more := range b.added {
		var before string
		_ = json.Unmarshal(b.members[member], &before) // if the member is absent or null, before stays empty
		b.set(member, before+llm.Joined(more.String()))
	}
	if input := llm.Joined(b.input.String()); json.Valid([]byte(input)) {
		b.members["input"] = json.RawMessage(input)
	}
	if len(b.citations) > 0 {
		b.set("citations", b.citations)
	}
	var kind, text string
	_ = json.Unmarshal(b.members["type"], &kind)
	_ = json.Unmarshal(b.members["text"], &text)
	raw, err := json.Marshal(b.members)
	return raw, err == nil && (kind != "text" || strings.TrimSpace(text) != "")
}

func (b *echoedBlock) set(member string, v any) {
	if raw, err := json.Marshal(v); err == nil { // strings and raw JSON always encode
		b.members[member] = raw
	}
}
