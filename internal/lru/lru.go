// Package lru has a map that records the order in which its values were used. A cache with a limit
// in bytes uses it: the cache counts the bytes, and removes the least recently used values while
// the bytes exceed the limit. All operations except Keys take constant time.
package lru

import (
	"container/list"
	"iter"
	"maps"
)

// Map is a map that records the order in which its values were used. The zero value is an empty
// map. It is not safe for concurrent use.
type Map[K comparable, V any] struct {
	at    map[K]*list.Element
	order list.List // elements are *item[K, V], the most recently used first
}

type item[K comparable, V any] struct {
	key   K
	value V
}

// Len returns the number of values.
func (m *Map[K, V]) Len() int { return len(m.at) }

// Get returns the value of key and makes it the most recently used one. It returns the zero value
// if the map does not contain key.
func (m *Map[K, V]) Get(key K) (value V) {
	if at := m.at[key]; at != nil {
		m.order.MoveToFront(at)
		return at.Value.(*item[K, V]).value
	}
	return value
}

// Peek is like Get, but does not change the order of use.
func (m *Map[K, V]) Peek(key K) (value V) {
	if at := m.at[key]; at != nil {
		return at.Value.(*item[K, V]).value
	}
	return value
}

// Put sets the value of key and makes it the most recently used one.
func (m *Map[K, V]) Put(key K, value V) {
	if at := m.at[key]; at != nil {
		at.Value.(*item[K, V]).value = value
		m.order.MoveToFront(at)
		return
	}
	if m.at == nil {
		m.at = map[K]*list.Element{}
	}
	m.at[key] = m.order.PushFront(&item[K, V]{key, value})
}

// Remove removes a key and returns its value. It returns the zero value if the map does not contain
// the key.
func (m *Map[K, V]) Remove(key K) (value V) {
	at := m.at[key]
	if at == nil {
		return value
	}
	delete(m.at, key)
	return m.order.Remove(at).(*item[K, V]).value
}

// Oldest returns the least recently used value. It returns the zero value if the map is empty.
func (m *Map[K, V]) Oldest() (value V) {
	if oldest := m.order.Back(); oldest != nil {
		return oldest.Value.(*item[K, V]).value
	}
	return value
}

// RemoveOldest removes the least recently used value and returns it. It returns the zero value if
// the map is empty.
func (m *Map[K, V]) RemoveOldest() (value V) {
	if oldest := m.order.Back(); oldest != nil {
		return m.Remove(oldest.Value.(*item[K, V]).key)
	}
	return value
}

// Keys returns all keys in no particular order. The caller may remove keys during the iteration.
func (m *Map[K, V]) Keys() iter.Seq[K] { return maps.Keys(m.at) }
