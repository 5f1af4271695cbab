// Command size counts the lines of product code of the files that are named on standard input, one
// a line. A line counts if it has code: blank lines and lines with only comments do not. Tests, test
// kits and generated files do not count. size.sh runs it on the repository.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"path"
	"regexp"
	"strings"
)

// group is a part of the product with its number of files and lines.
type group struct {
	name         string
	files, lines int
}

func main() {
	groups := map[string]*group{"go": {name: "Go"}, "web": {name: "TypeScript of web/app and web/client"}}
	names := bufio.NewScanner(os.Stdin)
	for names.Scan() {
		in := groupOf(names.Text())
		if in == "" {
			continue
		}
		text, err := os.ReadFile(names.Text())
		if err != nil {
			log.Fatal(err)
		}
		if generated(text) {
			continue
		}
		groups[in].files++
		groups[in].lines += codeLines(string(text))
	}
	if err := names.Err(); err != nil {
		log.Fatal(err)
	}
	for _, key := range []string{"go", "web"} {
		g := groups[key]
		fmt.Printf("%-40s %6d lines in %4d files\n", g.name, g.lines, g.files)
	}
}

// groupOf returns the group of a file, "go" or "web", or "" if the file is not product code.
func groupOf(file string) string {
	folder := path.Dir(file)
	for dir := range strings.SplitSeq(folder, "/") {
		if strings.HasSuffix(dir, "test") || dir == "testdata" || dir == "test" {
			return "" // tests and test kits
		}
	}
	top, _, _ := strings.Cut(file, "/")
	switch {
	case top == "e2e" || top == "examples" || top == "tools":
		return ""
	case strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go"):
		return "go"
	case strings.HasPrefix(file, "web/app/"), strings.HasPrefix(file, "web/client/src/"):
		if path.Base(file) != "openapi.ts" && (strings.HasSuffix(file, ".ts") || strings.HasSuffix(file, ".tsx")) {
			return "web"
		}
	}
	return ""
}

// generatedLine is the line by which the Go tools recognize a generated file.
var generatedLine = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func generated(text []byte) bool { return generatedLine.Match(text) }

// codeLines returns the number of lines with something other than white space and comments. It
// recognizes the comments and strings that Go and TypeScript have in common.
func codeLines(text string) int {
	count, hasCode := 0, false
	for i := 0; i < len(text); {
		rest := text[i:]
		switch c := text[i]; {
		case c == '\n':
			if hasCode {
				count++
			}
			hasCode = false
			i++
		case strings.HasPrefix(rest, "//"):
			i += lineEnd(rest)
		case strings.HasPrefix(rest, "/*"):
			skipped := end(rest, 2, "*/")
			if hasCode && strings.Contains(rest[:skipped], "\n") {
				count++
				hasCode = false
			}
			i += skipped
		case c == '"' || c == '\'' || c == '`':
			skipped := literalEnd(rest)
			count += strings.Count(rest[:skipped], "\n")
			hasCode = true
			i += skipped
		default:
			hasCode = hasCode || c != ' ' && c != '\t' && c != '\r'
			i++
		}
	}
	if hasCode {
		count++
	}
	return count
}

func lineEnd(text string) int {
	if n := strings.IndexByte(text, '\n'); n >= 0 {
		return n
	}
	return len(text)
}

func end(text string, from int, mark string) int {
	if n := strings.Index(text[from:], mark); n >= 0 {
		return from + n + len(mark)
	}
	return len(text)
}

// literalEnd returns the length of the string or rune literal at the beginning of text. It returns
// 1 for a quote without a closing quote on its line, such as an apostrophe in JSX text.
func literalEnd(text string) int {
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote != '`':
			i++
		case text[i] == quote:
			return i + 1
		case text[i] == '\n' && quote != '`':
			return 1
		}
	}
	return 1
}
