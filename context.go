package perdure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Context is the part of a conversation that a model call sends.
type Context struct {
	// Entries are the entries in the order in which the model sees them.
	Entries []ContextEntry
	// Compaction is the newest compaction of the path, or nil if there is none.
	Compaction *Entry
	// LeftOut are the parts of the path that the model does not see, oldest first.
	LeftOut []LeftOut
}

// ContextEntry is an entry as a model sees it.
type ContextEntry struct {
	Entry Entry
	// Rewritten reports that the model that created the entry saw something else before it.
	// Providers accept the thinking of a message only after the messages that it was created with,
	// so the message is sent without it.
	Rewritten bool
	// ResultBytes is the maximum number of bytes of text in the tool results of the entry, and of
	// arguments in its tool calls. The model sees the head and the tail of longer ones. 0 means no
	// limit.
	ResultBytes int
}

// LeftOut is a part of a path that the model does not see.
type LeftOut struct {
	First uuid.UUID `json:"first"`
	Last  uuid.UUID `json:"last"`
	// Entries is the number of entries from First to Last.
	Entries int `json:"entries"`
	// Why is "compaction".
	Why string `json:"why"`
	// EntryID is the compaction that stands for the entries.
	EntryID uuid.UUID `json:"entryId"`
}

// LeftOutByCompaction is the value of LeftOut.Why.
const LeftOutByCompaction = "compaction"

// ContextOf returns the context of a path. The path is in order, and begins at the root or at any
// entry before the newest compaction's Pinned and KeepFrom. It depends only on the path, so each
// attempt of a model call and each reader gets the same context:
//
//   - Without a compaction, the context is the path.
//   - With compactions, the newest one applies. The context is its pinned entries, the compaction
//     itself, the entries from KeepFrom up to it, and the entries after it.
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
		if e.Type != EntryCompaction { // an older one, which the newest covers
			entries = append(entries, ContextEntry{Entry: e, Rewritten: true, ResultBytes: c.ResultBytes})
		}
	}
	return Context{Entries: append(entries, unchanged(path[at+1:])...), Compaction: &newest, LeftOut: leftOut}, nil
}

// keepIndex returns the index of the first entry that a compaction keeps, len(path) if it keeps
// none, or -1 if the entry is not on the path.
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

// pin splits the covered entries into those that are pinned and the ranges between them.
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

// noAnswerText replaces a message that has nothing but thinking and blank text.
const noAnswerText = "(an answer without text)"

// withoutThinking removes thinking parts. The signature of a tool call stays.
func withoutThinking(parts []Part) []Part {
	left := slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Type == PartThinking })
	says := func(p Part) bool { return p.Type != PartText || strings.TrimSpace(p.Text) != "" }
	if !slices.ContainsFunc(left, says) {
		return []Part{Text(noAnswerText)}
	}
	return left
}

func cutResults(parts []Part, most int) []Part {
	return mendParts(parts, func(p Part) (Part, bool) {
		if p.Type != PartToolResult || textBytes(p.Parts) <= most {
			return p, false
		}
		return CutResult(p, most), true
	})
}

// CutResult shortens the texts of a tool result to at most most bytes. A note in the text states
// the size of the part that is left out.
func CutResult(p Part, most int) Part {
	if textBytes(p.Parts) > most {
		p.Parts = cutTexts(p.Parts, most)
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

// cutTexts replaces the texts among parts by one that has their head and tail. Other parts stay.
func cutTexts(parts []Part, most int) []Part {
	var whole strings.Builder
	for _, p := range parts {
		whole.WriteString(p.Text)
	}
	out := []Part{Text(CutText(whole.String(), most))}
	for _, p := range parts {
		if p.Type != PartText {
			out = append(out, p)
		}
	}
	return out
}

// CutText shortens a text that is longer than most bytes. It returns the head and the tail of the
// text. A note between them states the size of the part that is left out.
func CutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	// ToValidUTF8 removes a character that is cut in two.
	head, tail := strings.ToValidUTF8(text[:most/2], ""), strings.ToValidUTF8(text[len(text)-most/2:], "")
	return head + fmt.Sprintf("\n[... %s left out by compaction ...]\n", byteCount(len(text)-len(head)-len(tail))) + tail
}

// byteCount returns a number of bytes in the largest unit below it, such as 1.2 MB.
func byteCount(n int) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}
