package editor

import (
	"strings"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

const (
	// maxInput is the maximum number of characters of an input.
	maxInput = 256 << 10
	// maxInputRows is the maximum number of visible rows of the input.
	maxInputRows = 8
	// maxInputLines is the maximum number of lines of an input.
	maxInputLines = 10_000
	// maxMenuRows is the maximum number of visible candidates of a completion.
	maxMenuRows = 6
	// maxQueueRows is the maximum number of waiting inputs that are shown above the input line. An
	// input waits until the run takes it.
	maxQueueRows = 3
	promptText   = "› "
)

type (
	closing   struct{}
	statusMsg string
	queueMsg  []string
)

// model is the state of the editor. Its methods run in the goroutine of the tea.Program.
type model struct {
	e             *Editor
	area          textarea.Model
	open          string
	status        string
	queue         []string
	menu          menu
	recall        recall
	width, height int
	closing       bool
	interrupted   bool // the last key was Ctrl-C
}

var dim = lipgloss.NewStyle().Faint(true)

func newModel(e *Editor) *model {
	area := textarea.New()
	area.Prompt, area.ShowLineNumbers, area.EndOfBufferCharacter = promptText, false, ' '
	area.CharLimit, area.MaxHeight, area.MaxContentHeight, area.DynamicHeight = maxInput, maxInputRows, maxInputLines, true
	area.SetPromptFunc(len([]rune(promptText)), func(p textarea.PromptInfo) string {
		if p.LineNumber == 0 {
			return promptText
		}
		return strings.Repeat(" ", len([]rune(promptText)))
	})
	area.KeyMap.InsertNewline.SetKeys("alt+enter", "shift+enter", "ctrl+j")
	area.SetVirtualCursor(false)
	area.SetStyles(plainStyles())
	area.SetHeight(1)
	area.Focus()
	return &model{e: e, area: area, width: e.o.Streams.Stdout.Columns(), height: e.o.Streams.Stdout.Rows(), recall: newRecall(e.o.History)}
}

// plainStyles uses the terminal's own colors.
func plainStyles() textarea.Styles {
	var s textarea.Styles
	look := textarea.StyleState{Prompt: lipgloss.NewStyle().Foreground(lipgloss.Blue).Bold(true), Placeholder: dim}
	s.Focused, s.Blurred = look, look
	s.Cursor.Shape, s.Cursor.Blink = tea.CursorBlock, false
	return s
}

func (m *model) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case closing:
		m.closing = true
		return m, tea.Quit
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.area.SetWidth(msg.Width)
		return m, nil
	case openMsg:
		m.open = string(msg)
		return m, nil
	case statusMsg:
		m.status = string(msg)
		return m, nil
	case queueMsg:
		m.queue = msg
		return m, nil
	case tea.KeyPressMsg:
		return m, m.key(msg)
	case tea.PasteMsg:
		msg.Content = terminal.Clean(msg.Content)
		return m, m.edit(msg)
	}
	return m, m.edit(msg)
}

// key handles a key, or passes it to the input.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	again := m.interrupted
	m.interrupted = false
	if m.menu.shown() && m.menuKey(name) {
		return nil
	}
	switch name {
	case "ctrl+c":
		m.set("")
		m.e.o.Interrupt(again)
		m.interrupted = true
		return nil
	case "ctrl+d":
		if m.area.Value() == "" {
			m.closing = true
			return tea.Quit
		}
	case "esc":
		m.e.o.Escape()
		return nil
	case "enter":
		return m.enter()
	case "tab":
		m.complete()
		return nil
	case "up", "down", "ctrl+p", "ctrl+n":
		if m.recalls(name == "up" || name == "ctrl+p") {
			return nil
		}
	}
	return m.edit(k)
}

// edit passes a message to the input, and updates the menu of a completion.
func (m *model) edit(msg tea.Msg) tea.Cmd {
	before := m.area.Value()
	var cmd tea.Cmd
	m.area, cmd = m.area.Update(msg)
	if m.area.Value() != before {
		m.recall.reset()
		m.offer()
	}
	return cmd
}

// enter submits the input. If the input ends with a backslash, enter instead replaces the backslash
// by a line break.
func (m *model) enter() tea.Cmd {
	text := m.area.Value()
	remembered := m.e.o.Remembers == nil || m.e.o.Remembers(text)
	if head, ok := strings.CutSuffix(text, `\`); ok {
		m.set(head + "\n")
		return nil
	}
	select {
	case m.e.inputs <- strings.TrimRight(text, " \n"):
	default:
		return nil // too many inputs wait; the text stays in the line
	}
	m.set("")
	if remembered {
		m.recall.add(text)
	}
	return nil
}

// set replaces the input.
func (m *model) set(text string) {
	m.area.SetValue(text)
	m.area.MoveToEnd()
	m.menu = menu{}
	m.recall.reset()
}

// View implements tea.Model.
func (m *model) View() tea.View {
	if m.closing {
		m.e.reflow.next.Store(nil)
		return tea.NewView("")
	}
	rows := m.openRows()
	for i, text := range m.queue {
		if i == maxQueueRows {
			rows = append(rows, m.dim("  …"))
			break
		}
		rows = append(rows, m.dim("  waits: "+terminal.Inline(text)))
	}
	above := len(rows)
	rows = append(rows, strings.Split(m.area.View(), "\n")...)
	rows = append(rows, m.menu.rows(m)...)
	status := m.status
	if m.interrupted {
		status = "Ctrl-C again leaves the chat"
	}
	rows = append(rows, m.dim(status))
	v := tea.NewView(strings.Join(rows, "\n"))
	if c := m.area.Cursor(); c != nil {
		c.Y += above
		v.Cursor = c
	}
	m.e.reflow.next.Store(newFrame(rows, v.Cursor, m.height))
	return v
}

// dim returns a faint line that fits the terminal.
func (m *model) dim(text string) string {
	return dim.Render(ansi.Truncate(text, max(m.width-1, 1), "…"))
}

// openRows returns the last rows of the output that is not complete yet (m.open), wrapped to the
// width of the terminal. The rows take at most a third of the terminal's height.
func (m *model) openRows() []string {
	if m.open == "" {
		return nil
	}
	var rows []string
	for line := range strings.SplitSeq(strings.TrimRight(m.open, "\n"), "\n") {
		rows = append(rows, strings.Split(ansi.Wrap(expandTabs(line), max(m.width-1, 1), ""), "\n")...)
	}
	return rows[max(0, len(rows)-max(m.height/3, 1)):]
}
