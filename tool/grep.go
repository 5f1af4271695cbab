package tool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool/internal/excerpt"
	"github.com/perdure/perdure/tool/internal/glob"
)

const (
	grepMatches   = 200     // maximum number of lines in one answer
	grepLineBytes = 500     // maximum number of bytes of each line in the answer
	grepBytes     = 50_000  // maximum size of one answer in bytes
	grepScan      = 1 << 20 // maximum number of bytes of each line that are searched
)

type grepArgs struct {
	Pattern string `json:"pattern" jsonschema:"minLength=1" jsonschema_description:"Regular expression, RE2 syntax. (?i) at its beginning ignores case."`
	Path    string `json:"path,omitempty" jsonschema_description:"File or folder to search, relative to the workspace. Default: all of the workspace."`
	Glob    string `json:"glob,omitempty" jsonschema_description:"Search only files that match, such as *.go or src/**/*.ts."`
}

func grep() Tool {
	return New("grep",
		"Search the files of the workspace line by line with a regular expression. Answers file:line:text, at most 200 lines. "+
			"Leaves out .git, node_modules, symlinks and binary files.",
		runGrep, WithOnLost(perdure.OnLostRetry), WithReadOnly(), WithTimeout(fileToolTime))
}

func runGrep(ctx context.Context, call *Call, in grepArgs) (Result, error) {
	s := search{w: call.Workspace}
	var err error
	if s.re, err = regexp.Compile(in.Pattern); err != nil {
		return Errorf("pattern is not a valid regular expression: %v.", err), nil
	}
	if in.Glob != "" {
		if s.glob, err = glob.Compile(in.Glob); err != nil {
			return Errorf("glob cannot be used: %v.", err), nil
		}
	}
	start, err := s.w.local(orDot(in.Path))
	if err != nil {
		return cannot("search", in.Path, err), nil
	}
	if err := s.run(ctx, start); err != nil {
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		return cannot("search", orDot(in.Path), err), nil
	}
	if s.matches == 0 {
		return Text("No matches."), nil
	}
	if s.full {
		fmt.Fprintf(&s.out, "[Stopped after %d matches. There may be more; narrow the pattern, path or glob.]\n", s.matches)
	}
	return Text(s.out.String()), nil
}

func orDot(path string) string {
	if path == "" {
		return "."
	}
	return path
}

// search is one call of the tool grep.
type search struct {
	w       *Workspace
	re      *regexp.Regexp
	glob    *glob.Pattern // files to search; nil means all files
	out     strings.Builder
	matches int
	full    bool
}

func (s *search) run(ctx context.Context, start string) error {
	f, info, err := s.w.open(start)
	if err != nil {
		return err
	}
	f.Close()
	if !info.IsDir() {
		err := s.file(ctx, start)
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	}
	return s.w.walk(ctx, start, func(rel string, entry fs.DirEntry) error {
		if !entry.Type().IsRegular() || s.glob != nil && !s.glob.Match(rel) {
			return nil
		}
		err := s.file(ctx, filepath.Join(start, rel))
		if err != nil && !errors.Is(err, errEnough) && ctx.Err() == nil {
			return nil // the search continues with the next file
		}
		return err
	})
}

func (s *search) file(ctx context.Context, rel string) error {
	f, _, err := s.w.openFile(rel)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	if start, err := r.Peek(sniffBytes); err != nil && !errors.Is(err, io.EOF) {
		return err
	} else if isBinary(start) {
		return nil
	}
	for n := 1; ; n++ {
		if n%1000 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		line, _, err := excerpt.ReadLine(r, grepScan)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !s.re.MatchString(line) {
			continue
		}
		if s.full = s.matches == grepMatches || s.out.Len() >= grepBytes; s.full {
			return errEnough
		}
		s.add(rel, n, line)
	}
}

func (s *search) add(rel string, n int, line string) {
	s.matches++
	shown := string(excerpt.Cut([]byte(line), grepLineBytes))
	fmt.Fprintf(&s.out, "%s:%d:%s", path.Clean(filepath.ToSlash(rel)), n, shown)
	if left := len(line) - len(shown); left > 0 {
		fmt.Fprintf(&s.out, " [%d more bytes]", left)
	}
	s.out.WriteByte('\n')
}
