package terminal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

const (
	// maxPastTurns and maxPastEntries limit the part of a past conversation that is shown: the
	// number of messages of the user in it, and the number of all its entries.
	maxPastTurns   = 3
	maxPastEntries = 20
	// maxPastRows is the maximum number of rows that the past of a conversation fills. If the newest entry
	// alone has more rows, the first rows of that entry are left out.
	maxPastRows = 40
)

// Past has the newest part of a conversation, which a command shows before it continues the conversation.
type Past struct {
	// Entries are the newest entries of the conversation, oldest first. EntriesBefore is the number of
	// entries before them.
	Entries       []perdure.Entry
	EntriesBefore int
	// Load sets the content of an entry, if the server has left it out because of its size.
	Load func(e *perdure.Entry) error
}

// Past shows the newest entries of a conversation, in the form in which they were first shown. x is
// the run.
func (v *TextView) Past(x *perdure.Execution, p Past) error {
	begin := beginOfPast(p.Entries)
	shown, rows := len(p.Entries), []string(nil)
	var all [][]string
	for _, e := range p.Entries[begin:] {
		if err := p.Load(&e); err != nil {
			return err
		}
		drawn, err := v.rowsOf(e)
		if err != nil {
			return err
		}
		all = append(all, drawn)
	}
	for shown > begin {
		next := all[shown-1-begin]
		if len(rows)+len(next) > maxPastRows && len(rows) > 0 {
			break
		}
		rows = append(slices.Clone(next), rows...)
		shown--
	}
	cut := max(len(rows)-maxPastRows, 0)
	v.writePast(x, rows[cut:], p.EntriesBefore+shown, cut)
	return v.p.err
}

// beginOfPast returns the index of the first entry that is shown.
func beginOfPast(entries []perdure.Entry) int {
	turns := 0
	begin := max(len(entries)-maxPastEntries, 0)
	for i := len(entries) - 1; i > begin; i-- {
		if e := entries[i]; e.Role == perdure.RoleUser && e.Type == perdure.EntryMessage {
			if turns++; turns == maxPastTurns {
				return i
			}
		}
	}
	return begin
}

// rowsOf returns the rows of the terminal with which an entry is shown.
func (v *TextView) rowsOf(e perdure.Entry) ([]string, error) {
	fold := v.FoldUserMessages
	v.FoldUserMessages = true
	defer func() { v.FoldUserMessages = fold }()
	var err error
	text := v.p.capture(func() {
		if e.Type == perdure.EntryCompaction {
			err = v.compaction(e, false)
			return
		}
		err = v.Entry(e)
	})
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil, err
	}
	return strings.Split(text, "\n"), err
}

// writePast writes the rows, below a line with the numbers of omitted entries and rows.
func (v *TextView) writePast(x *perdure.Execution, rows []string, earlier, cut int) {
	var left []string
	switch {
	case earlier == 1:
		left = append(left, "1 earlier entry")
	case earlier > 1:
		left = append(left, fmt.Sprintf("%s earlier entries", grouped(int64(earlier))))
	}
	if cut > 0 {
		left = append(left, count(cut, "line"))
	}
	if len(left) > 0 {
		v.p.hanging(StyleDim, fmt.Sprintf("… %s: perdure show %s%s", strings.Join(left, " and "), x.ID, v.serverFlags))
		v.p.raw("\n")
	}
	for len(rows) > 0 && rows[0] == "" {
		rows = rows[1:]
	}
	for _, row := range rows {
		v.p.raw(row + "\n")
	}
}
