package editor

import (
	"bytes"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// TestANarrowerTerminalErasesTheWrappedFrame checks that the editor erases all rows into which the
// terminal has wrapped its frame, up to the frame's first row.
func TestANarrowerTerminalErasesTheWrappedFrame(t *testing.T) {
	long := strings.Repeat("x", 100)
	for name, c := range map[string]struct {
		rows   []string
		cursor tea.Cursor
		height int
		want   string
	}{
		"short":         {[]string{"› a", "status"}, tea.Cursor{Position: tea.Position{X: 3}}, 24, ""},
		"one row":       {[]string{long, "status"}, tea.Cursor{Position: tea.Position{X: 100}}, 24, "\x1b[2A\r\x1b[J"},
		"its begin":     {[]string{long, "status"}, tea.Cursor{Position: tea.Position{X: 2}}, 24, ""},
		"a full row":    {[]string{long[:80], "status"}, tea.Cursor{Position: tea.Position{X: 80}}, 24, "\x1b[A\r\x1b[J"},
		"rows above":    {[]string{long, "", long[:40] + "   ", "› a"}, tea.Cursor{Position: tea.Position{X: 3, Y: 3}}, 24, "\x1b[5A\r\x1b[J\n\n\n"},
		"the last rows": {[]string{long, long, "› a"}, tea.Cursor{Position: tea.Position{X: 3, Y: 2}}, 2, "\x1b[3A\r\x1b[J\n"},
		"no cursor":     {[]string{long, "› a"}, tea.Cursor{}, 24, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var device bytes.Buffer
			r := &reflow{device: &device, wraps: true}
			r.next.Store(newFrame(c.rows, &c.cursor, c.height))
			r.draws()
			for _, width := range []int{120, 40, 40, 120, 40} {
				r.filter(nil, tea.WindowSizeMsg{Width: width, Height: c.height})
			}
			if got := device.String(); got != c.want {
				t.Errorf("written is %q, want %q", got, c.want)
			}
		})
	}
}

// TestTerminalsThatDoNotWrapKeepTheirRows checks that the editor erases nothing if the terminal does
// not wrap rows, or while another program has the terminal.
func TestTerminalsThatDoNotWrapKeepTheirRows(t *testing.T) {
	for _, c := range []struct {
		variables map[string]string
		want      bool
	}{
		{map[string]string{"TERM": "xterm-256color"}, true},
		{map[string]string{"TERM": "screen-256color", "TMUX": "x", "XTERM_VERSION": "XTerm(390)"}, true},
		{map[string]string{"TERM": "xterm", "XTERM_VERSION": "XTerm(390)"}, false},
		{map[string]string{"TERM": "screen", "STY": "1.pts"}, false},
		{map[string]string{"TERM": "linux"}, false},
	} {
		if got := wrapsRows(func(name string) string { return c.variables[name] }); got != c.want {
			t.Errorf("%v wraps: %v", c.variables, got)
		}
	}
	var device bytes.Buffer
	for _, r := range []*reflow{{device: &device}, {device: &device, wraps: true}} {
		r.next.Store(newFrame([]string{strings.Repeat("x", 100)}, &tea.Cursor{Position: tea.Position{X: 100}}, 24))
		r.draws()
		r.filter(nil, tea.WindowSizeMsg{Width: 120, Height: 24})
		r.pause(r.wraps)
		r.filter(nil, tea.WindowSizeMsg{Width: 80, Height: 24})
	}
	if device.Len() > 0 {
		t.Errorf("written is %q", &device)
	}
}
