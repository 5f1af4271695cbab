package terminal

import (
	"strings"

	xansi "github.com/charmbracelet/x/ansi"
)

// Table is a list for people. In a terminal it fits the width: less important columns are omitted,
// and one column may be cut to the remaining width. In a pipe it is complete.
type Table struct {
	Columns []Column
	rows    [][]string
	notes   map[int]string // by the index of the row above the note
}

// Column is a column of a table.
type Column struct {
	Head string
	// Omit is the order in which columns are omitted, the highest number first. A column with 0 is
	// never omitted.
	Omit int
	// Cut allows the texts of the column to be cut, with "…" at the end. Only the last column may
	// have Cut set.
	Cut bool
	// Least is the minimum width of a column that may be cut, as long as other columns can be omitted
	// instead; 0 means minCutWidth.
	Least int
	Style func(cell string) Style // nil for no style
}

// minCutWidth is the minimum width of the column that may be cut.
const minCutWidth = 12

func (c Column) least() int { return max(c.Least, minCutWidth) }

// Print writes the table to a screen.
func (t *Table) Print(s *Screen) error { return t.write(newPage(s)) }

// Add appends a row.
func (t *Table) Add(cells ...string) {
	for i, cell := range cells {
		cells[i] = strings.Join(strings.Fields(Visible(cell)), " ")
	}
	t.rows = append(t.rows, cells)
}

// Note adds a line with the text of an error below the last row. In a terminal the line is cut to the
// width.
func (t *Table) Note(text string) {
	if text = strings.Join(strings.Fields(Visible(text)), " "); text == "" {
		return
	}
	if t.notes == nil {
		t.notes = map[int]string{}
	}
	t.notes[len(t.rows)-1] = text
}

func (t *Table) note(p *page, text string) {
	const indent = "  "
	if width := p.width(); width > 0 {
		text = xansi.Truncate(text, max(width-len(indent), minCutWidth), "…")
	}
	p.raw(indent + p.styled(StyleError, text) + "\n")
}

func (t *Table) write(p *page) error {
	widths := t.widths()
	shown := t.fit(widths, p.width())
	heads := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		heads[i] = c.Head
	}
	t.line(p, heads, widths, shown, func(int) Style { return StyleDim })
	for n, row := range t.rows {
		t.line(p, row, widths, shown, func(i int) Style {
			if t.Columns[i].Style == nil {
				return StyleNone
			}
			return t.Columns[i].Style(row[i])
		})
		if text, ok := t.notes[n]; ok {
			t.note(p, text)
		}
	}
	return p.err
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = xansi.StringWidth(c.Head)
		for _, row := range t.rows {
			widths[i] = max(widths[i], xansi.StringWidth(row[i]))
		}
	}
	return widths
}

// fit returns the columns that are shown in a terminal of the width, and narrows the column that
// may be cut.
func (t *Table) fit(widths []int, width int) []bool {
	shown := make([]bool, len(t.Columns))
	for i := range shown {
		shown[i] = true
	}
	if width == 0 {
		return shown
	}
	for {
		room, cut, next := width, -1, -1
		for i, c := range t.Columns {
			if !shown[i] {
				continue
			}
			if c.Cut {
				cut = i
				room -= min(c.least(), widths[i])
			} else {
				room -= widths[i]
			}
			if i > 0 {
				room -= 2
			}
			if c.Omit > 0 && (next < 0 || c.Omit > t.Columns[next].Omit) {
				next = i
			}
		}
		if room < 0 && next >= 0 {
			shown[next] = false
			continue
		}
		if cut >= 0 {
			widths[cut] = min(widths[cut], t.Columns[cut].least()+max(room, 0))
		}
		return shown
	}
}

func (t *Table) line(p *page, cells []string, widths []int, shown []bool, look func(i int) Style) {
	gap := 0
	for i, cell := range cells {
		if !shown[i] {
			continue
		}
		cell = xansi.Truncate(cell, widths[i], "…")
		if cell != "" { // no column follows the last one
			p.raw(strings.Repeat(" ", gap) + p.styled(look(i), cell))
			gap = 0
		}
		gap += widths[i] - xansi.StringWidth(cell) + 2
	}
	p.raw("\n")
}
