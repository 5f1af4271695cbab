package layout

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	xansi "github.com/charmbracelet/x/ansi"
	extast "github.com/yuin/goldmark/extension/ast"
)

// minColumnWidth is the minimum width of the text in a column of a table.
const minColumnWidth = 3

// table formats a table. The table is as wide as its content, but not wider than `width`: if
// needed, the text in the widest columns is wrapped. A table with too many columns for that is
// returned without formatting.
func (l *layout) table(table *extast.Table, width int) string {
	var rows [][]string
	for row := table.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, l.inline(cell))
		}
		rows = append(rows, cells)
	}
	columns := len(table.Alignments)
	if columns*(minColumnWidth+3) > width {
		return wrapped(l.plainTable(rows), width)
	}
	wide := columnWidths(rows, columns, width)
	var lines []string
	for i, cells := range rows {
		lines = append(lines, tableRow(cells, wide, table.Alignments)...)
		if i == 0 {
			lines = append(lines, tableRule(wide))
		}
	}
	return strings.Join(lines, "\n")
}

func (l *layout) plainTable(rows [][]string) string {
	var lines []string
	for _, cells := range rows {
		lines = append(lines, strings.Join(cells, " | "))
	}
	return strings.Join(lines, "\n")
}

// columnWidths returns the widths of the texts in the columns.
func columnWidths(rows [][]string, columns, width int) []int {
	wide := make([]int, columns)
	for _, cells := range rows {
		for i, cell := range cells[:min(len(cells), columns)] {
			wide[i] = max(wide[i], xansi.StringWidth(cell), minColumnWidth)
		}
	}
	for {
		spare := 3*columns - 1
		for _, w := range wide {
			spare += w
		}
		at := slices.Index(wide, slices.Max(wide))
		if spare <= width || wide[at] <= minColumnWidth {
			return wide
		}
		// Each iteration narrows the widest column, until it is narrower than the second widest column or the
		// table fits.
		rest := slices.Clone(wide)
		rest[at] = minColumnWidth
		wide[at] = max(slices.Max(rest)-1, wide[at]-(spare-width), minColumnWidth)
	}
}

// tableRow returns one row of a table as lines of text. A cell that is too wide is wrapped.
func tableRow(cells []string, wide []int, alignments []extast.Alignment) []string {
	var columns [][]string
	height := 1
	for i := range wide {
		cell := ""
		if i < len(cells) {
			cell = lipgloss.Wrap(cells[i], wide[i], "")
		}
		lines := strings.Split(cell, "\n")
		columns, height = append(columns, lines), max(height, len(lines))
	}
	out := make([]string, height)
	for at := range height {
		var parts []string
		for i, lines := range columns {
			text := ""
			if at < len(lines) {
				text = lines[at]
			}
			parts = append(parts, " "+aligned(text, wide[i], alignments[i])+" ")
		}
		out[at] = strings.TrimRight(strings.Join(parts, "│"), " ")
	}
	return out
}

func aligned(text string, width int, a extast.Alignment) string {
	free := max(width-xansi.StringWidth(text), 0)
	left := 0
	switch a {
	case extast.AlignRight:
		left = free
	case extast.AlignCenter:
		left = (free + 1) / 2
	}
	return strings.Repeat(" ", left) + text + strings.Repeat(" ", free-left)
}

func tableRule(wide []int) string {
	var parts []string
	for _, w := range wide {
		parts = append(parts, strings.Repeat("─", w+2))
	}
	return strings.Join(parts, "┼")
}
