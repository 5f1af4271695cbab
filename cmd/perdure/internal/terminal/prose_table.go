package terminal

import (
	"regexp"
	"slices"
	"strings"

	xansi "github.com/charmbracelet/x/ansi"
)

// tableRule matches the line below the header of a table.
var tableRule = regexp.MustCompile(`(?m)^[ \t]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)

// narrowTable removes the padding with which a formatted table fills the terminal's width. Other
// text is unchanged.
func narrowTable(source, laid string) string {
	if !strings.Contains(source, "|") || !tableRule.MatchString(source) {
		return laid
	}
	lines := strings.Split(laid, "\n")
	rule := slices.IndexFunc(lines, func(line string) bool {
		plain := xansi.Strip(line)
		return strings.Contains(plain, "─┼─") && strings.Trim(plain, "─┼ ") == ""
	})
	if rule < 0 {
		return laid
	}
	first, last := rule, rule
	for first > 0 && strings.TrimSpace(xansi.Strip(lines[first-1])) != "" {
		first--
	}
	for last < len(lines)-1 && strings.TrimSpace(xansi.Strip(lines[last+1])) != "" {
		last++
	}
	edges := columnEdges(xansi.Strip(lines[rule]))
	spare := make([][2]int, len(edges))
	for i, edge := range edges {
		spare[i] = spareOf(lines[first:last+1], rule-first, edge)
	}
	for at := first; at <= last; at++ {
		lines[at] = narrowLine(lines[at], edges, spare)
	}
	return strings.Join(lines, "\n")
}

// columnEdges returns the beginnings and ends of a table's columns, from its rule.
func columnEdges(rule string) [][2]int {
	var edges [][2]int
	at := 0
	for part := range strings.SplitSeq(rule, "┼") {
		wide := xansi.StringWidth(part)
		edges = append(edges, [2]int{at, at + wide})
		at += wide + 1
	}
	return edges
}

// spareOf returns the number of blanks that can be removed on the left and on the right of a
// column, so that at least one remains in each cell.
func spareOf(lines []string, rule int, edge [2]int) [2]int {
	wide := edge[1] - edge[0]
	left, right := wide, wide
	for i, line := range lines {
		cell := xansi.Strip(xansi.Cut(line, edge[0], edge[1]))
		cell += strings.Repeat(" ", max(wide-xansi.StringWidth(cell), 0)) // the end of a line may be cut off
		if i == rule || strings.TrimSpace(cell) == "" {
			continue
		}
		left = min(left, len(cell)-len(strings.TrimLeft(cell, " ")))
		right = min(right, len(cell)-len(strings.TrimRight(cell, " ")))
	}
	if left == wide { // the column is empty
		return [2]int{0, max(wide-2, 0)}
	}
	return [2]int{max(left-1, 0), max(right-1, 0)}
}

func narrowLine(line string, edges, spare [][2]int) string {
	var out strings.Builder
	for i, edge := range edges {
		if i > 0 {
			out.WriteString(xansi.Cut(line, edge[0]-1, edge[0]))
		}
		out.WriteString(xansi.Cut(line, edge[0]+spare[i][0], edge[1]-spare[i][1]))
	}
	return out.String()
}
