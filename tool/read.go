package tool

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool/internal/excerpt"
)

const (
	readLines    = 2000      // default number of lines that one call of read-file returns
	readBytes    = 100 << 10 // maximum text of one answer in bytes
	imageBytes   = 5 << 20   // the smallest limit of the providers for an image
	sniffBytes   = 8 << 10   // number of bytes that are searched for a NUL byte
	fileToolTime = 2 * time.Minute
)

type readArgs struct {
	Path   string `json:"path" jsonschema:"minLength=1" jsonschema_description:"File to read, relative to the workspace."`
	Offset int    `json:"offset,omitempty" jsonschema:"minimum=0" jsonschema_description:"First line to read, counted from 1. Default 1."`
	Limit  int    `json:"limit,omitempty" jsonschema:"minimum=0" jsonschema_description:"How many lines to read. Default 2000."`
}

func readFile() Tool {
	return New("read-file",
		"Read a text file of the workspace, with line numbers: each line is its number, a tab, and the text. "+
			"Reads up to 2000 lines from offset on and says how to read on. Images (PNG, JPEG, GIF, WebP) are shown.",
		runRead, WithOnLost(perdure.OnLostRetry), WithReadOnly(), WithTimeout(fileToolTime))
}

func runRead(ctx context.Context, call *Call, in readArgs) (Result, error) {
	rel, err := call.Workspace.local(in.Path)
	if err != nil {
		return cannot("read", in.Path, err), nil
	}
	f, info, err := call.Workspace.openFile(rel)
	if errors.Is(err, errIsDir) {
		return Errorf("%s is a directory. Use find to list what is in it.", in.Path), nil
	}
	if err != nil {
		return cannot("read", in.Path, err), nil
	}
	defer f.Close()

	r := bufio.NewReaderSize(f, 64<<10)
	start, err := r.Peek(sniffBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return cannot("read", in.Path, err), nil
	}
	call.emit(Event{Type: "file_read", Path: filepath.ToSlash(rel)})
	if mime := imageType(start); mime != "" {
		return readImage(in.Path, mime, info, r), nil
	}
	if bytes.IndexByte(start, 0) >= 0 {
		return Errorf("%s is a binary file (%d bytes) and cannot be shown as text.", in.Path, info.Size()), nil
	}
	return readText(ctx, in, r)
}

// cannot returns the error result of a file tool. The argument `verb` is what the tool could not do
// with the file at path.
func cannot(verb, path string, err error) Result {
	return Errorf("Cannot %s %s: %s.", verb, path, reason(err))
}

func imageType(start []byte) string {
	switch mime := http.DetectContentType(start); mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return mime
	}
	return ""
}

func readImage(path, mime string, info os.FileInfo, r io.Reader) Result {
	data, err := io.ReadAll(io.LimitReader(r, imageBytes+1))
	if err != nil {
		return cannot("read", path, err)
	}
	if len(data) > imageBytes {
		return Errorf("%s is an image of %d bytes; at most %d can be shown. Make a smaller copy with bash and read that.",
			path, info.Size(), imageBytes)
	}
	parts := []perdure.Part{{Type: perdure.PartImage, Data: base64.StdEncoding.EncodeToString(data), MimeType: mime}}
	if perdure.CheckParts(perdure.RoleUser, "", parts) != nil {
		return Errorf("%s begins as %s, but is cut off or damaged, and cannot be shown.", path, mime)
	}
	return Result{Parts: parts}
}

func readText(ctx context.Context, in readArgs, r *bufio.Reader) (Result, error) {
	first, limit := max(in.Offset, 1), in.Limit
	if limit == 0 {
		limit = readLines
	}
	var out strings.Builder
	for n := 1; ; n++ {
		if n%1000 == 0 && ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		line, left, err := excerpt.ReadLine(r, excerpt.LineBytes)
		if errors.Is(err, io.EOF) {
			return endOfText(in.Path, first, n-1, out.String()), nil
		}
		if err != nil {
			return cannot("read", in.Path, err), nil
		}
		if n < first {
			continue
		}
		if n-first >= limit || out.Len() >= readBytes {
			fmt.Fprintf(&out, "[The file goes on. Read on with offset %d.]\n", n)
			return Text(out.String()), nil
		}
		fmt.Fprintf(&out, "%6d\t%s", n, line)
		if left > 0 {
			fmt.Fprintf(&out, " [%d more bytes in this line]", left)
		}
		out.WriteByte('\n')
	}
}

func endOfText(path string, first, lines int, text string) Result {
	switch {
	case lines == 0:
		return Text("(" + path + " is empty)")
	case first > lines:
		return Errorf("%s has only %d lines; offset %d is past its end.", path, lines, first)
	}
	return Text(text)
}
