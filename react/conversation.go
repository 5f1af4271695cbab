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

// mostKept is the maximum number of bytes of all conversations that a worker caches.
const mostKept = 64 << 20

// conversations is a cache of the decoded and hashed conversations of recent model calls, so that a
// turn decodes only its new entries. Each cached message is compared with the stored entry before
// it is used.
type conversations struct {
	mu    sync.Mutex                        // guards the fields below
	kept  lru.Map[uuid.UUID, *conversation] // by execution id
	bytes int
}

// conversation contains the messages of a path, from the root. One call at a time uses it. New
// messages are only appended, because earlier calls may still read the existing ones.
type conversation struct {
	from     []source // the entries from which messages were decoded, in the same order
	messages []perdure.Message
	hash     llm.PromptHash
	bytes    int
}

// source is the part of an entry from which a message was decoded.
type source struct {
	role    perdure.Role
	content json.RawMessage
	// rewritten and resultBytes are fields of the perdure.ContextEntry.
	rewritten   bool
	resultBytes int
}

// take removes the conversation of an execution from the cache and returns it. It returns a new one
// if none is cached. The caller is then its only user.
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

// readContext changes the conversation to the context of a path. The path may lack entries that the
// context does not need. The result same is the number of messages at the beginning that are
// unchanged.
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

// read replaces the conversation by the messages of a context. The result same is the number of
// messages at the beginning that are unchanged.
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
	// The comparison is fast if both slices are the same memory.
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

// bytes returns the approximate memory of the entry and its message.
func (s source) bytes() int { return 2*len(s.content) + 500 }
