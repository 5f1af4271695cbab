// Package live keeps the newest contents of LOCAL executions in memory, for live readers: clients
// that read a log while it is written. The contents pass through the server and are not stored
// there.
package live

import (
	"container/list"
	"context"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/rules"
)

const (
	// liveBytes is the maximum number of bytes of LOCAL content in memory. liveBytesEach is the
	// maximum for one execution. The oldest content is removed first. Each record counts
	// liveOverhead bytes in addition to its content.
	liveBytes     = 16 << 20
	liveBytesEach = 4 << 20
	liveOverhead  = 128
)

// Contents keeps the newest content of LOCAL executions in memory. It is safe for concurrent use.
type Contents struct {
	// Total is the maximum number of bytes of all contents, and Each is the maximum for one
	// execution. 0 selects the default: 16 MiB for Total and 4 MiB for Each.
	Total, Each int

	mu    sync.Mutex // guards the fields below
	bytes int
	order list.List // elements are *liveRecord, oldest first
	logs  map[uuid.UUID]*liveLog
}

// liveLog is the part of one execution's content that is in memory.
type liveLog struct {
	bytes int
	order []*list.Element
	at    map[int64]*liveRecord
	busy  map[chan struct{}]bool // each is closed when a write has ended; until then, records may be durable without content in memory
}

type liveRecord struct {
	execution uuid.UUID
	rules.LiveContent
}

func (h *liveRecord) size() int { return len(h.Content) + liveOverhead }

func (l *Contents) log(execution uuid.UUID) *liveLog {
	if l.logs == nil {
		l.logs = map[uuid.UUID]*liveLog{}
	}
	log := l.logs[execution]
	if log == nil {
		log = &liveLog{at: map[int64]*liveRecord{}, busy: map[chan struct{}]bool{}}
		l.logs[execution] = log
	}
	return log
}

// Writing records the start of a write that may produce content for live readers. Settled waits for
// the end of the write. After the write, the caller must call the function `over` with that
// content.
func (l *Contents) Writing(execution uuid.UUID) (over func([]rules.LiveContent)) {
	done := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log(execution).busy[done] = true
	return func(all []rules.LiveContent) {
		l.mu.Lock()
		defer l.mu.Unlock()
		log := l.log(execution)
		for _, s := range all {
			l.put(execution, log, s)
		}
		delete(log.busy, done)
		close(done)
		l.drop(execution, log)
	}
}

func (l *Contents) put(execution uuid.UUID, log *liveLog, s rules.LiveContent) {
	h := &liveRecord{execution, s}
	log.at[s.Pos] = h
	log.order = append(log.order, l.order.PushBack(h))
	log.bytes += h.size()
	l.bytes += h.size()
	for log.bytes > l.most(l.Each, liveBytesEach) {
		l.forget(log.order[0])
	}
	for l.bytes > l.most(l.Total, liveBytes) {
		l.forget(l.order.Front())
	}
}

func (l *Contents) most(set, constant int) int {
	if set > 0 {
		return set
	}
	return constant
}

// forget removes the content in the list element `e` from memory. This content must be the oldest
// one of its execution.
func (l *Contents) forget(e *list.Element) {
	h := l.order.Remove(e).(*liveRecord)
	log := l.logs[h.execution]
	log.order[0] = nil
	log.order = log.order[1:]
	if log.at[h.Pos] == h {
		delete(log.at, h.Pos)
	}
	log.bytes -= h.size()
	l.bytes -= h.size()
	l.drop(h.execution, log)
}

// drop deletes the liveLog of an execution if it is empty and no write is in progress.
func (l *Contents) drop(execution uuid.UUID, log *liveLog) {
	if len(log.order) == 0 && len(log.busy) == 0 {
		delete(l.logs, execution)
	}
}

// Get returns the content of a record, and reports whether it is still in memory.
func (l *Contents) Get(execution uuid.UUID, pos int64) ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if log := l.logs[execution]; log != nil {
		if h := log.at[pos]; h != nil {
			return h.Content, true
		}
	}
	return nil, false
}

// Settled waits for the writes of the execution that are in progress. After that, memory has the
// content of every record that was durable when Settled was called, except contents that were
// removed for lack of space. If ctx ends first, Settled returns the cause.
func (l *Contents) Settled(ctx context.Context, execution uuid.UUID) error {
	busy := l.underWay(execution)
	if len(busy) == 0 {
		return nil
	}
	defer fair.Wait(ctx)()
	for _, done := range busy {
		select {
		case <-done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (l *Contents) underWay(execution uuid.UUID) []chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []chan struct{}
	if log := l.logs[execution]; log != nil {
		for done := range log.busy {
			all = append(all, done)
		}
	}
	return all
}
