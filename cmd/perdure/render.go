package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// textView shows a run to a person. In a pipe it writes the same lines without colors. It never
// erases output.
type textView struct {
	*app
	p *page
	// prose formats the model's text in a terminal; nil elsewhere.
	prose *prose
	// users shows the user's messages, as tail does. run and resume show a message only if it was
	// sent elsewhere.
	users bool
	own   int // number of expected messages that were typed here

	blocks map[int64]*shownBlock
	tools  tools
	spoken map[uuid.UUID][]int64 // shown blocks by task, until the task ends
	failed string                // the last error shown
}

// shownBlock is the shown part of a growing block.
type shownBlock struct {
	kind  perdure.EventType
	shown int64 // bytes
	plain plain
}

func newTextView(a *app) *textView {
	v := &textView{app: a, p: newPage(a.stdout)}
	if v.p.width() > 0 {
		v.prose = newProse(v.p)
	}
	v.reset()
	return v
}

func (v *textView) reset() {
	v.blocks, v.spoken = map[int64]*shownBlock{}, map[uuid.UUID][]int64{}
	v.tools = tools{p: v.p, calls: map[string]*toolCall{}}
}

func (v *textView) started(x *perdure.Execution) {
	v.p.line(styleDim, "run "+x.ID.String())
}

func (v *textView) know(entries []perdure.Entry) {
	for _, e := range entries {
		v.tools.learn(e)
	}
}

// said shows a message from standard input if no terminal has echoed it.
func (v *textView) said(text string) {
	v.own++
	if text != "" && !isTerminal(v.stdin) {
		v.user(perdure.UserText(text).Content)
	}
}

func (v *textView) ask() {
	if isTerminal(v.stdin) {
		v.p.section("user")
		v.p.write(styleUser, "› ")
		v.p.middle = false // the user's input ends the line
	}
}

func (v *textView) lost(cause error, pause time.Duration) {
	v.notice(styleWarn, fmt.Sprintf("the connection is lost (%s); trying again in %s", plainError(cause), seconds(pause)))
}

func (v *textView) notice(s style, text string) {
	v.p.section("notice")
	v.p.line(s, text)
}

// event shows one event. It skips events without information for people.
func (v *textView) event(e client.Event) error {
	h, err := e.Head()
	if err != nil {
		return err
	}
	if v.withheld(e) {
		return v.p.err
	}
	switch e.Type {
	case client.EventReset:
		v.reset()
		v.notice(styleWarn, "the log was replaced; what follows is from its start")
	case perdure.EventToken, perdure.EventThinking:
		v.grow(e.Type, h)
	case perdure.EventTerminal:
		v.shows(h)
		v.tools.output(h)
	case client.EventSnapshot:
		v.snapshot(h)
	case perdure.EventData:
		return v.data(h)
	case perdure.EventEntry:
		return v.entry(e)
	case perdure.EventBlockClosed:
		return v.closed(e, h)
	case perdure.EventError:
		return v.failure(e)
	case perdure.EventCancelling:
		v.notice(styleWarn, "cancelling")
	default:
		if e.Type.IsTask() {
			return v.task(e, h)
		}
	}
	return v.p.err
}

// withheld shows a placeholder for content that is on the worker.
func (v *textView) withheld(e client.Event) bool {
	switch e.Type {
	case perdure.EventToken, perdure.EventThinking, perdure.EventTerminal:
	default:
		return false
	}
	var d struct {
		Content string `json:"content"`
	}
	if e.Decode(&d) != nil || d.Content != "worker" {
		return false
	}
	v.p.section("text")
	v.p.line(styleDim, onWorkerText)
	return true
}

// grow shows the next chunk of the model's text or thinking.
func (v *textView) grow(kind perdure.EventType, h client.Head) {
	b := v.blocks[h.Seq]
	if b == nil {
		b = &shownBlock{kind: kind}
		v.blocks[h.Seq] = b
	}
	text := h.Text()
	if known := b.shown - h.Offset; known > 0 { // a snapshot overlaps
		if known >= int64(len(text)) {
			return
		}
		text = text[known:]
	}
	b.shown += int64(len(text))
	if text = b.plain.clean(text); text == "" {
		return
	}
	v.shows(h)
	if kind == perdure.EventToken && v.prose != nil {
		v.prose.write(h.Seq, text)
		return
	}
	v.p.block(h.Seq)
	if kind == perdure.EventThinking {
		v.p.section("thinking")
		v.p.indented(styleDim, "┊ ", text)
		return
	}
	v.p.section("text")
	v.p.write(styleNone, text)
}

