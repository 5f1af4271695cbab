package tool

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool/internal/glob"
)

const (
	findPaths = 500    // maximum number of paths in one answer
	findBytes = 50_000 // maximum size of one answer in bytes
)

type findArgs struct {
	Pattern string `json:"pattern" jsonschema:"minLength=1" jsonschema_description:"Glob such as *.go, src/**/*.ts or **/{a,b}.md. Without a slash it matches names in every folder."`
	Path    string `json:"path,omitempty" jsonschema_description:"Folder to look in, relative to the workspace. Default: the workspace."`
}

func find() Tool {
	return New("find",
		"Find files and folders of the workspace by a glob pattern, which is matched below path. "+
			"Answers sorted paths, folders with a slash at the end, at most 500. Leaves out .git and node_modules.",
		runFind, WithOnLost(perdure.OnLostRetry), WithReadOnly(), WithTimeout(fileToolTime))
}

func runFind(ctx context.Context, call *Call, in findArgs) (Result, error) {
	g, err := glob.Compile(in.Pattern)
	if err != nil {
		return Errorf("pattern cannot be used: %v.", err), nil
	}
	start, err := call.Workspace.local(orDot(in.Path))
	if err != nil {
		return cannot("look in", in.Path, err), nil
	}
	var out strings.Builder
	found, full := 0, false
	err = call.Workspace.walk(ctx, start, func(rel string, entry fs.DirEntry) error {
		if !g.Match(rel) {
			return nil
		}
		if full = found == findPaths || out.Len() >= findBytes; full {
			return errEnough
		}
		found++
		out.WriteString(path.Join(filepath.ToSlash(start), rel))
		if entry.IsDir() {
			out.WriteByte('/')
		}
		out.WriteByte('\n')
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return Result{}, context.Cause(ctx)
	case err != nil:
		return cannot("look in", orDot(in.Path), err), nil
	case found == 0:
		return Text("Nothing found."), nil
	case full:
		fmt.Fprintf(&out, "[Stopped after %d paths. There are more; narrow the pattern or path.]\n", found)
	}
	return Text(out.String()), nil
}
