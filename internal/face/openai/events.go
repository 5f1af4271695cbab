package openai

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	logfold "github.com/perdure/perdure/internal/log/fold"
)

// Event is an event in the event stream of a response.
type Event struct {
	Type   string
	Number int64 // the event's sequence_number
	Body   json.RawMessage
}

// growing is an item of a response's output, from its first event until after its content is
// complete.
type growing struct {
	Item
	index   int
	message string    // id of the stored message that contains it
	task    uuid.UUID // the task whose output it is
	text    strings.Builder
	closed  bool  // its text is complete
	over    bool  // the item is done
	shown   int64 // for an approval request: sequence number of its last event

	// entry and part are what the item shows: a stored entry, and a part of this entry. result is
	// the tool's result, if the item is a call.
	entry  uuid.UUID
	part   perdure.Part
	result *perdure.Part
}

// emit appends an event to the response's event stream. The parameter `kind` is the type of the
// event. The function `body` gets the head of the event, and must return a struct that begins with
// this head.
func (f *fold) emit(kind string, body func(head) any) {
	raw, err := json.Marshal(body(head{kind, f.next}))
	if err != nil {
		panic(err) // cannot fail: all bodies are types of this package
	}
	f.emitted = append(f.emitted, Event{Type: kind, Number: f.next, Body: raw})
	f.next++
}

type head struct {
	Type   string `json:"type"`
	Number int64  `json:"sequence_number"`
}

func (f *fold) emitResponse(kind string) {
	f.emit(kind, func(h head) any {
		return struct {
			head
			Response Response `json:"response"`
		}{h, f.object()}
	})
}

type itemEvent struct {
	head
	Index int  `json:"output_index"`
	Item  Item `json:"item"`
}

// at contains the members with which events about an item's text begin: the item's id, its index in
// the output, and the index of a part inside the item.
type at struct {
	head
	ItemID string `json:"item_id"`
	Index  int    `json:"output_index"`
	// Content and Summary are indices of a part inside the item. Messages have Content, reasoning
	// has Summary, and other items have neither.
	Content *int `json:"content_index,omitempty"`
	Summary *int `json:"summary_index,omitempty"`
}

var first = 0

func (g *growing) at(h head) at {
	a := at{head: h, ItemID: g.ID, Index: g.index}
	switch g.Type {
	case itemMessage:
		a.Content = &first
	case itemReasoning:
		a.Summary = &first
	}
	return a
}

// isText reports whether the item has text that grows: a message or reasoning.
func (g *growing) isText() bool { return g.Type == itemMessage || g.Type == itemReasoning }

// names are the event types and the content type of one kind of text. There are two kinds: the text
// of messages and that of reasoning.
type names struct{ partAdded, delta, textDone, partDone, content string }

var textNames = map[string]names{
	itemMessage: {
		"response.content_part.added", "response.output_text.delta", "response.output_text.done", "response.content_part.done", contentOutput,
	},
	itemReasoning: {
		"response.reasoning_summary_part.added", "response.reasoning_summary_text.delta",
		"response.reasoning_summary_text.done", "response.reasoning_summary_part.done", contentSummary,
	},
}

// add appends an item to the response's output and emits the item's first event.
func (f *fold) add(i Item, message string) *growing {
	g := &growing{Item: i, index: len(f.items), message: message}
	if g.ID == "" {
		g.ID = itemID(prefixOf(i.Type), f.id(), sideOutput, g.index)
	}
	f.items = append(f.items, g)
	f.emit("response.output_item.added", func(h head) any { return itemEvent{h, g.index, g.Item} })
	return g
}

func (f *fold) itemDone(g *growing) {
	g.over = true
	f.emit("response.output_item.done", func(h head) any { return itemEvent{h, g.index, g.Item} })
}

// show adds an item with an empty text to the output. The item is a message or reasoning.
func (f *fold) show(kind, message string) *growing {
	g := f.add(Item{Type: kind, Status: statusInProgress, Role: "assistant"}, message)
	f.part(g, textNames[kind].partAdded, "")
	return g
}

func (f *fold) part(g *growing, kind, text string) {
	f.emit(kind, func(h head) any {
		return struct {
			at
			Part Content `json:"part"`
		}{g.at(h), Content{Type: textNames[g.Type].content, Text: text}}
	})
}

func (f *fold) delta(g *growing, text string) {
	g.text.WriteString(text)
	f.emit(textNames[g.Type].delta, func(h head) any {
		if g.Type != itemMessage {
			return struct {
				at
				Delta string `json:"delta"`
			}{g.at(h), text}
		}
		return struct {
			at
			Delta    string `json:"delta"`
			Logprobs []any  `json:"logprobs"`
		}{g.at(h), text, []any{}}
	})
}

// close emits the complete text of an item. The item itself is completed by the method `done`, when
// its message is stored.
func (f *fold) close(g *growing, text string) {
	if g.closed {
		return
	}
	g.closed = true
	f.emit(textNames[g.Type].textDone, func(h head) any {
		if g.Type != itemMessage {
			return struct {
				at
				Text string `json:"text"`
			}{g.at(h), text}
		}
		return struct {
			at
			Text     string `json:"text"`
			Logprobs []any  `json:"logprobs"`
		}{g.at(h), text, []any{}}
	})
	f.part(g, textNames[g.Type].partDone, text)
}

// done completes a message or reasoning item with its text and its status.
func (f *fold) done(g *growing, text, status string) {
	f.close(g, text)
	g.Status = status
	content := []Content{{Type: textNames[g.Type].content, Text: text}}
	if g.Type == itemReasoning {
		g.Summary = content
	} else {
		g.Content = content
	}
	f.itemDone(g)
}

// grow applies a change of a message part that is still being streamed and is not stored yet.
func (f *fold) grow(c logfold.Change) {
	g := f.parts[c.Part]
	switch {
	case c.Kind == logfold.PartOpened && c.Part.IsText():
		kind := itemMessage
		if c.Part.Type == perdure.PartThinking {
			kind = itemReasoning
		}
		g = f.show(kind, c.Message.ID)
		g.task = c.Part.Task
		f.parts[c.Part] = g
	case g == nil:
	case c.Kind == logfold.PartGrew:
		f.delta(g, c.Text)
	case c.Kind == logfold.PartClosed:
		f.close(g, g.text.String())
	case c.Kind == logfold.PartWithdrawn && !g.closed:
		// An item whose part was closed before the retry is withdrawn in the method `own`, when the
		// log says that the task is retried.
		f.withdraw(func(other *growing) bool { return other == g })
	}
}

// withdraw withdraws items whose content was superseded, for example because a model call is
// retried. The items stay in the output, incomplete and empty, so that the indices of other items
// do not change.
func (f *fold) withdraw(which func(*growing) bool) {
	for _, g := range f.items {
		if g.over || !which(g) {
			continue
		}
		f.close(g, "")
		g.Status, g.Content, g.Summary = statusIncomplete, nil, nil
		f.itemDone(g)
	}
}
