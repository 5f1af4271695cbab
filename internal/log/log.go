package log

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
)

const (
	// pageRecords is the maximum number of records in one read of the store. The store itself
	// limits the number of bytes in one read.
	pageRecords = 500
	// tick is the interval at which the server reads the heads of the logs that have readers, even
	// without a hint. It is also the default interval between two idle items.
	tick = time.Second
)

// These are event names that clients receive and that are not types of records.
const (
	Snapshot perdure.EventType = "snapshot"
	Reset    perdure.EventType = "reset"
	Ping     perdure.EventType = "ping"
	End      perdure.EventType = "end"
)

// From is the position from which a log is read. The zero value is the start of the log.
type From struct {
	// Cursor is the last cursor that the client received; it takes precedence over AfterSeq.
	Cursor string
	// AfterSeq requests all events with a greater seq. Before them come full snapshots of the
	// blocks that were open at the event with this seq.
	AfterSeq *int64
	// Idle is the interval at which a reader receives idle items while there is nothing to read;
	// default 1 s.
	Idle time.Duration
}

// Log reads logs of executions. It is safe for any number of concurrent readers.
type Log struct {
	read       store.LogReader
	storeEpoch uint64
	hints      notify.Notifier

	mu        sync.Mutex // guards followers, rounds and the field refs of each follower
	followers map[uuid.UUID]*follower
	rounds    *poller // nil if there are no followers
}

// New creates a Log that reads from the store with the epoch storeEpoch. The notifier `hints`
// reports when a log has grown.
func New(read store.LogReader, storeEpoch uint64, hints notify.Notifier) *Log {
	return &Log{read: read, storeEpoch: storeEpoch, hints: hints, followers: map[uuid.UUID]*follower{}}
}

// page reads at most `limit` records after a position, and fewer if the entries of these records
// are large.
// Records that clients do not see become items that only move the position.
func (l *Log) page(ctx context.Context, execution uuid.UUID, pos int64, limit int) ([]Item, store.Head, error) {
	records, head, err := l.read.Log(ctx, execution, pos, limit)
	if err != nil {
		return nil, head, err
	}
	joined, n, err := l.joinEntries(ctx, execution, records)
	if err != nil {
		return nil, head, err
	}
	records = records[:n]
	items := make([]Item, 0, len(records))
	for i, r := range records {
		if want := pos + 1 + int64(i); r.Pos != want {
			return nil, head, l.gap(ctx, execution, want)
		}
		item, err := joined.item(execution, r)
		if err != nil {
			return nil, head, err
		}
		item.Cursor, item.At = l.cursorOf(head, r), r.CreatedAt
		items = append(items, item)
	}
	if len(items) == 0 && pos < head.LastPos {
		return nil, head, l.gap(ctx, execution, pos+1)
	}
	return items, head, nil
}

// errTruncated reports that the log no longer has the records directly after the requested
// position, because they were pruned.
var errTruncated = errors.New("the log begins later")

// gap returns the error for a missing record at a position. It is errTruncated if the log now
// begins after that position, and otherwise an internal error, because the log is damaged.
func (l *Log) gap(ctx context.Context, execution uuid.UUID, pos int64) error {
	first, _, err := l.read.Log(ctx, execution, 0, 1)
	if err != nil {
		return err
	}
	if len(first) == 1 && first[0].Pos > pos {
		return errTruncated
	}
	return perdure.Errorf(perdure.Internal, "the log of execution %s lacks its record %d", execution, pos)
}

// ended reports whether the record at the head is the last one of the log.
func (l *Log) ended(ctx context.Context, execution uuid.UUID, head store.Head) (bool, error) {
	if head.LastPos == 0 {
		return false, nil
	}
	last, _, err := l.read.Log(ctx, execution, head.LastPos-1, 1)
	if err != nil || len(last) == 0 {
		return false, err
	}
	return last[0].Type.Ends(), nil
}
