package editor

import (
	"strings"

	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// Candidate is a completion of the word before the cursor.
type Candidate struct {
	// Text replaces the word.
	Text string
	// Note is a short description of the candidate.
	Note string
}

// Completer returns the candidates for the last word of a text, best first. The text is the input up
// to the cursor. A Completer must be fast, because it is called at each key.
type Completer func(text string) []Candidate

// menu is the list of candidates below the input.
type menu struct {
	all    []Candidate
	word   string // the word that a candidate replaces
	chosen int
}

func (c *menu) shown() bool { return len(c.all) > 0 }

// beforeCursor returns the input up to the cursor.
func (m *model) beforeCursor() string {
	lines := strings.Split(m.area.Value(), "\n")
	at := min(m.area.Line(), len(lines)-1)
	line := []rune(lines[at])
	lines[at] = string(line[:min(m.area.Column(), len(line))])
	return strings.Join(lines[:at+1], "\n")
}

// lastWord returns the word at the end of a text.
func lastWord(text string) string {
	return text[strings.LastIndexAny(text, " \t\n")+1:]
}

// offer shows the candidates while a command or a file name is typed.
func (m *model) offer() {
	m.menu = menu{}
	text := m.beforeCursor()
	word := lastWord(text)
	if !strings.HasPrefix(text, "/") && !strings.HasPrefix(word, "@") || m.e.o.Complete == nil {
		return
	}
	all := m.e.o.Complete(text)
	if len(all) == 1 && all[0].Text == word {
		return
	}
	m.menu = menu{all: all, word: word}
}

// complete inserts the only candidate, or shows the candidates.
func (m *model) complete() {
	m.offer()
	if len(m.menu.all) == 1 {
		m.accept()
	}
}

// accept replaces the word before the cursor by the chosen candidate.
func (m *model) accept() {
	c := m.menu
	m.menu = menu{}
	if !c.shown() {
		return
	}
	text := c.all[c.chosen].Text
	if !strings.HasSuffix(text, "/") {
		text += " "
	}
	before := m.beforeCursor()
	after := []rune(m.area.Value())[len([]rune(before)):]
	before = strings.TrimSuffix(before, c.word) + text
	m.area.SetValue(before + string(after))
	m.moveTo(before)
	if strings.HasSuffix(text, "/") {
		m.offer()
	}
}

// moveTo moves the cursor to the end of the text `before`. The input begins with that text.
func (m *model) moveTo(before string) {
	m.area.MoveToBegin()
	for range strings.Count(before, "\n") {
		m.area.CursorEnd()
		m.area.CursorDown()
	}
	m.area.SetCursorColumn(len([]rune(before[strings.LastIndexByte(before, '\n')+1:])))
}

// menuKey handles a key while the menu is shown. It reports whether the key was for the menu.
func (m *model) menuKey(name string) bool {
	n := len(m.menu.all)
	switch name {
	case "up", "shift+tab", "ctrl+p":
		m.menu.chosen = (m.menu.chosen + n - 1) % n
	case "down", "ctrl+n":
		m.menu.chosen = (m.menu.chosen + 1) % n
	case "tab":
		m.accept()
	case "enter":
		if c := m.menu; c.chosen == 0 && c.word == "" || c.all[c.chosen].Text == c.word {
			return false
		}
		m.accept()
	case "esc":
		m.menu = menu{}
	default:
		return false
	}
	return true
}

// rows returns the visible part of the menu.
func (c *menu) rows(m *model) []string {
	var rows []string
	first := max(0, min(c.chosen-maxMenuRows+1, len(c.all)-maxMenuRows))
	for i := first; i < len(c.all) && i < first+maxMenuRows; i++ {
		mark := "  "
		if i == c.chosen {
			mark = "→ "
		}
		text := mark + terminal.Inline(c.all[i].Text)
		if note := c.all[i].Note; note != "" {
			text += "  " + terminal.Inline(note)
		}
		rows = append(rows, m.dim(text))
	}
	return rows
}
