package terminal

import (
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/log/fold"
)

// ContentOnWorkerText is shown in place of a content that only the worker of a LOCAL run has, while the
// server cannot read it from there.
const ContentOnWorkerText = "(content on worker)"

// ContentOnWorker reports whether the server has omitted a content because only the worker of a LOCAL run
// has it.
func ContentOnWorker(content json.RawMessage) bool {
	switch string(content) {
	case "", "null", `"worker"`:
		return true
	}
	return false
}

// Heading prints a line with facts about the run, above the entries of the conversation.
func (v *TextView) Heading(facts string) { v.p.hanging(StyleDim, Clean(Inline(facts))) }

// Note prints a remark between the entries of the conversation.
func (v *TextView) Note(text string) {
	v.p.section("text")
	v.p.line(StyleDim, text)
}

// Entry prints a stored entry at once, in contrast to an entry whose text is still streamed.
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

// compaction prints a divider for a compaction entry. If `whole` is set, it prints the summary
// under the divider.
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

// text prints a complete text of the model.
func (v *TextView) text(said string) {
	if v.prose != nil {
		v.prose.write(0, said)
		v.prose.flush()
		return
	}
	v.p.section("text")
	v.p.line(StyleNone, said)
}
