package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure"
)

const (
	// maxDetailHead and maxDetailTail are the numbers of lines of details that stay when the lines
	// between are folded.
	maxDetailHead = 16
	maxDetailTail = 6
	// maxDetailLine is the maximum number of characters of a line of details. The maximum is
	// maxCrowdedLine if the details have more than maxDetailText characters.
	maxDetailLine  = 1000
	maxDetailText  = 4000
	maxCrowdedLine = 200
)

// ViewAll is what a person types in a terminal to see the details of a question in full.
const ViewAll = "v"

// QuestionDetails are the details of a question as a person reads them: the command of bash as it is
// typed, a change of a file as a diff, everything else as JSON.
type QuestionDetails struct {
	lines []detailLine
	// Exact reports that the lines contain all of the details, exactly as they are stored.
	Exact bool
}

// detailLine is a line of details. A gutter at its start marks a line of a command or of a file, so
// that no text in that line can pass for another line of output.
type detailLine struct {
	gutter string
	style  Style
	text   string
}

const (
	detailGutter  = "  │ "
	detailPadding = "  "
)

// DetailsOf returns the details of a question in their form for a terminal of the width. Long
// details are folded, and a line says how much is hidden.
func DetailsOf(q *perdure.Question, details []byte, width int) QuestionDetails {
	if lines, ok := callLines(q.Subject, details); ok && q.Kind == perdure.QuestionApproval {
		return QuestionDetails{lines: foldDetails(lines)}
	}
	text := strings.TrimSpace(string(details))
	if json.Valid(details) && (strings.Contains(text, "\n") || utf8.RuneCountInString(text) > max(width, 80)-len("    ")) {
		var indented bytes.Buffer
		if json.Indent(&indented, []byte(text), "", "  ") == nil {
			return QuestionDetails{lines: foldDetails(linesOf("    ", StyleNone, indented.String()))}
		}
	}
	lines := linesOf("    ", StyleNone, text)
	folded := foldDetails(lines)
	return QuestionDetails{lines: folded, Exact: slices.Equal(folded, lines)}
}

// Details prints details of a question. Control characters in them become visible.
func (s *Screen) Details(d QuestionDetails) error {
	p := newPage(s)
	for _, line := range d.lines {
		p.indented(gutter{text: line.gutter}, line.style, Visible(line.text)+"\n")
	}
	return p.err
}

func linesOf(gutter string, style Style, text string) []detailLine {
	var lines []detailLine
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, detailLine{gutter, style, line})
	}
	return lines
}

// callLines returns the lines of a call of a built-in tool. ok is false for a call of another tool, and
// for arguments that do not have the form that the tool expects. Such a call is shown as JSON.
func callLines(tool string, arguments []byte) (lines []detailLine, ok bool) {
	members, ok := membersOf(arguments)
	if !ok {
		return nil, false
	}
	take := func(name string) (text string) {
		i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
		if ok = ok && i >= 0 && json.Unmarshal(members[i].value, &text) == nil && string(members[i].value) != "null"; ok {
			members = slices.Delete(members, i, i+1)
		}
		return text
	}
	switch tool {
	case "bash":
		lines = linesOf(detailGutter, StyleNone, take("command"))
	case "edit-file":
		lines = linesOf(detailPadding, StyleNone, Inline(take("path")))
		lines = append(lines, changeLines(take("oldString"), take("newString"))...)
	case "write-file":
		lines = linesOf(detailPadding, StyleNone, Inline(take("path")))
		lines = append(lines, diffLines("+", StyleAdded, take("content"))...)
	default:
		return nil, false
	}
	for _, m := range members {
		lines = append(lines, detailLine{detailPadding, StyleDim, Inline(m.name) + ": " + Inline(string(m.value))})
	}
	return lines, ok
}

// changeLines returns a change of a text as a diff. Equal lines at the beginning and at the end of
// the text are context.
func changeLines(old, new string) []detailLine {
	var before, after []detailLine
	if strings.HasSuffix(old, "\n") == strings.HasSuffix(new, "\n") { // else the last lines differ
		oldLines, newLines := strings.SplitAfter(old, "\n"), strings.SplitAfter(new, "\n")
		same := 0
		for same < min(len(oldLines), len(newLines)) && oldLines[same] == newLines[same] {
			same++
		}
		before = diffLines(" ", StyleDim, strings.Join(oldLines[:same], ""))
		oldLines, newLines, same = oldLines[same:], newLines[same:], 0
		for same < min(len(oldLines), len(newLines)) && oldLines[len(oldLines)-1-same] == newLines[len(newLines)-1-same] {
			same++
		}
		after = diffLines(" ", StyleDim, strings.Join(oldLines[len(oldLines)-same:], ""))
		old, new = strings.Join(oldLines[:len(oldLines)-same], ""), strings.Join(newLines[:len(newLines)-same], "")
	}
	lines := append(before, diffLines("-", StyleRemoved, old)...)
	return append(append(lines, diffLines("+", StyleAdded, new)...), after...)
}

// diffLines returns the lines of a text with a sign before each.
func diffLines(sign string, style Style, text string) []detailLine {
	if text == "" {
		return nil
	}
	lines := linesOf(detailGutter, style, strings.TrimSuffix(text, "\n"))
	for i := range lines {
		lines[i].text = sign + lines[i].text
	}
	return lines
}

// member is a member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf returns the members of a JSON object in their order. ok is false for other JSON, and if
// two names are equal except for the case of letters, because programs read such objects differently.
func membersOf(object []byte) (members []member, ok bool) {
	d := json.NewDecoder(bytes.NewReader(object))
	if open, err := d.Token(); err != nil || open != json.Delim('{') || !json.Valid(object) {
		return nil, false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		m := member{name: fmt.Sprint(name)}
		if d.Decode(&m.value) != nil || slices.ContainsFunc(members, func(o member) bool { return strings.EqualFold(o.name, m.name) }) {
			return nil, false
		}
		members = append(members, m)
	}
	return members, true
}

// foldDetails shortens details. Of many lines, it replaces the middle ones by one line with their
// number. Of a long line, it replaces the middle by the number of characters there. The ends stay,
// so that nothing can hide there.
func foldDetails(lines []detailLine) []detailLine {
	if hidden := len(lines) - maxDetailHead - maxDetailTail; hidden > 1 {
		mark := detailLine{detailPadding, StyleWarn, fmt.Sprintf("… %s hidden; %s shows all", count(hidden, "line"), ViewAll)}
		tail := lines[len(lines)-maxDetailTail:]
		lines = append(append(slices.Clone(lines[:maxDetailHead]), mark), tail...)
	}
	total, most := 0, maxDetailLine
	for _, line := range lines {
		total += utf8.RuneCountInString(line.text)
	}
	if total > maxDetailText {
		most = maxCrowdedLine
	}
	var folded []detailLine
	for _, line := range lines {
		folded = append(folded, foldLine(line, most)...)
	}
	return folded
}

// foldLine splits a line that is too long into its beginning, the number of hidden characters, and
// its end.
func foldLine(line detailLine, most int) []detailLine {
	text := []rune(line.text)
	hidden := len(text) - most
	if hidden <= 0 {
		return []detailLine{line}
	}
	end := most / 4
	mark := detailLine{detailPadding, StyleWarn, fmt.Sprintf("… %s hidden; %s shows all", grouped(int64(hidden))+" characters of the line", ViewAll)}
	head, tail := line, line
	head.text, tail.text = string(text[:most-end]), string(text[len(text)-end:])
	return []detailLine{head, mark, tail}
}
