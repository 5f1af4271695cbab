package react

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/lru"
	"github.com/perdure/perdure/llm"
)

// mostKept is the maximum total size in bytes of a worker's cached conversations.
const mostKept = 64 << 20

// conversations caches the decoded and hashed messages of recent model calls, so that a turn decodes only
// its new entries. Before a cached message is used, it is compared with the stored entry.
type conversations struct {
	mu    sync.Mutex                        // guards the fields below
	kept  lru.Map[uuid.UUID, *conversation] // by execution id
	bytes int
}

// conversation contains the messages of a path, from its root. Only one model call at a time uses
// it. A stored message is never overwritten, because earlier calls may still read it.
type conversation struct {
	from     []source // the entries from which messages were decoded, in the same order
	messages []perdure.Message
	hash     llm.PromptHash
	bytes    int
}

// source is the data of an entry that determines its decoded message.
type source struct {
	role    perdure.Role
	content json.RawMessage
	// rewritten and resultBytes are the fields Rewritten and ResultBytes of the perdure.ContextEntry.
	rewritten   bool
	resultBytes int
}

// take removes the conversation of an execution from the cache and returns it, or a new one if none
// is cached. No other call gets this conversation until the caller has passed it to the method put.
func (c *conversations) take(execution uuid.UUID) *conversation {
	c.mu.Lock()
	defer c.mu.Unlock()
	conv := c.kept.Remove(execution)
	if conv == nil {
		return &conversation{}
	}
	c.bytes -= conv.bytes
	return conv
}

// put adds a conversation to the cache, and evicts the least recently used ones if the cache is
// full. The caller must not change the conversation after the call.
func (c *conversations) put(execution uuid.UUID, conv *conversation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.kept.Peek(execution); other != nil {
		c.bytes -= other.bytes // a concurrent attempt has put this conversation
	}
	c.kept.Put(execution, conv)
	for c.bytes += conv.bytes; c.bytes > mostKept; {
		c.bytes -= c.kept.RemoveOldest().bytes
	}
}

// readContext replaces the messages in conv by those of the context at the end of a path. The path
// need not contain entries that the context does not need. The result `same` is the number of
// messages at the beginning that are the same as before the call.
func (conv *conversation) readContext(path func() iter.Seq2[perdure.Entry, error]) (same int, err error) {
	compacted, err := hasCompaction(path())
	if err != nil {
		return 0, err
	}
	if !compacted { // then the context consists of the path's entries
		return conv.read(unchanged(path()))
	}
	entries, err := collect(path())
	if err != nil {
		return 0, err
	}
	c, err := perdure.ContextOf(entries)
	if err != nil {
		return 0, agent.Permanent(err)
	}
	return conv.read(inOrder(c.Entries))
}

func hasCompaction(path iter.Seq2[perdure.Entry, error]) (bool, error) {
	for e, err := range path {
		if err != nil || e.Type == perdure.EntryCompaction {
			return err == nil, err
		}
	}
	return false, nil
}

func collect(path iter.Seq2[perdure.Entry, error]) ([]perdure.Entry, error) {
	var entries []perdure.Entry
	for e, err := range path {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func unchanged(path iter.Seq2[perdure.Entry, error]) iter.Seq2[perdure.ContextEntry, error] {
	return func(yield func(perdure.ContextEntry, error) bool) {
		for e, err := range path {
			if !yield(perdure.ContextEntry{Entry: e}, err) {
				return
			}
		}
	}
}

func inOrder(entries []perdure.ContextEntry) iter.Seq2[perdure.ContextEntry, error] {
	return func(yield func(perdure.ContextEntry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// read replaces the messages in conv by those of the given context. The result `same` is the number
// of messages at the beginning that are the same as before the call.
func (conv *conversation) read(context iter.Seq2[perdure.ContextEntry, error]) (same int, err error) {
	known := len(conv.from)
	n := 0
	for e, err := range context {
		if err != nil {
			return 0, err
		}
		if n < known && conv.from[n].is(&e) {
			n, same = n+1, same+1
			continue
		}
		conv.cut(n)
		known = 0
		m, err := e.Message()
		if err != nil {
			return 0, agent.Permanent(err)
		}
		conv.add(&e, m)
		n++
	}
	conv.cut(n)
	return same, nil
}

func (s source) is(e *perdure.ContextEntry) bool {
	// bytes.Equal is fast if both slices share their memory, which is the usual case.
	return s.role == e.Entry.Role && s.rewritten == e.Rewritten && s.resultBytes == e.ResultBytes && bytes.Equal(s.content, e.Entry.Content)
}

// cut removes all messages after the first n.
func (conv *conversation) cut(n int) {
	if n == len(conv.from) {
		return
	}
	conv.from, conv.messages = slices.Clip(conv.from[:n]), slices.Clip(conv.messages[:n])
	conv.bytes = 0
	for _, s := range conv.from {
		conv.bytes += s.bytes()
	}
}

func (conv *conversation) add(e *perdure.ContextEntry, m perdure.Message) {
	s := source{e.Entry.Role, e.Entry.Content, e.Rewritten, e.ResultBytes}
	conv.from, conv.messages = append(conv.from, s), append(conv.messages, m)
	conv.bytes += s.bytes()
}

// bytes returns the approximate memory that the source and its decoded message occupy.
func (s source) bytes() int { return 2*len(s.content) + 500 }
