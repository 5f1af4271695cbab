package schema

import (
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/perdure/perdure/internal/lru"
)

// Cache contains the most recently used compiled schemas. Its zero value is ready to use. It is
// safe for concurrent use.
type Cache struct {
	mu     sync.Mutex
	byText lru.Map[[sha256.Size]byte, *cacheEntry]
	weight int
}

// MaxCached is the approximate maximum memory of a Cache in bytes.
const MaxCached = 32 << 20

// errorWeight is the approximate memory of a cached error in bytes.
const errorWeight = 1 << 10

type cacheEntry struct {
	schema *Schema
	err    error
}

// Compile is like the function Compile. But if the cache contains the result for the text (a schema
// or an error), Compile returns this result.
func (c *Cache) Compile(raw json.RawMessage) (*Schema, error) {
	if len(raw) > MaxBytes {
		return Compile(raw) // Compile refuses the text for its size
	}
	text := sha256.Sum256(raw)
	if one := c.get(text); one != nil {
		return one.schema, one.err
	}
	one := &cacheEntry{}
	one.schema, one.err = Compile(raw)
	c.put(text, one)
	return one.schema, one.err
}

func (c *Cache) get(text [sha256.Size]byte) *cacheEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byText.Get(text)
}

func (c *Cache) put(text [sha256.Size]byte, one *cacheEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byText.Peek(text) != nil {
		return // another goroutine compiled the same text
	}
	c.byText.Put(text, one)
	for c.weight += one.weight(); c.weight > MaxCached; {
		c.weight -= c.byText.RemoveOldest().weight()
	}
}

func (c *cacheEntry) weight() int {
	if c.schema == nil {
		return errorWeight
	}
	return c.schema.weight
}

// Fits reports whether content fits a schema. It returns an error if the schema does not compile.
func (c *Cache) Fits(schema, content json.RawMessage) (bool, error) {
	compiled, err := c.Compile(schema)
	if err != nil {
		return false, err
	}
	return compiled.Check("", content) == nil, nil
}
