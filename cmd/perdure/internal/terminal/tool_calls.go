package terminal

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/log/fold"
)

// toolCallView shows tool calls. Of concurrent calls, one is live: its output is shown at once. The
// output of another call is stored until that call is live, so that lines never mix.
type toolCallView struct {
	p     *page
	limit *ResultLimit
	calls map[string]*toolCall
	queue []*toolCall // begun and not ended, in order
	last  *toolCall   // the call of the last header or output
}

type toolCall struct {
	id, name, args string
	hasHeader      bool // the header of the call was written
	output         bool // some output of the call was shown while it ran
	waitingOutput  string
	begun, end     time.Time
	endReason      string // the reason of the call's end, if the call did not end by itself
	hasVerdict     bool   // the end of the call is shown
	cleaner        cleaner
	folded         folded
}

// toolSection is the page's section of all tool calls.
const toolSection = "tools"

func (t *toolCallView) call(id, name string) *toolCall {
	c := t.calls[id]
	if c == nil {
		c = &toolCall{id: id}
		t.calls[id] = c
	}
	if name != "" {
		c.name = name
	}
	return c
}

// addArguments reads the arguments of calls from the message of the model that contains the calls.
func (t *toolCallView) addArguments(e perdure.Entry) {
	if e.Role != perdure.RoleAssistant || len(e.Content) == 0 {
		return
	}
	m, err := e.Message()
	if err != nil {
		return // a call that cannot be decoded is shown only by its name
	}
	for _, part := range m.ToolCalls() {
		t.call(part.ID, part.Name).args = summarise(part)
	}
}

func (t *toolCallView) started(id, name string, at time.Time) {
	c := t.call(id, name)
	c.begun, c.end, c.hasVerdict = at, time.Time{}, false
	if !slices.Contains(t.queue, c) {
		t.queue = append(t.queue, c)
	}
	if t.queue[0] == c {
		t.header(c)
	}
}

// header writes the first line of a call.
func (t *toolCallView) header(c *toolCall) {
	if c.hasHeader {
		return
	}
	c.hasHeader = true
	t.last = c
	t.p.section(toolSection)
	t.p.newline()
	t.p.write(StyleTool, "● "+c.name)
	if c.args != "" {
		t.p.write(StyleNone, " "+c.args)
	}
	t.p.newline()
}

// output shows the next piece of a tool call's output, or stores it while another call is live (see
// toolCallView).
func (t *toolCallView) output(r *perdure.Record) {
	c := t.call(r.Place.ToolCallID, "")
	text := c.cleaner.clean(r.Chunk.Text)
	if text == "" {
		return
	}
	c.output = true
	if len(t.queue) > 0 && t.queue[0] != c && slices.Contains(t.queue, c) {
		c.waitingOutput += text
		return
	}
	t.print(c, text)
}

func (t *toolCallView) print(c *toolCall, text string) {
	if text == "" {
		return
	}
	t.resume(c)
	if t.p.width() > 0 {
		text = c.folded.take(text)
	}
	t.p.indented(outputGutter, StyleDim, text)
	if n := c.folded.lines(); n > 0 {
		t.p.newline()
		t.p.showTemporary("  │ … " + count(n, "more line"))
	}
}

// resume begins the output of a call. If the screen last showed another call, resume prints the
// title of this call again.
func (t *toolCallView) resume(c *toolCall) {
	t.header(c)
	if t.last != c {
		t.last = c
		t.p.line(StyleTool, "● "+c.title())
	}
	t.p.section(toolSection)
}

// unfold shows the end of an output that was folded.
func (t *toolCallView) unfold(c *toolCall) {
	left, end := c.folded.rest()
	if end == "" {
		return
	}
	t.resume(c)
	if left > 0 {
		t.p.line(StyleDim, outputGutter.text+"… "+count(left, "line")+" left out")
	}
	t.p.indented(outputGutter, StyleDim, end)
	t.p.newline()
}

// ended records that a tool call has ended, and shows the rest of its output. If the call was live
// (see toolCallView), the next call in the queue becomes live.
func (t *toolCallView) ended(id string, at time.Time) {
	c := t.call(id, "")
	c.end = at
	i := slices.Index(t.queue, c)
	if i < 0 {
		return
	}
	t.queue = slices.Delete(t.queue, i, i+1)
	if i == 0 {
		t.unfold(c)
	}
	if i > 0 {
		t.header(c)
		t.print(c, c.waitingOutput)
		t.unfold(c)
		c.waitingOutput = ""
		return
	}
	if len(t.queue) > 0 {
		next := t.queue[0]
		t.header(next)
		t.print(next, next.waitingOutput)
		next.waitingOutput = ""
	}
}

func (t *toolCallView) interrupted(id string, at time.Time) {
	c := t.call(id, "")
	c.endReason = "interrupted: it was cut off, and may have taken effect"
	t.ended(id, at)
}

func (t *toolCallView) cancelled(id string, at time.Time) {
	c := t.call(id, "")
	t.ended(id, at)
	t.header(c)
	c.endReason = "cancelled"
	t.verdict(c, StyleWarn, "✗", c.endReason)
	c.hasVerdict = true
}

