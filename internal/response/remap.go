package response

import (
	"crypto/sha256"
	"hash/maphash"
	"slices"
)

// Event is a change of one item of a response. Remap passes on events of unknown kinds unchanged.
type Event struct {
	Kind EventKind
	Item Item
	// Payload contains all other members of the event, which Remap passes on unchanged. They may
	// contain ids of tool calls, of files and of components of a user interface.
	Payload any
}

// EventKind is the kind of an item's change.
type EventKind string

// These are the kinds of events that a Remap knows.
const (
	ItemAdded    EventKind = "added"
	ItemUpdated  EventKind = "updated"
	ItemDone     EventKind = "done"
	ItemRemoved  EventKind = "removed"
	ItemReplaced EventKind = "replaced"
)

// Item identifies an item of a response: by its id, and by members that distinguish items with the
// same placeholder as id.
type Item struct {
	ID   string
	Type ItemType
	// OutputIndex is the item's place in the response; nil if unknown. CallID is the id of the tool
	// call that the item is, or whose result it is; otherwise "".
	OutputIndex *int
	CallID      string
}

// ItemType determines the prefix of an item's id.
type ItemType string

// These are the types of items whose ids have their own prefix.
const (
	MessageItem   ItemType = "message"
	CallItem      ItemType = "function_call"
	ReasoningItem ItemType = "reasoning"
	OutputItem    ItemType = "function_call_output"
)

func (t ItemType) prefix() string {
	switch t {
	case MessageItem:
		return PrefixMessage
	case CallItem:
		return PrefixCall
	case ReasoningItem:
		return PrefixReasoning
	case OutputItem:
		return PrefixOutput
	}
	return PrefixOther
}

// Remap gives every item of one response a unique id. An id stays unchanged if no other item has
// it. New ids replace placeholders, missing ids, and ids that another item has or had. They are
// derived only from the identity of the response and the order of the events. A Remap is not safe
// for concurrent use. It uses about 40 bytes per item.
type Remap struct {
	of      Identity
	seed    maphash.Seed
	items   []item
	unknown int
}

// item is the data that a Remap stores about an item. New ids are not stored: they are computed
// from the item's index in the list.
type item struct {
	old    [12]byte // hash of the id in incoming events
	fresh  uint64   // hash of the id in outgoing events
	call   uint64   // hash of its call id; 0 for none
	index  int32    // -1 if unknown
	try    uint8
	flags  uint8
	prefix uint8
}

const (
	mapped  = 1 << iota // it has a new id
	done                // no more updates follow
	removed             // the item was removed
)

// NewRemap creates a Remap for a new response.
func NewRemap(of Identity) *Remap { return &Remap{of: of, seed: maphash.MakeSeed()} }

// Unknown returns the number of events of kinds that Remap does not support.
func (r *Remap) Unknown() int { return r.unknown }

// Event returns the outgoing events for an incoming event, usually one. If the event removes an id
// that several items have, the result has one event for each of these items. If the event removes
// an unknown item without an id, the result is empty.
func (r *Remap) Event(e Event) []Event {
	switch e.Kind {
	case ItemAdded:
		return r.as(e, r.add(e.Item))
	case ItemUpdated:
		return r.as(e, r.follow(e.Item))
	case ItemDone:
		i := r.follow(e.Item)
		r.items[i].flags |= done
		return r.as(e, i)
	case ItemReplaced:
		return r.as(e, r.replace(e.Item))
	case ItemRemoved:
		return r.remove(e)
	}
	r.unknown++
	return []Event{e}
}

// as returns the event with the outgoing id of the item at index i.
func (r *Remap) as(e Event, i int) []Event {
	e.Item.ID = r.idOf(i, e.Item.ID)
	return []Event{e}
}

func (r *Remap) idOf(i int, old string) string {
	it := r.items[i]
	if it.flags&mapped == 0 {
		return old
	}
	return r.of.again(prefixes[it.prefix], i+1, int(it.try))
}

// prefixes contains the texts of the prefixes. Each item stores the index of its prefix.
var prefixes = []string{messages: PrefixMessage, reasonings: PrefixReasoning, calls: PrefixCall, outputs: PrefixOutput, untyped: PrefixOther}

const (
	messages = iota
	reasonings
	calls
	outputs
	untyped
)

