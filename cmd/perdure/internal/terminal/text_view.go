package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/log/fold"
)

// TextView shows a run to a person. In a pipe it writes the same lines without colors. It erases
// nothing except temporary lines.
type TextView struct {
	Streams
	// serverFlags are the flags with which the suggested commands reach the same server.
	serverFlags string
	p           *page
	// prose formats the model's text in a terminal; nil if the output is not a terminal.
	prose *prose
	// ShowUserMessages shows the user's messages, as the command perdure tail does. perdure run and
	// perdure resume show a message only if another client has sent it.
	ShowUserMessages bool
	// Results says how much of a tool's result is shown if the view has not shown the tool's output.
	Results ResultLimit
	// FoldUserMessages shows only the beginning of the user's long messages.
	FoldUserMessages bool
	// AsksInPlace reports that the command asks the questions of a react agent itself, when the run
	// waits for them. The view then does not show that they are asked.
	AsksInPlace bool
	// StoppedHere reports whether it was this program that asked for a turn to be stopped. It is called
	// once for each such request in the log. nil means that this program never asks for that.
	StoppedHere func() bool
	// ShowSignals makes the view show the signals that a run of the react agent has received, except
	// user messages. The signals of other runs are always shown.
	ShowSignals   bool
	agent         agentEvents
	typedMessages int // number of messages that the user typed here and that are not in the log yet

	open      fold.Blocks // blocks of text
	blocks    map[int64]*shownBlock
	tools     toolCallView
	shownSeqs map[uuid.UUID][]int64 // shown blocks by task, until the task ends
	lastError string                // the last error shown
	headed    uuid.UUID             // the question whose heading was shown last
}

// shownBlock is a growing block of text that is shown.
type shownBlock struct {
	kind    perdure.EventType
	cleaner cleaner
}

// NewTextView returns a view that writes to standard output.
func NewTextView(s Streams, serverFlags string) *TextView {
	v := &TextView{Streams: s, serverFlags: serverFlags, p: newPage(s.Stdout), agent: newAgentEvents()}
	if v.p.width() > 0 {
		v.prose = newProse(v.p)
	}
	v.reset()
	return v
}

func (v *TextView) reset() {
	v.open.Reset()
	v.blocks, v.shownSeqs = map[int64]*shownBlock{}, map[uuid.UUID][]int64{}
	v.tools = toolCallView{p: v.p, limit: &v.Results, calls: map[string]*toolCall{}}
}

// Started shows the id of the run.
func (v *TextView) Started(x *perdure.Execution) {
	v.agent.kind, v.agent.local = x.Kind, x.PersistenceMode == perdure.Local
	v.p.line(StyleDim, "run "+x.ID.String())
}

// AddEntries records the tool calls of existing entries. It prints nothing.
func (v *TextView) AddEntries(entries []perdure.Entry) {
	for _, e := range entries {
		v.tools.addArguments(e)
	}
}

// UserMessage shows a message from standard input if no terminal has echoed it.
func (v *TextView) UserMessage(text string) {
	v.typedMessages++
	if text != "" && !IsTerminal(v.Stdin) {
		v.user(perdure.UserText(text).Content)
	}
}

// Prompt shows a prompt in a terminal.
func (v *TextView) Prompt() {
	if IsTerminal(v.Stdin) {
		v.p.section("user")
		v.p.write(StyleUser, "› ")
		v.p.midLine = false // the user's input ends the line
	}
}

// ConnectionLost shows that the stream broke and continues after the pause.
func (v *TextView) ConnectionLost(cause error, pause time.Duration) {
	v.notice(StyleWarn, fmt.Sprintf("the connection is lost (%s); trying again in %s", ErrorMessage(cause), Duration(pause)))
}

// noticeSection is the page's section of notices and remarks.
const noticeSection = "notice"

func (v *TextView) notice(s Style, text string) {
	v.p.section(noticeSection)
	v.p.indented(noticeGutter, s, text+"\n")
}

// Event shows one event. It skips events without information for people.
func (v *TextView) Event(e client.Event) error {
	r, entry, err := e.Record()
	if err != nil {
		return err
	}
	switch {
	case e.Type == client.EventReset:
		v.reset()
		v.notice(StyleWarn, "the log was replaced; what follows is from its start")
	case r.Chunk != nil:
		v.chunk(&r, e.Type == client.EventSnapshot)
	case entry != nil:
		return v.entryAppended(*entry)
	case r.Type == perdure.EventData:
		v.data(&r)
	case r.Type == perdure.EventBlockClosed:
		return v.closeBlock(&r)
	case r.Type == perdure.EventError:
		return v.failure(e)
	case r.Type == perdure.EventCancelling:
		v.notice(StyleWarn, "cancelling")
	case r.Type == perdure.EventSignal:
		return v.signal(e)
	case r.Type == perdure.EventWaiting:
		return v.waiting(e)
	case strings.HasPrefix(string(r.Type), "question."):
		return v.question(e)
	case r.Type.IsTask():
		return v.task(e, &r)
	}
	return v.p.err
}

