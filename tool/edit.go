package tool

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/perdure/perdure/tool/internal/excerpt"
)

type editArgs struct {
	Path       string `json:"path" jsonschema:"minLength=1" jsonschema_description:"File to change, relative to the workspace."`
	OldString  string `json:"oldString" jsonschema_description:"Text to replace, exactly as it is in the file, without line numbers. It must occur exactly once unless replaceAll is set."`
	NewString  string `json:"newString" jsonschema_description:"Text to put in its place."`
	ReplaceAll bool   `json:"replaceAll,omitempty" jsonschema_description:"Replace every occurrence."`
}

func editFile() Tool {
	return New("edit-file",
		"Replace a piece of text in a file of the workspace. The text must occur exactly once, "+
			"so give enough lines around it to make it unique, or set replaceAll.",
		runEdit, WithBarrier(), WithTimeout(fileToolTime))
}

func runEdit(ctx context.Context, call *Call, in editArgs) (Result, error) {
	w := call.Workspace
	rel, err := w.local(in.Path)
	if err != nil {
		return cannot("edit", in.Path, err), nil
	}
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	old, err := w.readFile(rel, editBytes)
	if err != nil {
		return cannot("edit", in.Path, err), nil
	}
	if isBinary(old) {
		return Errorf("Cannot edit %s: it is a binary file.", in.Path), nil
	}
	text, n, problem := substitute(string(old), in.OldString, in.NewString, in.ReplaceAll)
	if problem != "" {
		return Errorf("Cannot edit %s: %s", in.Path, problem), nil
	}
	if _, err := w.replace(rel, []byte(text)); err != nil {
		return cannot("edit", in.Path, err), nil
	}
	announceWrite(call, rel, true)
	return Text(fmt.Sprintf("Edited %s (%s).\n%s", in.Path, count(n, "replacement"), excerpt.Diff(string(old), text))), nil
}

// substitute replaces the text `old` with `new`. If `all` is true, it replaces every occurrence;
// otherwise there must be exactly one occurrence. The result n is the number of replacements. If
// nothing was replaced, `problem` tells the model why; otherwise it is "".
func substitute(text, old, new string, all bool) (result string, n int, problem string) {
	switch {
	case old == "":
		return "", 0, "oldString is empty. Use write-file to write a whole file."
	case old == new:
		return "", 0, "oldString and newString are the same."
	}
	n = strings.Count(text, old)
	if n == 0 && strings.Contains(text, "\r\n") && !strings.Contains(old, "\r") {
		// read-file shows lines without their line endings. So the model does not see that this
		// file has CRLF, and sends LF.
		old, new = strings.ReplaceAll(old, "\n", "\r\n"), strings.ReplaceAll(new, "\n", "\r\n")
		n = strings.Count(text, old)
	}
	switch {
	case n == 0:
		return "", 0, "oldString was not found." + nearby(text, old)
	case !all && overlapping(text, old) > 1:
		return "", 0, fmt.Sprintf("oldString occurs %d times (%s). Add lines around it to make it unique, or set replaceAll.",
			overlapping(text, old), whereIs(text, old))
	}
	return strings.ReplaceAll(text, old, new), n, ""
}

// overlapping counts the positions in text at which the text `old` begins. In "aaa", "aa" begins at
// two positions, so the occurrence to replace is ambiguous.
func overlapping(text, old string) int {
	n := 0
	for at := strings.Index(text, old); at >= 0; n++ {
		next := strings.Index(text[at+1:], old)
		if next < 0 {
			return n + 1
		}
		at += 1 + next
	}
	return n
}

// whereIs returns the line numbers of the first few occurrences of the text `old`.
func whereIs(text, old string) string {
	const most = 5
	var lines []string
	line, from := 1, 0
	for at := strings.Index(text, old); at >= 0; {
		if len(lines) == most {
			lines = append(lines, "...")
			break
		}
		line += strings.Count(text[from:at], "\n")
		lines = append(lines, fmt.Sprint(line))
		from = at
		next := strings.Index(text[at+1:], old)
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return "lines " + strings.Join(lines, ", ")
}

// nearby returns a hint for the model when the file does not contain the text `old` of an edit. The
// hint names the first line of the file that equals or contains the first non-blank line of `old`,
// apart from surrounding space.
func nearby(text, old string) string {
	wanted := ""
	for line := range strings.Lines(old) {
		if wanted = strings.TrimSpace(line); wanted != "" {
			break
		}
	}
	if wanted == "" {
		return ""
	}
	n, contains := 0, 0
	for line := range strings.Lines(text) {
		n++
		if strings.TrimSpace(line) == wanted {
			return fmt.Sprintf(" Line %d is like its first line, so look at the indentation and the lines after it.", n)
		}
		if contains == 0 && strings.Contains(line, wanted) {
			contains = n
		}
	}
	if contains > 0 {
		return fmt.Sprintf(" Line %d contains its first line.", contains)
	}
	return " No line is like its first line. Read the file again."
}

func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), sniffBytes)], 0) >= 0
}
