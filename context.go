package perdure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Context is the part of a conversation that is sent with a model call.
type Context struct {
	// Entries are the entries in the order in which the model sees them.
	Entries []ContextEntry
	// Compaction is the newest compaction of the path, or nil if there is none.
	Compaction *Entry
	// LeftOut are the ranges of the path that the model does not see, oldest first.
	LeftOut []LeftOut
}

// ContextEntry is an entry as a model sees it.
type ContextEntry struct {
	Entry Entry
	// Rewritten reports that the messages before the entry have changed since a model created the
	// entry. A provider accepts the thinking in a message only if the messages before it have not
	// changed, so the message is sent without its thinking.
	Rewritten bool
	// ResultBytes limits the texts of the entry's tool results, and the arguments of its tool
	// calls, in bytes. The model sees only the head and the tail of longer texts and arguments. 0
	// means no limit.
	ResultBytes int
}

// LeftOut is a range of a path that the model does not see.
type LeftOut struct {
	First uuid.UUID `json:"first"`
	Last  uuid.UUID `json:"last"`
	// Entries is the number of entries from First to Last.
	Entries int `json:"entries"`
	// Why is the reason why the entries are left out: always LeftOutByCompaction.
	Why string `json:"why"`
	// EntryID is the id of the compaction whose summary replaces the entries.
	EntryID uuid.UUID `json:"entryId"`
}

// LeftOutByCompaction is the value of LeftOut.Why.
const LeftOutByCompaction = "compaction"

// ContextOf returns the context of a path. The path is in order. It may begin after the root, but not
// after the entries that the newest compaction names in Pinned and KeepFrom. The context depends only
// on the path, so each attempt of a model call and each reader gets the same context:
//
//   - Without a compaction, the context is the path.
//   - With compactions, the newest one applies. The context is the entries in Pinned, the compaction
//     itself, the entries from KeepFrom up to the compaction, and the entries after the compaction.
//
// Error: invalid_transcript, if the newest compaction does not fit the path.
func ContextOf(path []Entry) (Context, error) {
	at := len(path) - 1
	for at >= 0 && path[at].Type != EntryCompaction {
		at--
	}
	if at < 0 {
		return Context{Entries: unchanged(path)}, nil
	}
	newest := path[at]
	c, err := newest.Compaction()
	if err != nil {
		return Context{}, invalidTranscript(newest, "%v", err)
	}
	from := keepIndex(path[:at], c)
	if from < 0 {
		return Context{}, invalidTranscript(newest, "keeps from %s, which is not before it on the path", c.KeepFrom)
	}
	pinned, leftOut := pin(path[:from], c.Pinned, newest.ID)
	entries := append(pinned, ContextEntry{Entry: newest})
	for _, e := range path[from:at] {
		if e.Type != EntryCompaction { // an older compaction is covered by the newest one
			entries = append(entries, ContextEntry{Entry: e, Rewritten: true, ResultBytes: c.ResultBytes})
		}
	}
	return Context{Entries: append(entries, unchanged(path[at+1:])...), Compaction: &newest, LeftOut: leftOut}, nil
}

// keepIndex returns the index of the entry c.KeepFrom in path. It returns len(path) if c.KeepFrom
// is nil, or -1 if the entry is not on the path.
func keepIndex(path []Entry, c CompactionRecord) int {
	if c.KeepFrom == nil {
		return len(path)
	}
	return slices.IndexFunc(path, func(e Entry) bool { return e.ID == *c.KeepFrom })
}

func unchanged(entries []Entry) []ContextEntry {
	out := make([]ContextEntry, len(entries))
	for i, e := range entries {
		out[i] = ContextEntry{Entry: e}
	}
	return out
}

// pin divides the entries that a compaction covers into those that the model still sees and the
// ranges that it does not see. The model still sees the entries with the given ids that are
// messages of the user or of the system.
func pin(covered []Entry, ids []uuid.UUID, compaction uuid.UUID) (pinned []ContextEntry, out []LeftOut) {
	open := false
	for _, e := range covered {
		if slices.Contains(ids, e.ID) && (e.Role == RoleUser || e.Role == RoleSystem) {
			pinned = append(pinned, ContextEntry{Entry: e})
			open = false
			continue
		}
		if !open {
			out = append(out, LeftOut{First: e.ID, Why: LeftOutByCompaction, EntryID: compaction})
			open = true
		}
		last := &out[len(out)-1]
		last.Last = e.ID
		last.Entries++
	}
	return pinned, out
}

// Message decodes the entry's content in the form in which the model sees it.
func (c ContextEntry) Message() (Message, error) {
	m, err := c.Entry.Message()
	if err != nil {
		return m, err
	}
	if c.Rewritten && m.Role == RoleAssistant {
		m.Parts = withoutThinking(m.Parts)
	}
	if c.ResultBytes > 0 && m.Role == RoleToolResult {
		m.Parts = cutResults(m.Parts, c.ResultBytes)
	}
	if c.ResultBytes > 0 && m.Role == RoleAssistant {
		m.Parts = cutCalls(m.Parts, c.ResultBytes)
	}
	return m, nil
}

// noAnswerText replaces a message that contains only thinking and blank text.
const noAnswerText = "(an answer without text)"

// withoutThinking returns the parts without thinking parts. The signatures of tool calls are kept.
func withoutThinking(parts []Part) []Part {
	left := slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Type == PartThinking })
	says := func(p Part) bool { return p.Type != PartText || strings.TrimSpace(p.Text) != "" }
	if !slices.ContainsFunc(left, says) {
		return []Part{Text(noAnswerText)}
	}
	return left
}

func cutResults(parts []Part, limit int) []Part {
	return mendParts(parts, func(p Part) (Part, bool) {
		if p.Type != PartToolResult || textBytes(p.Parts) <= limit {
			return p, false
		}
		return CutResult(p, limit), true
	})
}

// CutResult shortens the texts of a tool result so that together they have at most limit bytes. A note
// in the text states how much is left out.
func CutResult(p Part, limit int) Part {
	if textBytes(p.Parts) > limit {
		p.Parts = cutTexts(p.Parts, limit)
	}
	return p
}

func textBytes(parts []Part) int {
	n := 0
	for _, p := range parts {
		n += len(p.Text)
	}
	return n
}

// cutTexts replaces all text parts by one text part with the head and the tail of their text. Parts
// of other types stay unchanged.
func cutTexts(parts []Part, limit int) []Part {
	var whole strings.Builder
	for _, p := range parts {
		whole.WriteString(p.Text)
	}
	out := []Part{Text(CutText(whole.String(), limit))}
	for _, p := range parts {
		if p.Type != PartText {
			out = append(out, p)
		}
	}
	return out
}

// CutText returns text unchanged if it has at most limit bytes. Otherwise it returns the head and the
// tail of the text, and between them a note that states how much is left out.
func CutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	// ToValidUTF8 removes a character that is cut in two.
	head, tail := strings.ToValidUTF8(text[:limit/2], ""), strings.ToValidUTF8(text[len(text)-limit/2:], "")
	return head + fmt.Sprintf("\n[... %s left out by compaction ...]\n", byteCount(len(text)-len(head)-len(tail))) + tail
}

// byteCount formats a number of bytes with a unit, such as "1.2 MB".
func byteCount(n int) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}
