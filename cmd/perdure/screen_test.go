package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// escapes are texts that control a terminal or deceive its reader.
var escapes = []string{
	"\x1b]52;c;ZXZpbA==\x07", // writes to the clipboard
	"\x1b]0;title\x1b\\",     // sets the window's title
	"\x1b[2J\x1b[H",          // clears the screen
	"\u009b2J", "\u009d0;t\u009c", "\x1bPq\x1b\\", "\x1bc", "\x9b2J", "\xff\xfe",
	"\x00", "\x07", "\x08\x08\x08rm", "\x0b\x0c", "\x0e\x0f", "\x7f", "\u0085",
	"a\u202egnp.exe", "\u202a\u202b\u202c\u202d", "\u2066\u2067\u2068\u2069", "\u200e\u200f\u061c",
	"ad\u200bmin", "a\u200db", "a\u200cb", "\u2060\u2063\ufeff\u00ad\u034f\u180e", "\u115f\u1160\u3164\uffa0",
	"line\u2028separator\u2029", "tag\U000e0001\U000e0041", "\ufff9a\ufffab\ufffb", "\u206a\u206f",
	"\r\x1b[2Kover", "50%\r100%", "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
}

// unsafeIn returns the first character in the output that no terminal may receive, -1 if there is
// none.
func unsafeIn(printed string) rune {
	before := rune(0)
	for i, r := range printed {
		if r == utf8.RuneError && !strings.HasPrefix(printed[i:], "\ufffd") {
			return r
		}
		if !plainRune(r) && (!joiner(r) || !joins(before)) {
			return r
		}
		before = r
	}
	return -1
}

// filled returns a value with the text in every string field, at any depth.
func filled[T any](text string) T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), text, 6)
	return v
}

func fill(v reflect.Value, text string, depth int) {
	if depth == 0 || !v.CanSet() {
		return
	}
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		quoted, _ := json.Marshal(map[string]string{text: text})
		v.SetBytes(quoted)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		if v.Type() != reflect.TypeFor[*time.Location]() {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), text, depth-1)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), text, depth-1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text, depth-1)
		fill(value, text, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), text, depth-1)
		}
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf(text))
		}
	}
}

// printed returns functions that print all values that commands print, as --json and for people.
func printed(a *app, text string) map[string]func() error {
	x := func() *perdure.Execution { v := filled[perdure.Execution](text); return &v }
	return map[string]func() error{
		"runs":        func() error { return a.printRuns(filled[client.Page[*perdure.Execution]](text)) },
		"run":         func() error { return a.printExecution(x(), func() { _ = a.stdout.say("%s", text) }) },
		"keys":        func() error { return a.printKeys(filled[[]*perdure.APIKey](text)) },
		"new key":     func() error { k := filled[client.NewKey](text); return a.printNewKey(&k) },
		"orgs":        func() error { return a.printOrgs(filled[[]*perdure.Org](text)) },
		"definitions": func() error { return a.printDefinitions(filled[[]*perdure.Definition](text)) },
		"definition":  func() error { d := filled[perdure.Definition](text); return a.printDefinition(&d, "is new") },
		"audit":       func() error { return a.printAudit(filled[[]perdure.AuditRecord](text)) },
		"retention":   func() error { r := filled[client.Retention](text); return a.printRetention(&r) },
		"pruned":      func() error { return a.printPruned(filled[client.PruneReport](text)) },
		"signal":      func() error { return a.printSignal(&link{}, x(), filled[client.SignalReply](text)) },
		"event line":  func() error { return a.printLine(filled[client.Event](text)) },
		"task line":   func() error { return a.printLine(filled[perdure.Task](text)) },
		"entry line":  func() error { return a.printLine(filled[perdure.Entry](text)) },
		"result": func() error {
			quiet := filled[result](text)
			quiet.Text = "" // the answer itself is for programs
			return errors.Join((&quietView{a}).result(quiet), newTextView(a).result(filled[result](text)), (&jsonView{a}).result(filled[result](text)))
		},
		"error": func() error {
			_, err := fmt.Fprintln(a.stderr, a.errorText(perdure.FieldErrorf(text, "%s", text), exitFailed))
			return err
		},
		"lost": func() error { tellLost(a, errors.New(text), time.Second); return nil },
		"away": func() error { tellAway(a, x()); return nil },
		"log":  func() error { a.logger(0).Info(text, text, text, "error", errors.New(text)); return nil },
		"log as JSON": func() error {
			b := *a
			b.logFormat = "json"
			b.logger(0).Info(text, text, text, "error", errors.New(text))
			return nil
		},
		"progress": func() error { (&line{app: a}).end("%s %s", text, errors.New(text)); return nil },
	}
}

