package engine

import (
	"container/list"
	"context"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/fair"
)

const (
	// liveBytes bounds the content of LOCAL executions that is in memory for live readers.
	// liveBytesEach bounds that of one execution. The oldest content is dropped first. Each record
	// counts liveOverhead in addition to its content.
	liveBytes     = 16 << 20
	liveBytesEach = 4 << 20
	liveOverhead  = 128
)

// shown is the content of a record that the log does not store, with the position of the record.
type shown struct {
	pos     int64
	content []byte
}

// live holds the newest content of LOCAL executions in memory; it is not stored.
type live struct {
	total, each int // limits; 0 means the constants, tests set others

	mu    sync.Mutex // guards the fields below
	bytes int
	order list.List // of *held, oldest first
	logs  map[uuid.UUID]*liveLog
}

// liveLog is the content of one execution.
type liveLog struct {
	bytes int
	order []*list.Element
	at    map[int64]*held
	busy  map[chan struct{}]bool // writes whose records may be durable while their content is not here yet
}

type held struct {
	execution uuid.UUID
	shown
}

func (h *held) size() int { return len(h.content) + liveOverhead }

func (l *live) log(execution uuid.UUID) *liveLog {
	if l.logs == nil {
		l.logs = map[uuid.UUID]*liveLog{}
	}
	log := l.logs[execution]
	if log == nil {
		log = &liveLog{at: map[int64]*held{}, busy: map[chan struct{}]bool{}}
		l.logs[execution] = log
	}
	return log
}

// writing records the start of a write that may show content. The caller calls over with that
// content when the write has ended.
func (l *live) writing(execution uuid.UUID) (over func([]shown)) {
	done := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log(execution).busy[done] = true
	return func(all []shown) {
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

func (l *live) put(execution uuid.UUID, log *liveLog, s shown) {
	h := &held{execution, s}
	log.at[s.pos] = h
	log.order = append(log.order, l.order.PushBack(h))
	log.bytes += h.size()
	l.bytes += h.size()
	for log.bytes > l.most(l.each, liveBytesEach) {
		l.forget(log.order[0])
	}
	for l.bytes > l.most(l.total, liveBytes) {
		l.forget(l.order.Front())
	}
}

func (l *live) most(set, constant int) int {
	if set > 0 {
		return set
	}
	return constant
}

// forget drops an element, which must be the oldest of its execution.
func (l *live) forget(e *list.Element) {
	h := l.order.Remove(e).(*held)
	log := l.logs[h.execution]
	log.order[0] = nil
	log.order = log.order[1:]
	if log.at[h.pos] == h {
		delete(log.at, h.pos)
	}
	log.bytes -= h.size()
	l.bytes -= h.size()
	l.drop(h.execution, log)
}

// drop deletes the log of an execution if it is empty and no write is in progress.
func (l *live) drop(execution uuid.UUID, log *liveLog) {
	if len(log.order) == 0 && len(log.busy) == 0 {
		delete(l.logs, execution)
	}
}

// get returns the content of a record, and reports whether it is still in memory.
func (l *live) get(execution uuid.UUID, pos int64) ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if log := l.logs[execution]; log != nil {
		if h := log.at[pos]; h != nil {
			return h.content, true
		}
	}
	return nil, false
}

// settled waits for the writes in progress. After that, the content of every record that the reader
// knows to be durable is in memory, unless it has been dropped.
func (l *live) settled(ctx context.Context, execution uuid.UUID) error {
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

func (l *live) underWay(execution uuid.UUID) []chan struct{} {
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