// chunk shows the next chunk of a block, or a placeholder for text that only the worker has.
func (v *TextView) chunk(r *perdure.Record, snapshot bool) {
	switch {
	case r.Type == perdure.EventData:
	case r.Chunk.Length > 0 && !snapshot:
		v.Note(ContentOnWorkerText)
	case r.Type == perdure.EventTerminal:
		v.markShown(r)
		v.tools.output(r)
	default:
		v.appendText(r)
	}
}

// appendText shows the new text of a chunk of the model's text or thinking.
func (v *TextView) appendText(r *perdure.Record) {
	b := v.blocks[r.Seq]
	if b == nil {
		b = &shownBlock{kind: r.Type}
		v.blocks[r.Seq] = b
	}
	v.open.Join(r)
	text := b.cleaner.clean(v.open.Take(fold.Event{Record: r}).Text)
	if text == "" {
		return
	}
	v.markShown(r)
	if v.agent.other() {
		v.agent.said[r.Place.MessageID] = true
	}
	if b.kind == perdure.EventToken && v.prose != nil {
		v.prose.write(r.Seq, text)
		return
	}
	v.p.block(r.Seq)
	if b.kind == perdure.EventThinking {
		v.p.section("thinking")
		v.p.indented(thinkingGutter, StyleDim, text)
		return
	}
	v.p.section("text")
	v.p.write(StyleNone, text)
}

// data shows the beginning and the end of a tool call, and the failure of a compaction that a
// person has requested. It skips all other events of type data.
func (v *TextView) data(r *perdure.Record) {
	switch d := fold.PayloadOf(r); {
	case d.Type == fold.CallStart:
		v.tools.call(d.ToolCall.ID, d.ToolCall.Name)
	case d.Type == fold.CallEnd && d.Result != nil:
		v.tools.call(d.ToolCall.ID, d.ToolCall.Name)
		v.tools.result(d.ToolCall.ID, *d.Result)
	case d.Type == "compaction" && d.State == "failed" && d.Reason == perdure.CompactionManual:
		v.notice(StyleWarn, "the conversation was not compacted: "+Clean(d.Error))
	}
}

func (v *TextView) entryAppended(entry perdure.Entry) error {
	if entry.Type == perdure.EntryCompaction {
		return v.compaction(entry, false)
	}
	v.tools.addArguments(entry)
	if entry.Role == perdure.RoleAssistant && v.agent.other() {
		return v.appended(entry)
	}
	if entry.Role != perdure.RoleUser || entry.Type == perdure.EntryLLMCall {
		return v.p.err
	}
	if v.typedMessages > 0 && !v.ShowUserMessages {
		v.typedMessages--
		return v.p.err
	}
	if m, err := entry.Message(); err == nil {
		v.user(m.Content)
	}
	return v.p.err
}

func (v *TextView) user(m perdure.Content) {
	v.p.section("user")
	text, left := Clean(partsText(m.Parts)), ""
	if v.FoldUserMessages && v.p.width() > 0 {
		text, left = foldMessage(text)
	}
	v.p.indented(userGutter, StyleUser, text)
	v.p.newline()
	if left != "" {
		v.p.line(StyleDim, left)
	}
}

// failure shows an error of the model, which ends an answer.
func (v *TextView) failure(e client.Event) error {
	var d struct {
		Message string       `json:"message"`
		Code    perdure.Code `json:"code"`
	}
	if err := e.Decode(&d); err != nil {
		return err
	}
	v.lastError = Clean(withoutCode(d.Message))
	v.notice(StyleError, "error: "+v.lastError)
	return v.p.err
}

// task shows an event of a task. Tool calls begin and end with their tasks. Of a model call, only its
// retries are shown.
func (v *TextView) task(e client.Event, r *perdure.Record) error {
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
		delete(v.shownSeqs, taskOf(r))
	}
	tool := r.Place.ToolCallID != ""
	switch {
	case e.Type == perdure.EventTaskRetrying:
		v.retrying(d.Error, d.Reason, d.NotBefore.Sub(r.CreatedAt.Time))
	case !tool && v.agent.other():
		v.agentTask(r, d.Kind, d.Error)
	case tool && e.Type == perdure.EventTaskStarted:
		v.tools.started(r.Place.ToolCallID, d.Kind, r.CreatedAt.Time)
	case tool && e.Type == perdure.EventTaskInterrupted:
		v.tools.interrupted(r.Place.ToolCallID, r.CreatedAt.Time)
	case tool && e.Type == perdure.EventTaskCancelled:
		v.tools.cancelled(r.Place.ToolCallID, r.CreatedAt.Time)
	case tool && (e.Type == perdure.EventTaskCompleted || e.Type == perdure.EventTaskFailed):
		v.tools.ended(r.Place.ToolCallID, r.CreatedAt.Time)
	}
	return v.p.err
}

// retrying shows the reason of a retry.
func (v *TextView) retrying(why, reason string, in time.Duration) {
	if why == "" {
		why = map[string]string{"lost": "its worker is gone", "timeout": "it took too long"}[reason]
	}
	if why == "" {
		why = "the worker gave it back"
	}
	text := "trying again"
	if in > 0 {
		text += " in " + Duration(in)
	}
	v.notice(StyleWarn, text+": "+Clean(withoutCode(why)))
}
