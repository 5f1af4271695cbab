package schema

import (
	"container/list"
	"crypto/sha256"
	"encoding/json"
	"sync"
)

// Cache keeps the most recently used compiled schemas. Its zero value is ready to use. It is safe
// for concurrent use.
type Cache struct {
	mu     sync.Mutex
	recent list.List // of *cached, most recently used first
	byText map[[sha256.Size]byte]*list.Element
	weight int
}

// MaxCached is the approximate maximum memory of a Cache in bytes.
const MaxCached = 32 << 20

// errorWeight is the weight of a cached error in bytes.
const errorWeight = 1 << 10

type cached struct {
	text   [sha256.Size]byte
	schema *Schema
	err    error
}

// Compile is the package's Compile with caching: it compiles each text once while the text is in
// the cache. Errors are cached too.
func (c *Cache) Compile(raw json.RawMessage) (*Schema, error) {
	if len(raw) > MaxBytes {
		return Compile(raw) // refused for its size
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
		return // another goroutine compiled the same text
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
