package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	xansi "github.com/charmbracelet/x/ansi"
)

// OrDash returns the text, or a dash for an empty one.
func OrDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Mebibytes formats a number of bytes in MiB.
func Mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// Bytes formats a number of bytes for people.
func Bytes(n int64) string {
	const unit = 1 << 10
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	size, prefix := float64(n)/unit, 0
	for size >= unit && prefix < 3 {
		size, prefix = size/unit, prefix+1
	}
	return fmt.Sprintf("%.1f %ciB", size, "KMGT"[prefix])
}

// Duration formats a duration for people.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// grouped formats a number with commas between thousands.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// TimeFormat is the layout of times in lists.
const TimeFormat = "2006-01-02 15:04"

// Ago formats the time d since an event for people.
func Ago(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return "just now"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// Hanging returns one line: the label `head`, and beside it a text that begins in the given column.
// If the line is wider than the given width, each further row of the text also begins in that
// column. The width 0 means that nothing is wrapped.
func Hanging(head string, column int, text string, width int) string {
	if room := width - column; room > 0 {
		text = strings.ReplaceAll(xansi.Wordwrap(text, room, ""), "\n", "\n"+strings.Repeat(" ", column))
	}
	return head + strings.Repeat(" ", max(column-xansi.StringWidth(head), 1)) + text
}

// Cut returns the beginning of a line that fits a terminal of the width, with "…" if there is more.
// The width 0 cuts nothing.
func Cut(line string, width int) string {
	if width <= 0 {
		return line
	}
	return xansi.Truncate(line, width, "…")
}
