package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure"
)

// detailsText returns the printed details of a question that asks whether the tool may be called.
// `exact` is the field Exact of those details.
func detailsText(t *testing.T, tool, details string) (text string, exact bool) {
	t.Helper()
	q := &perdure.Question{QuestionTerms: perdure.QuestionTerms{Kind: perdure.QuestionApproval, Subject: tool}}
	d := DetailsOf(q, []byte(details), 80)
	var out bytes.Buffer
	if err := NewScreen(&out).Details(d); err != nil {
		t.Fatal(err)
	}
	return out.String(), d.Exact
}

func argumentsOf(t *testing.T, members map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestDetailsAreShownAsTheToolShowsThem checks that a call of a built-in tool is shown as its command
// or its change, together with all other arguments. Arguments of an unexpected form are shown as JSON.
func TestDetailsAreShownAsTheToolShowsThem(t *testing.T) {
	for name, c := range map[string]struct {
		tool, details, want string
		exact               bool
	}{
		"command":          {"bash", `{"command": "grep \"a\" <x\nls\u001b[2J\u202e", "timeout": 600}`, "  │ grep \"a\" <x\n  │ ls\\u001b[2J\\u202e\n  timeout: 600\n", false},
		"blank lines":      {"bash", `{"command": "ls\n\n\nrm x"}`, "  │ ls\n  │ \n  │ \n  │ rm x\n", false},
		"two commands":     {"bash", `{"command": "ls", "command": "rm x"}`, `    {"command": "ls", "command": "rm x"}` + "\n", true},
		"names differ":     {"bash", `{"command": "ls", "Command": "rm x"}`, `    {"command": "ls", "Command": "rm x"}` + "\n", true},
		"no text":          {"bash", `{"command": 7}`, `    {"command": 7}` + "\n", true},
		"null":             {"bash", `{"command": null}`, `    {"command": null}` + "\n", true},
		"no JSON":          {"bash", `{"command": `, `    {"command":` + "\n", true},
		"more than one":    {"bash", `{"command": "ls"} {}`, `    {"command": "ls"} {}` + "\n", true},
		"a name in lines":  {"bash", `{"command": "ls", "a\nb": "c\nd"}`, "  │ ls\n  a\\u000ab: \"c\\nd\"\n", false},
		"change":           {"edit-file", `{"newString": "b\nc\n", "path": "x.go", "oldString": "a\n", "replaceAll": true}`, "  x.go\n  │ -a\n  │ +b\n  │ +c\n  replaceAll: true\n", false},
		"context":          {"edit-file", `{"path": "x", "oldString": "a\nb\nc\n", "newString": "a\nB\n\nc\n"}`, "  x\n  │  a\n  │ -b\n  │ +B\n  │ +\n  │  c\n", false},
		"last line end":    {"edit-file", `{"path": "x", "oldString": "a\nb\n", "newString": "a\nb"}`, "  x\n  │ -a\n  │ -b\n  │ +a\n  │ +b\n", false},
		"a line repeated":  {"edit-file", `{"path": "x", "oldString": "a\n", "newString": "a\na\n"}`, "  x\n  │  a\n  │ +a\n", false},
		"removal":          {"edit-file", `{"path": "x\ny", "oldString": "a", "newString": ""}`, "  x\\u000ay\n  │ -a\n", false},
		"file":             {"write-file", `{"path": "x.go", "content": "a\n\nb"}`, "  x.go\n  │ +a\n  │ +\n  │ +b\n", false},
		"other tool":       {"deploy", `{"version": "1.2"}`, `    {"version": "1.2"}` + "\n", true},
		"large other tool": {"deploy", `{"version": "` + strings.Repeat("1", 80) + `", "command": "x"}`, "    {\n      \"version\": \"" + strings.Repeat("1", 80) + "\",\n      \"command\": \"x\"\n    }\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, exact := detailsText(t, c.tool, c.details)
			if diff := cmp.Diff(c.want, got); diff != "" || exact != c.exact {
				t.Errorf("exact is %v\n%s", exact, diff)
			}
		})
	}
}

// TestLongDetailsAreFolded checks that the middle of a long command is not printed. In its place is the
// number of hidden lines or characters.
func TestLongDetailsAreFolded(t *testing.T) {
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprint("line ", i))
	}
	got, exact := detailsText(t, "bash", argumentsOf(t, map[string]any{"command": strings.Join(lines, "\n")}))
	if n := strings.Count(got, "\n"); exact || n != 23 || !strings.Contains(got, "  │ line 15\n  … 78 lines hidden; v shows all\n  │ line 94\n") {
		t.Errorf("exact is %v; %d lines are shown:\n%s", exact, n, got)
	}
	got, exact = detailsText(t, "bash", argumentsOf(t, map[string]any{"command": "echo " + strings.Repeat("é", 2000) + "; rm x"}))
	if exact || !strings.HasSuffix(got, "; rm x\n") || !strings.Contains(got, "\n  … 1,011 characters of the line hidden; v shows all\n  │ é") || strings.Count(got, "é") != 989 {
		t.Errorf("exact is %v:\n%s", exact, got)
	}
	crowded := strings.TrimSuffix(strings.Repeat(strings.Repeat("x", 900)+"\n", 20), "\n")
	got, exact = detailsText(t, "bash", argumentsOf(t, map[string]any{"command": crowded}))
	if n := strings.Count(got, "x"); exact || n != 20*200 {
		t.Errorf("exact is %v; %d of the characters are shown", exact, n)
	}
	if got, exact = detailsText(t, "deploy", `"`+strings.Repeat("x", 2000)+`"`); exact || !strings.Contains(got, "hidden; v shows all") {
		t.Errorf("exact is %v:\n%s", exact, got)
	}
}
