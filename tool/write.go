package tool

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure/tool/internal/excerpt"
)

// editBytes is the maximum size in bytes of a file that edit-file changes. write-file returns a
// diff only if the old content of the file is not larger than editBytes.
const editBytes = 10 << 20

type writeArgs struct {
	Path    string `json:"path" jsonschema:"minLength=1" jsonschema_description:"File to write, relative to the workspace."`
	Content string `json:"content" jsonschema_description:"The whole new content."`
}

func writeFile() Tool {
	return New("write-file",
		"Write a whole file of the workspace: it is created, or replaced if it exists. Missing folders are made. "+
			"To change a part of a file, use edit-file.",
		runWrite, WithBarrier(), WithTimeout(fileToolTime))
}

func runWrite(ctx context.Context, call *Call, in writeArgs) (Result, error) {
	w := call.Workspace
	rel, err := w.local(in.Path)
	if err != nil {
		return cannot("write", in.Path, err), nil
	}
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	// If the old content cannot be read, for example because of its size, the result has no diff.
	old, readErr := w.readFile(rel, editBytes)
	existed, err := w.replace(rel, []byte(in.Content))
	if err != nil {
		return cannot("write", in.Path, err), nil
	}
	announceWrite(call, rel, existed)
	if !existed {
		return Text(fmt.Sprintf("Created %s (%s).", in.Path, count(lineCount(in.Content), "line"))), nil
	}
	summary := fmt.Sprintf("Replaced %s (%s).", in.Path, count(lineCount(in.Content), "line"))
	if readErr != nil || isBinary(old) {
		return Text(summary), nil
	}
	return Text(summary + "\n" + excerpt.Diff(string(old), in.Content)), nil
}

func announceWrite(call *Call, rel string, existed bool) {
	path, action := filepath.ToSlash(rel), "created"
	if existed {
		action = "modified"
	}
	call.emit(Event{Type: "file_write", Path: path}, Event{Type: "artifact", Path: path, Action: action})
}

func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
