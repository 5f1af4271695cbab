package react

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// onlyCompacts reports whether the response consists of a compaction, without an answer of the model.
func (l *loop) onlyCompacts() bool { return l.asked().Compact == perdure.CompactOnly }

// compactOnly compacts the whole conversation, in several parts if the window is small, and ends the
// response.
func (l *loop) compactOnly(m perdure.ModelConfig) error {
	path, err := l.path()
	if err != nil {
		return err
	}
	if len(path) > 0 && path[len(path)-1].Type == perdure.EntryCompaction {
		record, err := path[len(path)-1].Compaction()
		if err != nil {
			return err
		}
		if record.KeepFrom == nil {
			return l.endResponse(perdure.StopEndTurn, "")
		}
	}
	begun, err := l.compact(perdure.CompactionManual, m, "")
	if err != nil || begun {
		return err
	}
	return l.compactOnlyFailed(perdure.InvalidArgument, "there is nothing to compact")
}

// compactOnlyFailed ends a response that only compacts, if its compaction failed. It does nothing
// in other responses, which continue without a summary.
func (l *loop) compactOnlyFailed(code perdure.Code, why string) error {
	if !l.onlyCompacts() {
		return nil
	}
	l.st.ErrorCode = code
	return l.endResponse(perdure.StopError, why)
}

// coversAll reports whether a compaction in this response covers the whole conversation, even the newest
// turn.
func (l *loop) coversAll() bool { return l.onlyCompacts() || l.asked().CompactFrom != nil }

// dueSize returns the size of the context, in tokens, at which an automatic compaction begins. The
// result `automatic` is false if no automatic compaction ever begins.
func (l *loop) dueSize(m perdure.ModelConfig) (size int, automatic bool) {
	in := l.asked()
	size, automatic = l.threshold(m), !l.compactionConfig().Disabled()
	if from := in.CompactFrom; from != nil {
		if *from > 0 && (!automatic || *from < size) {
			size = *from
		}
		automatic = true
	}
	return size, automatic
}

// planAll plans a compaction of a whole path. The compaction covers the first `keep` pieces. These
// are all pieces if the request for the summary has room for them. The result `pinned` contains the
// ids of covered pieces that stay in the context: the newest user and system messages, up to
// keptTokens.
func (p planner) planAll(pieces []piece) (pinned []uuid.UUID, keep int) {
	said := p.newestInputs(pieces)
	keep = p.fitting(pieces, len(pieces), pinnedEarlier(pieces))
	for _, c := range pieces[:keep] {
		if slices.Contains(said, c.Entry.ID) {
			pinned = append(pinned, c.Entry.ID)
		}
	}
	return pinned, keep
}

// pinnedEarlier returns the ids of the messages that stay in the context although an earlier
// compaction covers them. They come before that compaction in the context, so a new compaction that
// covered only them would not replace the earlier summary.
func pinnedEarlier(pieces []piece) []uuid.UUID {
	at := slices.IndexFunc(pieces, func(c piece) bool { return c.Entry.Type == perdure.EntryCompaction })
	var ids []uuid.UUID
	for _, c := range pieces[:max(at, 0)] {
		ids = append(ids, c.Entry.ID)
	}
	return ids
}

// newestInputs returns the ids of the newest messages of the user and the system that fit into
// keptTokens. System messages are chosen first.
func (p planner) newestInputs(pieces []piece) []uuid.UUID {
	var pinned []uuid.UUID
	room := p.keptTokens()
	for _, role := range []perdure.Role{perdure.RoleSystem, perdure.RoleUser} {
		for _, c := range slices.Backward(pieces) {
			if c.Entry.Role != role || c.Entry.Type != perdure.EntryMessage {
				continue
			}
			if c.tokens > room || len(pinned) == perdure.MaxPinned {
				break
			}
			room -= c.tokens
			pinned = append(pinned, c.Entry.ID)
		}
	}
	return pinned
}
