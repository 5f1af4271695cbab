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
	"github.com/perdure/perdure/llm"
)

// mostKept limits the bytes of the decoded conversations that a worker caches.
const mostKept = 64 << 20

// conversations is a cache of the decoded and hashed conversations of recent model calls, so that a
// turn costs only its new entries. The store remains authoritative: each cached entry is compared
// with the bytes from which it was decoded.
type conversations struct {
	mu    sync.Mutex // guards the fields below
	kept  map[uuid.UUID]*conversation
	bytes int
	use   int64
}

// conversation holds the messages of a path from the root. It belongs to one call at a time. New
// messages are only appended, because earlier calls may still read the existing ones.
type conversation struct {
	from     []source // of the messages, in order
	messages []perdure.Message
	hash     llm.PromptHash
	bytes    int
	used     int64
}

// source is the entry from which a message was decoded.
type source struct {
	role    perdure.Role
	content json.RawMessage
}

// take removes an execution's conversation from the cache and returns it. The caller then owns it.
func (c *conversations) take(execution uuid.UUID) *conversation {
	c.mu.Lock()
	defer c.mu.Unlock()
	conv := c.kept[execution]
	if conv == nil {
		return &conversation{}
	}
	delete(c.kept, execution)
	c.bytes -= conv.bytes
	return conv
}

// put caches a conversation. If there is no room, it evicts the least recently used ones. The
// caller must not change the conversation after the call.
func (c *conversations) put(execution uuid.UUID, conv *conversation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[uuid.UUID]*conversation{}
	}
	if other := c.kept[execution]; other != nil {
		c.bytes -= other.bytes // of a concurrent attempt
	}
	c.use++
	conv.used = c.use
	c.kept[execution] = conv
	c.bytes += conv.bytes
	for c.bytes > mostKept {
		c.forgetOldest()
	}
}

// forgetOldest evicts the least recently used conversation. The caller holds mu.
func (c *conversations) forgetOldest() {
	var oldest uuid.UUID
	used := c.use + 1
	for id, conv := range c.kept {
		if conv.used < used {
			oldest, used = id, conv.used
		}
	}
	c.bytes -= c.kept[oldest].bytes
	delete(c.kept, oldest)
}

// read updates the conversation to a path. It returns the number of leading messages that did not
// change.
func (conv *conversation) read(path iter.Seq2[perdure.Entry, error]) (same int, err error) {
	known := len(conv.from)
	n := 0
	for e, err := range path {
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

func (s source) is(e *perdure.Entry) bool {
	return s.role == e.Role && bytes.Equal(s.content, e.Content) // fast if both are the same bytes in memory
}

// cut keeps only the first n messages.
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

func (conv *conversation) add(e *perdure.Entry, m perdure.Message) {
	s := source{e.Role, e.Content}
	conv.from, conv.messages = append(conv.from, s), append(conv.messages, m)
	conv.bytes += s.bytes()
}

// bytes is the approximate memory of the entry and its message.
func (s source) bytes() int { return 2*len(s.content) + 500 }