func (v *textView) snapshot(h client.Head) {
	switch h.Type {
	case perdure.EventToken, perdure.EventThinking:
		v.grow(h.Type, h)
	case perdure.EventTerminal:
		v.shows(h)
		v.tools.output(h)
	}
}

func (v *textView) data(h client.Head) error {
	var d struct {
		Type     string `json:"type"`
		ToolCall struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"tool_call"`
		Result *toolResult `json:"result"`
	}
	if (client.Event{Type: perdure.EventData, Data: h.Data}).Decode(&d) != nil {
		return v.p.err // an application's event, of any form
	}
	switch d.Type {
	case "tool_call_start":
		v.tools.named(d.ToolCall.ID, d.ToolCall.Name)
	case "tool_call_end":
		if d.Result != nil {
			v.tools.named(d.ToolCall.ID, d.ToolCall.Name)
			v.tools.result(d.ToolCall.ID, *d.Result)
		}
	}
	return v.p.err
}

func (v *textView) entry(e client.Event) error {
	var entry perdure.Entry
	if err := e.Decode(&entry); err != nil {
		return err
	}
	v.tools.learn(entry)
	if entry.Role != perdure.RoleUser || entry.Type == perdure.EntryLLMCall {
		return v.p.err
	}
	if v.own > 0 && !v.users {
		v.own--
		return v.p.err
	}
	if m, err := entry.Message(); err == nil {
		v.user(m.Content)
	}
	return v.p.err
}

func (v *textView) user(m perdure.Content) {
	v.p.section("user")
	v.p.indented(styleUser, "› ", cleanAll(wordsOf(m.Parts)))
	v.p.newline()
}

// failure shows an error of the model, which ends an answer.
func (v *textView) failure(e client.Event) error {
	var d struct {
		Message string       `json:"message"`
		Code    perdure.Code `json:"code"`
	}
	if err := e.Decode(&d); err != nil {
		return err
	}
	v.failed = cleanAll(withoutCode(d.Message))
	v.notice(styleError, "error: "+v.failed)
	return v.p.err
}

// withoutCode removes the code at the beginning of an error's text.
func withoutCode(text string) string {
	code, rest, ok := strings.Cut(text, ": ")
	if ok && strings.Contains(code, "_") && !strings.Contains(code, " ") {
		return rest
	}
	return text
}

// task follows the tasks. Tool calls begin and end with their tasks; a model call shows its
// retries.
func (v *textView) task(e client.Event, h client.Head) error {
	var d struct {
		Kind      string       `json:"kind"`
		Error     string       `json:"error"`
		Reason    string       `json:"reason"`
		NotBefore perdure.Time `json:"notBefore"`
	}
	if err := e.Decode(&d); err != nil {
		return err
	}
	switch e.Type {
	case perdure.EventTaskCompleted, perdure.EventTaskFailed, perdure.EventTaskInterrupted, perdure.EventTaskCancelled:
		delete(v.spoken, taskOf(h))
	}
	tool := h.ToolCallID != ""
	switch {
	case e.Type == perdure.EventTaskRetrying:
		v.retrying(d.Error, d.Reason, d.NotBefore.Sub(h.CreatedAt.Time))
	case tool && e.Type == perdure.EventTaskStarted:
		v.tools.started(h.ToolCallID, d.Kind, h.CreatedAt.Time)
	case tool && e.Type == perdure.EventTaskInterrupted:
		v.tools.interrupted(h.ToolCallID, h.CreatedAt.Time)
	case tool && e.Type == perdure.EventTaskCancelled:
		v.tools.cancelled(h.ToolCallID, h.CreatedAt.Time)
	case tool && (e.Type == perdure.EventTaskCompleted || e.Type == perdure.EventTaskFailed):
		v.tools.ended(h.ToolCallID, h.CreatedAt.Time)
	}
	return v.p.err
}

// retrying shows the reason of a retry.
func (v *textView) retrying(why, reason string, in time.Duration) {
	if why == "" {
		why = map[string]string{"lost": "its worker is gone", "timeout": "it took too long"}[reason]
	}
	if why == "" {
		why = "the worker gave it back"
	}
	text := "trying again"
	if in > 0 {
		text += " in " + seconds(in)
	}
	v.notice(styleWarn, text+": "+cleanAll(withoutCode(why)))
}

// seconds formats a duration for people.
func seconds(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
