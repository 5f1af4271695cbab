package main

import (
	"strings"

	xansi "github.com/charmbracelet/x/ansi"
)

// table is a list for people. In a terminal it fits the width: less important columns are omitted,
// and one column may be cut to the remaining width. In a pipe it is complete.
type table struct {
	columns []column
	rows    [][]string
}

type column struct {
	head string
	// spare is the order in which columns are omitted: the highest first, 0 never.
	spare int
	// cut allows the column to end in "…". At most one column, the last one, may have it.
	cut   bool
	style func(cell string) style // nil for no style
}

// leastCut is the minimum width of the column that may be cut.
const leastCut = 12

func (t *table) add(cells ...string) {
	for i, cell := range cells {
		cells[i] = strings.Join(strings.Fields(visible(cell)), " ")
	}
	t.rows = append(t.rows, cells)
}

func (t *table) write(p *page) error {
	widths := t.widths()
	shown := t.fit(widths, p.width())
	heads := make([]string, len(t.columns))
	for i, c := range t.columns {
		heads[i] = c.head
	}
	t.line(p, heads, widths, shown, func(int) style { return styleDim })
	for _, row := range t.rows {
		t.line(p, row, widths, shown, func(i int) style {
			if t.columns[i].style == nil {
				return styleNone
			}
			return t.columns[i].style(row[i])
		})
	}
	return p.err
}

func (t *table) widths() []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = xansi.StringWidth(c.head)
		for _, row := range t.rows {
			widths[i] = max(widths[i], xansi.StringWidth(row[i]))
		}
	}
	return widths
}

// fit returns the columns that are shown in a terminal of the width, and narrows the column that
// may be cut.
func (t *table) fit(widths []int, width int) []bool {
	shown := make([]bool, len(t.columns))
	for i := range shown {
		shown[i] = true
	}
	if width == 0 {
		return shown
	}
	for {
		room, cut, next := width, -1, -1
		for i, c := range t.columns {
			if !shown[i] {
				continue
			}
			if c.cut {
				cut = i
				room -= min(leastCut, widths[i])
			} else {
				room -= widths[i]
			}
			if i > 0 {
				room -= 2
			}
			if c.spare > 0 && (next < 0 || c.spare > t.columns[next].spare) {
				next = i
			}
		}
		if room < 0 && next >= 0 {
			shown[next] = false
			continue
		}
		if cut >= 0 {
			widths[cut] = min(widths[cut], leastCut+max(room, 0))
		}
		return shown
	}
}

func (t *table) line(p *page, cells []string, widths []int, shown []bool, look func(i int) style) {
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
