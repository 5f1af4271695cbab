package fold

import (
	"fmt"

	"github.com/perdure/perdure"
)

// Compaction is a compaction of a conversation. It lies between two messages of the conversation,
// and belongs to no response.
type Compaction struct {
	Entry  *perdure.Entry
	Record perdure.CompactionRecord
	// Summary is the text that replaces the earlier messages. It is "" if the tree did not get
	// the content of the entry.
	Summary string
	// After is the last stored message before the compaction; nil if the tree has none.
	After *Message
}

// CompactionOf decodes an entry of the type compaction. The compaction's record is zero if only the
// execution's worker stores it. Errors: invalid_argument, internal.
func CompactionOf(e *perdure.Entry) (Compaction, error) {
	c := Compaction{Entry: e}
	content, err := contentOf(e)
	if err != nil {
		return c, err
	}
	c.Summary = content.PlainText()
	if len(e.Metadata) > 0 && string(e.Metadata) != "null" {
		c.Record, err = e.Compaction()
	}
	return c, err
}

// Line describes the compaction in one line, such as "48 messages summarized, 112 k → 4.0 k
// tokens".
func (c Compaction) Line() string {
	if c.Record.Reason == "" {
		return "compaction"
	}
	messages := "messages"
	if c.Record.Messages == 1 {
		messages = "message"
	}
	return fmt.Sprintf("%d %s summarized, %s → %s tokens", c.Record.Messages, messages, tokens(c.Record.TokensBefore), tokens(c.Record.TokensAfter))
}

// tokens formats a number of tokens, rounded, such as "4.0 k".
func tokens(n int) string {
	switch {
	case n < 1_000:
		return fmt.Sprint(n)
	case n < 9_950:
		tenths := (n + 50) / 100
		return fmt.Sprintf("%d.%d k", tenths/10, tenths%10)
	case n < 999_500:
		return fmt.Sprintf("%d k", (n+500)/1_000)
	}
	tenths := (n + 50_000) / 100_000
	return fmt.Sprintf("%d.%d M", tenths/10, tenths%10)
}

// compacted adds the compaction in an entry to the tree, after the last stored message.
func (t *Tree) compacted(e *perdure.Entry) error {
	for _, c := range t.Compactions {
		if c.Entry.ID == e.ID {
			return nil
		}
	}
	c, err := CompactionOf(e)
	if err != nil {
		return err
	}
	c.After = t.last
	t.Compactions = append(t.Compactions, &c)
	return nil
}
