package editor

import (
	"io"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// output shows the output of a command above the input line. Complete lines scroll up. An incomplete line,
// called open, is shown directly above the input line until it is complete.
type output struct {
	screen *terminal.Screen
	device io.Writer
	send   func(tea.Msg)

	mu     sync.Mutex
	open   string // text after the last line end
	state  outputState
	held   []string // lines that are held back until they can be shown
	height func() int
}

type outputState int

const (
	running  outputState = iota
	holding              // another program has the terminal, or the editor is ending
	direct               // the editor has ended
	starting             // the input line is not on the terminal yet
)

// openMsg is the message with the text of the incomplete line, which is shown directly above the
// input line.
type openMsg string

func newOutput(s *terminal.Screen) *output {
	return &output{screen: s, device: s.Device(), send: func(tea.Msg) {}, height: s.Rows}
}

// Write implements io.Writer. It need not check the text: the text comes from a [terminal.Screen],
// which has made control sequences visible.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state == direct {
		return o.device.Write(p)
	}
	text := o.open + string(p)
	end := strings.LastIndexByte(text, '\n') + 1
	lines := strings.Split(text[:end], "\n")
	o.open = afterErase(text[end:])
	for _, line := range lines[:len(lines)-1] {
		o.held = append(o.held, o.rows(afterErase(line))...)
	}
	if o.state == running {
		o.flush()
	}
	return len(p), nil
}

// SetOpen shows the text of an incomplete line, until the next write. It implements terminal.Frame.
func (o *output) SetOpen(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = ""
	if o.state == running {
		o.send(openMsg(text))
	}
}

// afterErase returns what remains visible of a line that contains sequences to erase the line: the text
// after the last sequence.
func afterErase(line string) string {
	if at := strings.LastIndex(line, terminal.EraseLine); at >= 0 {
		return line[at+len(terminal.EraseLine):]
	}
	return line
}

// rows splits a line into rows of the terminal's width.
func (o *output) rows(line string) []string {
	width := o.screen.Columns()
	line = expandTabs(line)
	if width <= 0 || ansi.StringWidth(line) <= width {
		return []string{line}
	}
	return strings.Split(ansi.Hardwrap(line, width, true), "\n")
}

// expandTabs replaces each tab by the spaces up to the next tab stop, so that the width of the line does
// not depend on where it is shown.
func expandTabs(line string) string {
	for {
		before, after, ok := strings.Cut(line, "\t")
		if !ok {
			return line
		}
		line = before + strings.Repeat(" ", 8-ansi.StringWidth(before)%8) + after
	}
}

// frameRows divides the terminal's height. Output is inserted in portions of fewer rows than half of
// the height, because the input line, its menu and its status may need the other half.
const frameRows = 2

// flush sends the buffered rows, in portions that scroll less than the terminal's height. It first
// sends the current text of the open line. Otherwise a line that is now complete would be shown
// twice: as a row, and below it still as the open line.
func (o *output) flush() {
	o.send(openMsg(o.open))
	most := max(o.height()/frameRows-1, 1)
	for len(o.held) > 0 {
		n := min(most, len(o.held))
		text := strings.Join(o.held[:n], "\n")
		if text == "" {
			text = ansi.ResetStyle // an empty text would not be inserted
		}
		o.send(tea.Println(text)())
		o.held = o.held[n:]
	}
	o.held = nil
}

// hold buffers all output until a call of release, which shows it.
func (o *output) hold() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state == running || o.state == starting {
		o.state = holding
	}
}

func (o *output) release() { o.runFrom(holding) }

// drawn reports that the input line is on the terminal. Before that, nothing can be inserted above
// the input line.
func (o *output) drawn() { o.runFrom(starting) }

// runFrom shows the buffered output if the current state is s. Later output is then shown at once.
func (o *output) runFrom(s outputState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state == s {
		o.state = running
		o.flush()
	}
}

// end writes the buffered output to the terminal. From then on, Write passes output to the terminal
// unchanged, because the input line is gone.
func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.state = direct
	var rest strings.Builder
	for _, line := range o.held {
		rest.WriteString(line + "\n")
	}
	rest.WriteString(o.open)
	o.held, o.open = nil, ""
	_, _ = io.WriteString(o.device, rest.String()) // the terminal may be gone
}
