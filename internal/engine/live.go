package engine

import (
	"container/list"
	"context"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/fair"
)

const (
	// liveBytes bounds what is kept of LOCAL executions for live readers,
	// liveBytesEach what is kept of one; the oldest goes first. A record counts
	// liveOverhead beside its content.
	liveBytes     = 16 << 20
	liveBytesEach = 4 << 20
	liveOverhead  = 128
)

// shown is the content of a record, by its position, that the log does not keep.
type shown struct {
	pos     int64
	content []byte
}

// live holds what LOCAL executions showed last, in memory alone.
type live struct {
	total, each int // bounds; the constants, unless a test sets others

	mu    sync.Mutex // guards what follows
	bytes int
	order list.List // of *held, oldest first
	logs  map[uuid.UUID]*liveLog
}

// liveLog is the part of one execution.
type liveLog struct {
	bytes int
	order []*list.Element
	at    map[int64]*held
	busy  map[chan struct{}]bool // writes whose records may be durable and not here yet
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

// writing notes a write that may show something. The caller calls what it gives
// when the write is over, with what it showed.
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

// forget lets go of an element, which is the oldest of its execution.
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

// drop lets go of an execution of which there is nothing.
func (l *live) drop(execution uuid.UUID, log *liveLog) {
	if len(log.order) == 0 && len(log.busy) == 0 {
		delete(l.logs, execution)
	}
}

// get returns the content of a record, if it is still here.
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

// settled waits for the writes under way: of what a reader finds durable, what
// was shown is here then.
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