// No field in any command's output controls the terminal, in text or in JSON.
func TestNothingThatIsPrintedSteersTheTerminal(t *testing.T) {
	for _, text := range escapes {
		for _, asJSON := range []bool{false, true} {
			var out bytes.Buffer
			a := &app{stdout: newScreen(&out), stderr: newScreen(&out), json: asJSON}
			for name, say := range printed(a, text) {
				out.Reset()
				if err := say(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if out.Len() == 0 && name != "away" && name != "run" {
					t.Errorf("%s printed nothing", name)
				}
				if r := unsafeIn(out.String()); r >= 0 {
					t.Errorf("%s (JSON %t) printed %U of %q: %q", name, asJSON, r, text, out.String())
				}
			}
		}
	}
}

// JSON that was made visible has the same meaning.
func TestVisibleJSONIsTheSameJSON(t *testing.T) {
	for _, text := range append(escapes, "plain ü 漢字 👨\u200d👩\u200d👧", "\U0001f600\u202e") {
		var out bytes.Buffer
		a := &app{stdout: newScreen(&out)}
		want := filled[perdure.Execution](text)
		if err := a.printJSON(want); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decoded(t, raw), decoded(t, out.Bytes())); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func decoded(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %q", err, raw)
	}
	return v
}

// Texts of models, tools and other clients in a run's events do not control the terminal.
func TestNoEventOfARunSteersTheTerminal(t *testing.T) {
	for _, text := range append(escapes, "&#27;]52;c;ZXZpbA==&#7;", "&#x1B;[2J", "&#27;[8mhidden", "\x1b[8mhidden", "&#155;2J", "&#x202e;", "[a](http://b\u202ec)", "`\u202e`") {
		for _, kind := range []perdure.EventType{
			perdure.EventToken, perdure.EventThinking, perdure.EventTerminal, client.EventSnapshot, perdure.EventData, perdure.EventEntry,
			perdure.EventError, perdure.EventTaskRetrying, perdure.EventTaskStarted, perdure.EventTaskFailed, perdure.EventTaskCompleted,
		} {
			for _, width := range []int{0, 60} {
				var out bytes.Buffer
				v := newTextView(&app{stdout: newScreen(&out)})
				if width > 0 {
					v.p.colour, v.p.width = true, func() int { return width }
					v.prose = newProse(v.p)
				}
				show(t, v, kind, text)
				shown := own.ReplaceAllString(out.String(), "")
				if r := unsafeIn(shown); r >= 0 {
					t.Errorf("%s in %d columns printed %U of %q: %q", kind, width, r, text, out.String())
				}
				if strings.Contains(out.String(), "\x1b]") || strings.Contains(out.String(), "\x1b[2J") || strings.Contains(out.String(), "\x1b[8m") {
					t.Errorf("%s in %d columns printed a sequence of %q: %q", kind, width, text, out.String())
				}
			}
		}
	}
}

func show(t *testing.T, v *textView, kind perdure.EventType, text string) {
	t.Helper()
	call := map[string]any{"id": text, "name": text}
	content, err := json.Marshal(perdure.Content{Parts: []perdure.Part{{Type: perdure.PartText, Text: text}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []any{text, map[string]any{"type": "tool_call_start", "tool_call": call}, map[string]any{"type": "tool_call_end", "tool_call": call, "result": map[string]any{"text": text, "isError": true}}} {
		members := map[string]any{
			"data": data, "type": perdure.EventToken, "message": text, "code": text, "kind": text, "error": text, "reason": text, "toolCallId": text, "stream": "stdout",
			"offset": 0, "seq": 1,
		}
		if kind == perdure.EventEntry {
			members = map[string]any{"id": uuid.New(), "role": perdure.RoleUser, "type": perdure.EntryMessage, "content": json.RawMessage(content)}
		}
		raw, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.event(client.Event{Type: kind, Data: raw}); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
	}
	v.notice(styleWarn, text)
	v.p.section("end")
}

// All output of the program's commands goes through a screen. The code uses the standard streams
// only to create a screen, and never prints to an implicit output.
func TestNoCommandWritesAroundTheScreen(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	screens := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		within := map[ast.Node]bool{}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if made, ok := n.Fun.(*ast.Ident); ok && made.Name == "newScreen" {
					screens++
					within[n.Args[0]] = true
				}
				if made, ok := n.Fun.(*ast.Ident); ok && (made.Name == "print" || made.Name == "println") {
					t.Errorf("%s calls %s", file, made.Name)
				}
			case *ast.SelectorExpr:
				name := selected(n)
				if (name == "os.Stdout" || name == "os.Stderr") && !within[n] {
					t.Errorf("%s names %s; write to a screen", file, name)
				}
				switch name {
				case "fmt.Print", "fmt.Println", "fmt.Printf", "log.Print", "log.Println", "log.Printf", "log.Fatal", "log.Fatalf":
					t.Errorf("%s calls %s; write to a screen", file, name)
				}
				if n.Sel.Name == "OutOrStdout" || n.Sel.Name == "OutOrStderr" || n.Sel.Name == "ErrOrStderr" {
					t.Errorf("%s calls %s; write to a screen", file, n.Sel.Name)
				}
				if n.Sel.Name == "paint" && file != "render_page.go" && file != "progress.go" {
					t.Errorf("%s paints: what it prints may hold sequences", file)
				}
			}
			return true
		})
	}
	if screens != 3 {
		t.Errorf("%d screens are made, want those of main and of what ends the process", screens)
	}
}

