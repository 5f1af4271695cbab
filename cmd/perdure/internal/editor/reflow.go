package editor

import (
	"io"
	"strings"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// frame is the part of the terminal that the editor redraws: the input line, its menu and its status.
type frame struct {
	widths []int // widths of the rows
	x, y   int   // position of the cursor
}

// newFrame returns the frame for a terminal with the given height. If there are more rows than fit, only
// the last ones are in the frame.
func newFrame(rows []string, cursor *tea.Cursor, height int) *frame {
	f := &frame{}
	if cursor != nil {
		f.x, f.y = cursor.X, cursor.Y
	}
	if over := len(rows) - height; over > 0 && height > 0 {
		rows, f.y = rows[over:], max(f.y-over, 0)
	}
	for _, row := range rows {
		f.widths = append(f.widths, ansi.StringWidth(strings.TrimRight(ansi.Strip(row), " ")))
	}
	return f
}

// cursorRow returns the row in which the cursor is after a terminal has wrapped the rows of the frame to
// the given width.
func (f *frame) cursorRow(width int) int {
	row := max(f.x-1, 0) / width
	for _, w := range f.widths[:min(f.y, len(f.widths))] {
		row += max((w+width-1)/width, 1)
	}
	return row
}

// reflow erases the frame when the terminal becomes narrower. Most terminals then wrap the rows of
// the frame. The renderer does not know that, and would erase too few rows.
type reflow struct {
	device io.Writer
	wraps  bool // the terminal wraps rows

	next   atomic.Pointer[frame] // the frame that the next write draws
	shown  atomic.Pointer[frame] // the frame on the terminal; nil if there is none
	paused atomic.Bool           // another program has the terminal
	width  int                   // width of the terminal; only the goroutine of the tea.Program uses it
}

// wrapsRows reports whether the terminal wraps the rows on its screen when it becomes narrower.
// Terminals that do not wrap them are recognized by their environment variables.
func wrapsRows(getenv func(string) string) bool {
	if getenv("TMUX") != "" {
		return true
	}
	if getenv("XTERM_VERSION") != "" || getenv("STY") != "" {
		return false
	}
	for _, name := range []string{"linux", "vt", "rxvt"} {
		if strings.HasPrefix(getenv("TERM"), name) {
			return false
		}
	}
	return true
}

// draws is called when the renderer is about to write its next frame to the terminal. It records that
// frame as the one that is shown.
func (r *reflow) draws() { r.shown.Store(r.next.Load()) }

// pause records whether another program is using the terminal at the moment.
func (r *reflow) pause(paused bool) {
	r.shown.Store(nil)
	r.paused.Store(paused)
}

// filter handles the message that the size of the terminal has changed, before the renderer receives that
// message.
func (r *reflow) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		if size.Width < r.width && size.Width > 0 && r.wraps && !r.paused.Load() {
			r.erase(size.Width)
		}
		r.width = size.Width
	}
	return msg
}

// erase erases the frame after the terminal has wrapped its rows to the new width, and moves the cursor to
// where the renderer expects it.
func (r *reflow) erase(width int) {
	f := r.shown.Load()
	if f == nil {
		return
	}
	up := f.cursorRow(width)
	if up == f.y {
		return
	}
	r.shown.Store(nil)
	_, _ = io.WriteString(r.device, ansi.CursorUp(up)+"\r"+ansi.EraseScreenBelow+strings.Repeat("\n", f.y)) // the terminal may be gone
}