// maxResultLines is the maximum number of lines that are shown of a result, if no output was shown
// while the tool ran.
const maxResultLines = 10

// ResultLimit says how much of a result is shown if no output was shown while the tool ran. Its zero value
// stands for the first lines.
type ResultLimit struct {
	All    bool   // every line is shown
	Remedy string // the command that shows the lines that were left out; "" if none is suggested
}

// result shows the end of a call: the rest of its output, its result and the line that says whether it
// succeeded. If the screen last showed another call, that line comes before the result and names the
// call.
func (t *toolCallView) result(id string, r fold.CallResult) {
	c := t.call(id, "")
	if c.hasVerdict {
		return
	}
	t.header(c)
	t.print(c, c.waitingOutput)
	t.unfold(c)
	c.waitingOutput = ""
	body, why := c.resultLines(r)
	apart := t.last != c
	if !apart {
		t.body(body, r.IsError)
	}
	switch {
	case c.endReason != "":
		t.verdict(c, StyleWarn, "✗", c.endReason)
	case r.IsError:
		t.verdict(c, StyleError, "✗", why)
	default:
		t.verdict(c, StyleGood, "✓", why)
	}
	if apart {
		t.body(body, r.IsError)
	}
}

// resultLines splits the result of a call into the lines to show and the reason why the call ended.
// The reason may be the last line of the result, such as [exit code 1]. If the output of a command
// was already shown while it ran, there are no lines to show.
func (c *toolCall) resultLines(r fold.CallResult) (body []string, why string) {
	lines := strings.Split(strings.TrimSpace(Clean(r.Text)), "\n")
	last := lines[len(lines)-1]
	switch inner, marked := strings.CutPrefix(last, "["); {
	case c.endReason != "":
		return nil, ""
	case c.output && marked && r.IsError:
		return nil, strings.TrimSuffix(inner, "]")
	case c.output:
		return nil, ""
	case len(lines) == 1:
		return nil, last
	case marked && r.IsError && strings.HasSuffix(inner, "]"):
		return lines[:len(lines)-1], strings.TrimSuffix(inner, "]")
	}
	return lines, ""
}

// verdict writes the last line of a call. The line names the call if the screen last showed another
// call.
func (t *toolCallView) verdict(c *toolCall, s Style, mark, why string) {
	t.p.section(toolSection)
	var parts []string
	if t.last != c {
		parts = append(parts, c.title())
	}
	if why != "" {
		parts = append(parts, why)
	}
	if took := c.end.Sub(c.begun); !c.end.IsZero() && !c.begun.IsZero() {
		parts = append(parts, Duration(took))
	}
	t.p.line(s, strings.TrimRight("  "+mark+" "+strings.Join(parts, " · "), " "))
}

func (c *toolCall) title() string { return strings.TrimSpace(c.name + " " + c.args) }

// body shows a result: a change completely, any other result only in its first lines, unless the
// field `limit` says otherwise.
func (t *toolCallView) body(lines []string, isError bool) {
	if len(lines) == 0 {
		return
	}
	t.p.section(toolSection)
	isDiff := slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "@@ ") })
	most := maxResultLines
	if isDiff || t.limit.All {
		most = len(lines)
	}
	for i, line := range lines {
		if i == most {
			left := "  │ … " + count(len(lines)-most, "more line")
			if t.limit.Remedy != "" {
				left += ":  " + t.limit.Remedy
			}
			t.p.line(StyleDim, left)
			break
		}
		t.p.indented(outputGutter, lineStyle(line, isDiff, isError), line+"\n")
	}
}

func lineStyle(line string, isDiff, isError bool) Style {
	switch {
	case isDiff && strings.HasPrefix(line, "+"):
		return StyleAdded
	case isDiff && strings.HasPrefix(line, "-"):
		return StyleRemoved
	case isError:
		return StyleError
	}
	return StyleDim
}

// mainArguments are the most informative arguments of calls, in order of preference.
var mainArguments = []string{"command", "path", "pattern", "file", "url", "query"}

const maxTitle = 120

// summarise formats a call's arguments in one line: the main arguments, or all if there are none.
func summarise(part perdure.Part) string {
	if part.RawArguments != "" {
		return CallSummary([]byte(part.RawArguments))
	}
	return CallSummary(part.Arguments)
}

// CallSummary returns the beginning of a call's arguments in one line: the main arguments, or all if
// there are none.
func CallSummary(arguments []byte) string {
	text := string(arguments)
	var dense bytes.Buffer
	if json.Compact(&dense, arguments) == nil {
		text = dense.String()
	}
	var args map[string]any
	if json.Unmarshal([]byte(text), &args) == nil {
		var said []string
		for _, name := range mainArguments {
			if value, ok := args[name].(string); ok {
				said = append(said, value)
			}
		}
		if len(said) > 0 {
			if args["pattern"] != nil { // the pattern comes before the path, as a user would type it
				slices.Reverse(said)
			}
			text = strings.Join(said, " ")
		}
	}
	if text == "{}" {
		return ""
	}
	text = strings.ReplaceAll(strings.TrimSpace(Visible(text)), "\n", " ⏎ ")
	if runes := []rune(text); len(runes) > maxTitle {
		text = string(runes[:maxTitle-1]) + "…"
	}
	return text
}