func selected(s *ast.SelectorExpr) string {
	if of, ok := s.X.(*ast.Ident); ok {
		return of.Name + "." + s.Sel.Name
	}
	return ""
}

func TestJoinersStandWhereScriptsNeedThem(t *testing.T) {
	for text, want := range map[string]string{
		"👨\u200d👩\u200d👧": "👨\u200d👩\u200d👧", "می\u200cخواهم": "می\u200cخواهم", "क\u094d\u200dष": "क\u094d\u200dष",
		"a\u200db": `a\u200db`, "é\u200db": `é\u200db`, "\u200da": `\u200da`, "👨\u200d\u200d": "👨\u200d\\u200d",
		"\u0600\u06dd": "\u0600\u06dd", "tab\tline\n": "tab\tline\n", "a\xffb": "a\ufffdb", "\U000e0001": `\udb40\udc01`,
	} {
		if got := visible(text); got != want {
			t.Errorf("%+q is shown as %+q, want %+q", text, got, want)
		}
	}
}

// The output does not depend on how the text is split into writes, and is always safe.
func FuzzScreen(f *testing.F) {
	for _, text := range escapes {
		f.Add([]byte(text), uint8(1))
	}
	f.Add([]byte("👨\u200d👩\x1b[31mred"), uint8(3))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		var whole, pieces bytes.Buffer
		s, p := newScreen(&whole), newScreen(&pieces)
		text = append(text, '\n') // ends an incomplete character
		_, _ = s.Write(text)
		for rest := text; len(rest) > 0; {
			n := min(int(size%5)+1, len(rest))
			_, _ = p.Write(rest[:n])
			rest = rest[n:]
		}
		if r := unsafeIn(whole.String()); r >= 0 {
			t.Fatalf("%q has %U", whole.String(), r)
		}
		if whole.String() != pieces.String() {
			t.Fatalf("%q in pieces is %q", whole.String(), pieces.String())
		}
		if again := visible(whole.String()); again != whole.String() {
			t.Fatalf("%q is changed again to %q", whole.String(), again)
		}
		if _, err := p.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		var painted bytes.Buffer
		_ = newScreen(&painted).paint(string(text))
		if r := unsafeIn(own.ReplaceAllString(painted.String(), "")); r >= 0 {
			t.Fatalf("%q has %U", painted.String(), r)
		}
	})
}

// Goroutines of the worker write log lines while the command itself writes.
func TestTheScreenTakesSeveralWriters(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(&out)
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for range 50 {
				_, _ = fmt.Fprintln(s, "a line of ü")
				_ = s.say("%s", "another of ü")
				_ = s.paint("\x1b[1mpainted ü\x1b[0m\n")
				_ = s.answer("an answer")
			}
		})
	}
	writers.Wait()
	if got := strings.Count(out.String(), "\n"); got != 8*50*4 {
		t.Errorf("%d lines were written, want %d", got, 8*50*4)
	}
}
