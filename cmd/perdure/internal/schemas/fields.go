package schemas

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

const (
	// maxFields is the maximum number of described fields.
	maxFields = 30
	// maxFieldDepth is the maximum depth of described fields.
	maxFieldDepth = 3
	// maxEnum is the maximum number of listed values of a field.
	maxEnum = 12
	// maxText is the maximum number of characters of a name, a value or a description.
	maxText = 100
)

// Fields describes the value that a schema accepts, a line for each field: its name, its type,
// whether it is required, and its values. It returns nil for a schema that accepts any value.
func Fields(raw json.RawMessage) []string {
	d := parse(raw)
	if d == nil {
		return nil
	}
	l := &lister{document: d}
	if root := d.resolve(d.root); root.isObject() {
		l.object(root, 0)
	} else if facts := l.facts(root, false); facts != "" {
		l.rows = append(l.rows, row{text: facts})
	}
	return l.lines()
}

// lister collects the rows of a description.
type lister struct {
	*document
	rows    []row
	leftOut int
}

type row struct{ name, text string }

func (l *lister) object(s *schema, depth int) {
	for _, p := range s.Properties {
		if len(l.rows) >= maxFields {
			l.leftOut++
			continue
		}
		value := l.resolve(p.value)
		name := strings.Repeat("  ", depth) + brief(p.name)
		l.rows = append(l.rows, row{name, l.facts(value, slices.Contains(s.Required, p.name))})
		inner := value
		if !inner.isObject() && value.Items != nil {
			inner = l.resolve(value.Items)
		}
		if inner.isObject() && depth+1 < maxFieldDepth {
			l.object(inner, depth+1)
		}
	}
}

// facts returns a text with what the schema says about a value: its type, whether it is required,
// its possible values and its description.
func (l *lister) facts(s *schema, required bool) string {
	var facts []string
	if t := l.typeText(s); t != "" {
		facts = append(facts, t)
	}
	if required {
		facts = append(facts, "required")
	}
	if len(s.Enum) > 0 {
		facts = append(facts, "one of "+valuesText(s.Enum))
	} else if s.Const != nil {
		facts = append(facts, "always "+brief(string(s.Const)))
	}
	text := strings.Join(facts, ", ")
	about := s.Description
	if about == "" {
		about = s.Title
	}
	if about != "" {
		if text != "" {
			text += ": "
		}
		text += brief(about)
	}
	return text
}

func (l *lister) typeText(s *schema) string {
	text := brief(strings.Join(s.Type, " or "))
	if text == "array" && s.Items != nil {
		if inner := l.resolve(s.Items); len(inner.Type) > 0 {
			return "array of " + brief(strings.Join(inner.Type, " or "))
		}
	}
	if text == "" && s.isObject() {
		return "object"
	}
	return text
}

func valuesText(values []json.RawMessage) string {
	var texts []string
	for _, v := range values[:min(len(values), maxEnum)] {
		texts = append(texts, brief(string(v)))
	}
	if more := len(values) - maxEnum; more > 0 {
		texts = append(texts, fmt.Sprintf("… (%d more)", more))
	}
	return strings.Join(texts, ", ")
}

// lines aligns the texts of the rows.
func (l *lister) lines() []string {
	const widest = 24
	width := 0
	for _, r := range l.rows {
		if n := len([]rune(r.name)); n <= widest {
			width = max(width, n)
		}
	}
	var lines []string
	for _, r := range l.rows {
		line := r.text
		if r.name != "" {
			line = terminal.Hanging(r.name, width+2, r.text, 0)
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	if l.leftOut > 0 {
		lines = append(lines, fmt.Sprintf("… (%d more fields)", l.leftOut))
	}
	return lines
}

// brief returns the beginning of a text in one line that cannot control a terminal.
func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxText {
		text = string(runes[:maxText-1]) + "…"
	}
	return terminal.Inline(text)
}
