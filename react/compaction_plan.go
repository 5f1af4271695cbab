package react

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

const (
	// maxKeptTokens is the maximum size, in tokens, of the newest turns that a compaction keeps.
	// These turns are also at most a quarter of the window.
	maxKeptTokens = 20_000
	// maxPinnedTokens is the maximum size, in tokens, of all messages that a compaction covers but
	// that stay in the context (pinned). These messages are also at most an eighth of the window.
	maxPinnedTokens = 4_000
	// maxSummaryTokens is the maximum size of a summary in tokens. A summary is also at most a quarter of
	// the window, both of the model that writes it and of the model that reads it.
	maxSummaryTokens = 16_000
	// bytesPerToken is the approximate number of bytes of text in a token.
	bytesPerToken = 3.5
	// instructionTokens is the number of tokens that are reserved, in the request for a summary,
	// for the text that asks for it.
	instructionTokens = 2_000
)

// planner decides which entries a compaction covers.
type planner struct {
	limits llm.Limits
	writer llm.Limits // the limits of the model that writes the summary
	target float64    // the value of CompactOptions.Target
	prompt int        // the number of bytes of CompactOptions.Prompt
	fixed  int        // the size of the system prompt and the tools
	// newestOnly makes the compaction keep only the newest turn.
	newestOnly bool
	// all makes the compaction cover every turn, even the newest one.
	all bool
	// pinnedAlone allows a compaction of only pinned messages, although these stay in the context.
	pinnedAlone bool
}

// piece is an entry of the context with its size in tokens.
type piece struct {
	perdure.ContextEntry
	tokens int
	// The field `kept` is the size of the piece after a compaction that keeps the piece: such a
	// compaction cuts long tool results and arguments. The field `asked` is the size of the piece
	// in the request for a summary: there, long texts of messages are cut as well.
	kept, asked int
}

// plan returns the record of the compaction of a path, except its reason. The result `ok` is false
// if a summary would cover nothing. If the result `partial` is true, the window is too small for a
// summary of everything that should be covered, and another compaction has to follow.
func (p planner) plan(path []perdure.Entry) (record perdure.CompactionRecord, partial, ok bool, err error) {
	pieces, before, err := p.pieces(path)
	if err != nil {
		return record, false, false, err
	}
	keep, all := p.choose(pieces, &record)
	covered := countCovered(pieces[:keep], record.Pinned)
	for _, c := range pieces[:keep] {
		if c.Entry.Type != perdure.EntryCompaction {
			record.Last = c.Entry.ID
		}
	}
	if covered == 0 && (!p.pinnedAlone || record.Last == uuid.Nil) {
		return record, false, false, nil
	}
	if keep < len(pieces) {
		id := pieces[keep].Entry.ID
		record.KeepFrom = &id
	}
	record.ResultBytes = p.textBytes()
	record.Messages, record.TokensBefore = covered+before.messages, p.fixed+sum(pieces)
	return record, keep < all, true, nil
}

// choose sets record.Pinned, the covered pieces that stay in the context. The compaction covers the
// first `keep` pieces. With a window that is large enough, it would cover the first `all` pieces.
func (p planner) choose(pieces []piece, record *perdure.CompactionRecord) (keep, all int) {
	if p.all {
		record.Pinned, keep = p.planAll(pieces)
		return keep, len(pieces)
	}
	all = p.keepFrom(pieces)
	record.Pinned = p.pinned(pieces[:all])
	if countCovered(pieces[:all], record.Pinned) == 0 && cuts(pieces[all:]) {
		record.Pinned = []uuid.UUID{} // nothing can be covered unless pinned messages are, too
	}
	return p.fitting(pieces, all, record.Pinned), all
}

// countCovered returns the number of pieces that a summary replaces. These are all pieces except an
// earlier compaction and the pinned pieces, which stay in the context.
func countCovered(pieces []piece, pinned []uuid.UUID) int {
	n := 0
	for _, c := range pieces {
		if isCovered(c, pinned) {
			n++
		}
	}
	return n
}

// cuts reports whether a compaction that keeps these pieces shortens one of them.
func cuts(pieces []piece) bool {
	return slices.ContainsFunc(pieces, func(c piece) bool { return c.kept < c.tokens })
}

// earlierCompaction describes the newest compaction in the path: the field `messages` is the number
// of messages that its summary replaces.
type earlierCompaction struct{ messages int }

