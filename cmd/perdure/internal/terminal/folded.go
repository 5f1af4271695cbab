package terminal

import (
	"slices"
	"strings"
)

const (
	// maxOutputHead and maxOutputTail are the numbers of lines at the beginning and at the end of a
	// tool's output that a terminal shows; the lines between are left out.
	maxOutputHead = 40
	maxOutputTail = 20
	// maxFoldedLine is the maximum number of bytes of a line at the end of a shortened output.
	maxFoldedLine = 4 << 10
)

const (
	// maxMessageLines is the maximum number of lines of a user's message that is shown in full. Of a
	// longer message, messageHead lines are shown.
	maxMessageLines = 20
	messageHead     = 10
	// maxMessageBytes is the maximum number of bytes that are shown of a user's message.
	maxMessageBytes = 4 << 10
)

// foldMessage returns the beginning of a user's message. The result `left` is a line that says how
// much of the message is omitted, or "" if nothing is.
func foldMessage(text string) (head, left string) {
	head = text
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	hidden := 0
	if len(lines) > maxMessageLines {
		hidden = len(lines) - messageHead
		head = strings.Join(lines[:messageHead], "\n")
	}
	switch {
	case len(head) > maxMessageBytes:
		head = strings.ToValidUTF8(head[:maxMessageBytes], "")
		return head, "… " + grouped(int64(len(text)-len(head))) + " more bytes of the message"
	case hidden > 0:
		return head, "… " + count(hidden, "more line") + " of the message"
	}
	return head, ""
}

// folded shortens the output of a tool, which comes in pieces. Its zero value is an empty output.
type folded struct {
	head int      // lines that were shown
	tail []string // the newest lines after the head; the last one may be open
	left int      // lines between head and tail
	open bool     // the last line of tail has no line end yet
}

// take adds the next piece of the output. It returns the part of the piece that belongs to the head,
// which is shown at once.
func (f *folded) take(text string) string {
	var head strings.Builder
	for piece := range strings.Lines(text) {
		line, ended := strings.CutSuffix(piece, "\n")
		if f.head < maxOutputHead {
			head.WriteString(piece)
			if ended {
				f.head++
			}
			continue
		}
		f.add(line, ended)
	}
	return head.String()
}

func (f *folded) add(line string, ended bool) {
	if f.open {
		last := len(f.tail) - 1
		line = f.tail[last] + line
		f.tail = f.tail[:last]
	}
	f.tail = append(f.tail, cutLine(line))
	if len(f.tail) > maxOutputTail {
		f.tail = slices.Delete(f.tail, 0, 1)
		f.left++
	}
	f.open = !ended
}

func cutLine(line string) string {
	if len(line) <= maxFoldedLine {
		return line
	}
	return strings.ToValidUTF8(line[:maxFoldedLine], "") + "…"
}

// lines returns the number of lines of the output after the head.
func (f *folded) lines() int { return f.left + len(f.tail) }

// rest returns the number of lines that are left out, and the end of the output. It removes both
// from f, but f still counts the head as shown.
func (f *folded) rest() (left int, end string) {
	left, end = f.left, strings.Join(f.tail, "\n")
	f.tail, f.left, f.open = nil, 0, false
	if end != "" {
		end += "\n"
	}
	return left, end
}
