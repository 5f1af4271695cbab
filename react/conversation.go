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

// mostKept bounds the bytes of the conversations that a worker keeps decoded.
const mostKept = 64 << 20

// conversations are those that a worker lately called models with, decoded and
// hashed as far as they went, so that a turn costs what is new of it. It is a shorter
// way to what the store holds, no more: each entry is compared with the bytes that
// were decoded.
type conversations struct {
	mu    sync.Mutex // guards what follows
	kept  map[uuid.UUID]*conversation
	bytes int
	use   int64
}

// conversation is the messages of a path from the root. It belongs to one call at a
// time, and is only ever added to behind its end: the calls before it read it still.
type conversation struct {
	from     []source // of the messages, in order
	messages []perdure.Message
	hash     llm.PromptHash
	bytes    int
	used     int64
}

// source is what a message was decoded from.
type source struct {
	role    perdure.Role
	content json.RawMessage
}

// take returns what is kept of an execution's conversation, which is the caller's from
// now on.
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

// put keeps a conversation, and forgets those that were used longest ago if there is
// no room. The caller does not change it any more.
func (c *conversations) put(execution uuid.UUID, conv *conversation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[uuid.UUID]*conversation{}
	}
	if other := c.kept[execution]; other != nil {
		c.bytes -= other.bytes // of an attempt that runs still, or did
	}
	c.use++
	conv.used = c.use
	c.kept[execution] = conv
	c.bytes += conv.bytes
	for c.bytes > mostKept {
		c.forgetOldest()
	}
}

// forgetOldest is for put, which holds mu.
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

// read makes it the conversation of a path, and reports how many of its first messages
// were its first before.
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
	return s.role == e.Role && bytes.Equal(s.content, e.Content) // at once where they are the same bytes in memory
}

// cut leaves the first n messages, and does nothing if there are no more.
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

// bytes is about what the entry and its message take.
func (s source) bytes() int { return 2*len(s.content) + 500 }