// pieces returns the entries from which the context of the path is built, each with its size.
func (p planner) pieces(path []perdure.Entry) ([]piece, earlierCompaction, error) {
	c, err := perdure.ContextOf(path)
	if err != nil {
		return nil, earlierCompaction{}, err
	}
	var before earlierCompaction
	if c.Compaction != nil {
		record, err := c.Compaction.Compaction()
		if err != nil {
			return nil, earlierCompaction{}, err
		}
		before.messages = record.Messages
	}
	pieces := make([]piece, len(c.Entries))
	for i, e := range c.Entries {
		m, err := e.Message()
		if err != nil {
			return nil, earlierCompaction{}, err
		}
		kept := withShortCalls(m, p.textBytes())
		pieces[i] = piece{
			e, llm.EstimateMessage(m, p.limits), llm.EstimateMessage(kept, p.limits),
			llm.EstimateMessage(shortened(m, p.textBytes()), p.limits),
		}
	}
	return pieces, before, nil
}

func sum(pieces []piece) int {
	n := 0
	for _, p := range pieces {
		n += p.tokens
	}
	return n
}

// keptTokens returns the maximum size in tokens of the turns that a compaction keeps.
func (p planner) keptTokens() int {
	if p.target > 0 {
		return int(p.target * float64(p.limits.Window))
	}
	return min(maxKeptTokens, p.limits.Window/4)
}

// textBytes returns a size in bytes. A compaction cuts each tool result that it keeps, and the
// arguments of each call that it keeps, to this size. In the request for a summary, every text is
// cut to this size.
func (p planner) textBytes() int { return int(float64(p.keptTokens()) * bytesPerToken) }

// begins reports whether a turn begins at the piece. This is the case for every message except tool
// results and compactions.
func (p piece) begins() bool {
	return p.Entry.Role != perdure.RoleToolResult && p.Entry.Type != perdure.EntryCompaction
}

// keepFrom returns the index of the first piece that a compaction keeps. A compaction keeps the
// newest turn, and as many turns before it as fit into keptTokens. It keeps no piece before an
// earlier compaction, because such a piece is a pinned message of that compaction, not a turn.
func (p planner) keepFrom(pieces []piece) int {
	keep, tokens := len(pieces), 0
	for i := len(pieces) - 1; i >= 0 && pieces[i].Entry.Type != perdure.EntryCompaction; i-- {
		tokens += min(pieces[i].tokens, pieces[i].kept)
		if !pieces[i].begins() {
			continue
		}
		if keep < len(pieces) && (p.newestOnly || tokens > p.keptTokens()) {
			break
		}
		keep = i
	}
	return keep
}

// fitting returns the number of pieces to cover. The candidates are `keep` and each smaller index
// at which a turn begins, if a summary would replace a piece before that index. The result is the
// largest candidate for which the request for a summary fits into the window. If the request fits
// for no candidate, the result is the smallest candidate. Without candidates the result is 0.
func (p planner) fitting(pieces []piece, keep int, pinned []uuid.UUID) int {
	room := p.writer.Window - p.fixed - p.summaryTokens() - instructionTokens - int(float64(p.prompt)/bytesPerToken)
	fits, tokens, covers := 0, 0, false
	for i := 0; i <= keep; i++ {
		if covers && (i == keep || pieces[i].begins()) {
			if tokens > room && fits > 0 {
				return fits
			}
			fits = i
		}
		if i < keep {
			tokens += pieces[i].asked
			covers = covers || isCovered(pieces[i], pinned)
		}
	}
	return fits
}

// isCovered reports whether a summary replaces the piece. An earlier compaction does not count as
// covered.
func isCovered(c piece, pinned []uuid.UUID) bool {
	return c.Entry.Type != perdure.EntryCompaction && !slices.Contains(pinned, c.Entry.ID)
}

// pinned returns the ids of the pieces that stay in the context for good: system messages and the
// first user message, if they are small.
func (p planner) pinned(pieces []piece) []uuid.UUID {
	room, user := min(maxPinnedTokens, p.limits.Window/8), false
	pinned := []uuid.UUID{}
	for _, c := range pieces {
		// The pieces before an earlier compaction are pinned already. So no user message after that
		// compaction counts as the first one.
		user = user || c.Entry.Type == perdure.EntryCompaction
		first := c.Entry.Role == perdure.RoleUser && c.Entry.Type == perdure.EntryMessage && !user
		user = user || first
		if (first || c.Entry.Role == perdure.RoleSystem) && c.tokens <= room && len(pinned) < perdure.MaxPinned {
			room -= c.tokens
			pinned = append(pinned, c.Entry.ID)
		}
	}
	return pinned
}

// summaryTokens returns the maximum size of the summary in tokens.
func (p planner) summaryTokens() int {
	n := min(maxSummaryTokens, p.limits.Window/4, p.writer.Window/4)
	if p.writer.MaxOutput > 0 {
		n = min(n, p.writer.MaxOutput)
	}
	return n
}