// add creates an item and returns its index.
func (r *Remap) add(i Item) int {
	at := len(r.items)
	it := item{old: oldHash(i.ID), call: r.hash(i.CallID), index: indexOf(i), prefix: prefixOf(i.Type)}
	if i.ID == "" || IsPlaceholder(i.ID) || r.isTaken(i.ID) {
		it.flags |= mapped
		for r.isTaken(r.of.again(prefixes[it.prefix], at+1, int(it.try))) {
			it.try++
		}
	}
	if len(r.items) == cap(r.items) { // grow by a quarter, because doubling would need twice the memory
		r.items = append(make([]item, 0, at+at/4+8), r.items...)
	}
	r.items = append(r.items, it)
	r.items[at].fresh = r.hash(r.idOf(at, i.ID))
	return at
}

// isTaken reports whether an item has the id, in incoming or in outgoing events.
func (r *Remap) isTaken(id string) bool {
	fresh, old := r.hash(id), oldHash(id)
	return slices.ContainsFunc(r.items, func(it item) bool { return it.fresh == fresh || it.old == old })
}

// follow returns the open item to which an event refers, or creates one.
func (r *Remap) follow(i Item) int {
	if at := r.find(i, func(it item) bool { return it.flags&(done|removed) == 0 }); at >= 0 {
		return at
	}
	return r.add(i)
}

// replace returns the item that an event replaces; the item may be complete already. If there is
// none, replace creates it.
func (r *Remap) replace(i Item) int {
	if at := r.find(i, func(it item) bool { return it.flags&(done|removed) == 0 }); at >= 0 {
		return at
	}
	if at := r.find(i, func(it item) bool { return it.flags&removed == 0 }); at >= 0 {
		return at
	}
	return r.add(i)
}

// find returns the index of the newest item to which an event about the item i can refer; -1 if
// there is none. It considers only items with the same incoming id for which the function `counts`
// returns true. If none of these matches (see the method item.means), find returns the newest of
// them, unless the id is a placeholder.
func (r *Remap) find(i Item, counts func(item) bool) int {
	old, newest := oldHash(i.ID), -1
	like := item{call: r.hash(i.CallID), index: indexOf(i), prefix: prefixOf(i.Type)}
	for at := len(r.items) - 1; at >= 0; at-- {
		it := &r.items[at]
		if it.old != old || !counts(*it) {
			continue
		}
		if it.means(like) {
			it.learn(like)
			return at
		}
		if newest < 0 {
			newest = at
		}
	}
	if i.ID == "" || IsPlaceholder(i.ID) {
		return -1
	}
	return newest
}

// means reports whether an event about the item `like` can refer to this item. It compares the call
// ids, the output indexes and the prefixes.
func (it *item) means(like item) bool {
	switch {
	case it.prefix != like.prefix && it.prefix != untyped && like.prefix != untyped:
		return false
	case like.call != 0 && it.call != 0:
		return like.call == it.call
	case like.call != 0 && (it.prefix == messages || it.prefix == reasonings):
		return false
	}
	return like.index < 0 || it.index < 0 || like.index == it.index
}

// learn copies the call id and the index from the item `like`, if this item does not have them.
func (it *item) learn(like item) {
	if it.call == 0 {
		it.call = like.call
	}
	if it.index < 0 {
		it.index = like.index
	}
}

// remove removes every item that has the id in the event.
func (r *Remap) remove(e Event) []Event {
	var out []Event
	old := oldHash(e.Item.ID)
	for at := range r.items {
		if it := &r.items[at]; it.old == old && it.flags&removed == 0 {
			it.flags |= removed
			out = append(out, r.as(e, at)...)
		}
	}
	if out == nil && Real(e.Item.ID) != "" && !r.isTaken(e.Item.ID) { // an item of an earlier response
		at := r.add(e.Item)
		r.items[at].flags |= removed
		return []Event{e}
	}
	return out
}

func oldHash(id string) (hash [12]byte) {
	sum := sha256.Sum256([]byte(id))
	copy(hash[:], sum[:])
	return hash
}

func (r *Remap) hash(s string) uint64 {
	if s == "" {
		return 0
	}
	return max(maphash.String(r.seed, s), 1)
}

func indexOf(i Item) int32 {
	if i.OutputIndex == nil {
		return -1
	}
	return int32(*i.OutputIndex)
}

func prefixOf(t ItemType) uint8 { return uint8(slices.Index(prefixes, t.prefix())) }
