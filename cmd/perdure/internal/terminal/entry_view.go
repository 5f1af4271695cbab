package terminal

import (
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/log/fold"
)

// ContentOnWorkerText replaces a content that the server does not have and cannot read from its
// worker now.
const ContentOnWorkerText = "(content on worker)"

// ContentOnWorker reports whether a content was omitted because it is on a worker.
func ContentOnWorker(content json.RawMessage) bool {
	switch string(content) {
	case "", "null", `"worker"`:
		return true
	}
	return false
}

// Heading shows facts about the run before its entries.
func (v *TextView) Heading(facts string) { v.p.hanging(StyleDim, Clean(Inline(facts))) }

// Note shows a remark between the entries.
func (v *TextView) Note(text string) {
	v.p.section("text")
	v.p.line(StyleDim, text)
}

// Entry shows an existing entry as a whole.
func (v *TextView) Entry(e perdure.Entry) error {
	if ContentOnWorker(e.Content) {
		v.Note(ContentOnWorkerText)
		return v.p.err
	}
	if e.Type == perdure.EntryCompaction {
		return v.compaction(e, true)
	}
	m, err := e.Message()
	if err != nil {
		return err
	}
	if e.Role == perdure.RoleUser {
		v.user(m.Content)
		return v.p.err
	}
	for _, part := range m.Parts {
		switch part.Type {
		case perdure.PartText:
			if part.Text == "" { // it only carries a signature
				continue
			}
			v.text(Clean(part.Text))
		case perdure.PartThinking:
			v.p.section("thinking")
			v.p.indented(thinkingGutter, StyleDim, Clean(part.Thinking))
			v.p.newline()
		case perdure.PartToolResult:
			v.tools.call(part.ToolCallID, part.ToolName)
			v.tools.result(part.ToolCallID, fold.CallResult{
				IsError: part.IsError, Text: partsText(part.Parts),
			})
		}
	}
	return v.p.err
}

// compaction shows a compaction as a divider. The summary is shown under it if whole is set.
func (v *TextView) compaction(e perdure.Entry, whole bool) error {
	c, err := fold.CompactionOf(&e)
	if err != nil {
		return err
	}
	v.p.section("compaction")
	v.p.line(StyleDim, "── "+c.Line()+" ──")
	if whole && c.Summary != "" {
		v.p.indented(summaryGutter, StyleDim, Clean(c.Summary))
		v.p.newline()
	}
	return v.p.err
}

// text shows the model's whole text.
func (v *TextView) text(said string) {
	if v.prose != nil {
		v.prose.write(0, said)
		v.prose.flush()
		return
	}
	v.p.section("text")
	v.p.line(StyleNone, said)
}
