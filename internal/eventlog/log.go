package eventlog

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
	// pageRecords bounds one read of the store; the store bounds its bytes.
	pageRecords = 500
	// tick is how often the heads are looked at without a hint, and how often a
	// reader that waits is given an idle item unless it says otherwise.
	tick = time.Second
)

// Names on the wire that no record has.
const (
	Snapshot perdure.EventType = "snapshot"
	Reset    perdure.EventType = "reset"
	Ping     perdure.EventType = "ping"
	End      perdure.EventType = "end"
)

// Item is one thing that a reader is given.
type Item struct {
	// Event is the name on the wire: that of the record, Snapshot, Reset or
	// End. It is "" in an item that only moves the position, or comes from time
	// to time while there is nothing to read (From.Idle), so that the reader can
	// look after itself.
	Event perdure.EventType
	// Type is that of the record, or of the block of a snapshot.
	Type perdure.EventType
	// Cursor resumes after the item.
	Cursor perdure.Cursor
	// Seq is that of the event or block; 0 if the item has none.
	Seq int64
	// Data is the JSON object that clients get.
	Data []byte
	// More says that another item follows at once, so that a reader can write
	// several together.
	More bool
	// At is when the record was committed; zero for an item that is none. Live
	// says that the reader had caught up with the log before.
	At   perdure.Time
	Live bool
}

// From says where to begin. The zero value is the start of the log.
type From struct {
	// Cursor is what a client was last given; it takes precedence.
	Cursor string
	// AfterSeq asks for all events after that seq, and for the blocks of up to
	// that seq that are open or closed after it, whole.
	AfterSeq *int64
	// Idle is how long a reader that waits is given nothing, at most; default
	// 1 s. Each idle item wakes it.
	Idle time.Duration
}

// Log reads logs. It is safe for any number of readers.
type Log struct {
	read       store.Reader
	storeEpoch uint64
	hints      notify.Notifier

	mu        sync.Mutex // guards what follows, and the followers' refs
	followers map[uuid.UUID]*follower
	rounds    *rounds // while there are followers
}

// New creates a Log over a store's reading side and its epoch.
func New(read store.Reader, storeEpoch uint64, hints notify.Notifier) *Log {
	return &Log{read: read, storeEpoch: storeEpoch, hints: hints, followers: map[uuid.UUID]*follower{}}
}

// page reads and renders the records after pos, fewer if their entries are
// large. Records that clients are not shown are idle items, which only move the
// position.
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
		item, err := joined.render(execution, r)
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

// errTruncated says that the log begins after the position that was asked for.
var errTruncated = errors.New("the log begins later")

// gap says what the absence of the record at pos means: the log begins later,
// which is errTruncated, or it is damaged. It is never passed over.
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

// ended reports whether the log is over at the head.
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
