package schema

import (
	"container/list"
	"crypto/sha256"
	"encoding/json"
	"sync"
)

// Cache keeps what has been compiled, the most recently used of it. Its zero value is
// ready. It is safe for concurrent use.
type Cache struct {
	mu     sync.Mutex
	recent list.List // of *cached, the most recent first
	byText map[[sha256.Size]byte]*list.Element
	weight int
}

// MaxCached bounds the memory that a Cache holds, in bytes, roughly.
const MaxCached = 32 << 20

// errorWeight is what an error counts.
const errorWeight = 1 << 10

type cached struct {
	text   [sha256.Size]byte
	schema *Schema
	err    error
}

// Compile is Compile, once for each text while it is in the cache. What cannot be
// compiled is remembered, too.
func (c *Cache) Compile(raw json.RawMessage) (*Schema, error) {
	if len(raw) > MaxBytes {
		return Compile(raw) // refused by its size alone
	}
	text := sha256.Sum256(raw)
	if one := c.get(text); one != nil {
		return one.schema, one.err
	}
	one := &cached{text: text}
	one.schema, one.err = Compile(raw)
	c.put(one)
	return one.schema, one.err
}

func (c *Cache) get(text [sha256.Size]byte) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.byText[text]
	if at == nil {
		return nil
	}
	c.recent.MoveToFront(at)
	return at.Value.(*cached)
}

func (c *Cache) put(one *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byText == nil {
		c.byText = map[[sha256.Size]byte]*list.Element{}
	}
	if c.byText[one.text] != nil {
		return // compiled at the same time by another
	}
	c.byText[one.text] = c.recent.PushFront(one)
	c.weight += one.weight()
	for c.weight > MaxCached {
		last := c.recent.Remove(c.recent.Back()).(*cached)
		delete(c.byText, last.text)
		c.weight -= last.weight()
	}
}

func (c *cached) weight() int {
	if c.schema == nil {
		return errorWeight
	}
	return c.schema.weight
}
