package excerpt

import (
	"fmt"
	"strings"
)

const (
	diffContext = 3  // number of unchanged lines around a change
	diffLines   = 60 // maximum number of lines of a diff in a result
)

// Diff returns a unified diff of the two texts with one hunk, which reaches from the first to the last line
// that differs. A diff with too many lines is cut and ends with a note. Diff returns "" if the texts are
// equal.
func Diff(old, new string) string {
	a, b := splitLines(old), splitLines(new)
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	if start == endA && start == endB {
		return ""
	}
	from := max(start-diffContext, 0)
	after := min(diffContext, len(a)-endA)

	var lines []string
	lines = prefixed(lines, " ", a[from:start])
	lines = prefixed(lines, "-", a[start:endA])
	lines = prefixed(lines, "+", b[start:endB])
	lines = prefixed(lines, " ", a[endA:endA+after])
	head := fmt.Sprintf("@@ -%s +%s @@", span(from, endA+after), span(from, endB+after))
	if more := len(lines) - diffLines; more > 0 {
		lines = append(lines[:diffLines], fmt.Sprintf("[%d more lines of the diff left out]", more))
	}
	return head + "\n" + strings.Join(lines, "\n")
}

// span formats the range of lines [from, to), counted from 0, for the header of a diff. For an empty range,
// it names the line before the range.
func span(from, to int) string {
	if from == to {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

func prefixed(lines []string, mark string, more []string) []string {
	for _, line := range more {
		text := Cut([]byte(line), LineBytes)
		lines = append(lines, mark+strings.TrimSuffix(validText(text), "\r"))
	}
	return lines
}
