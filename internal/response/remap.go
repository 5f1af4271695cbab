package response

import (
	"crypto/sha256"
	"hash/maphash"
	"slices"
)

// Event says that an item of a response changed. Its kind is one of those
// below; others pass.
type Event struct {
	Kind EventKind
	Item Item
	// Payload is what else the event holds. It is passed on as it is: ids of
	// calls, components and files in it are not this layer's.
	Payload any
}

// EventKind tells the changes of an item apart.
type EventKind string

// The kinds that a Remap knows.
const (
	ItemAdded    EventKind = "added"
	ItemUpdated  EventKind = "updated"
	ItemDone     EventKind = "done"
	ItemRemoved  EventKind = "removed"
	ItemReplaced EventKind = "replaced"
)

// Item names an item: its id, and what tells it apart from others that share a
// placeholder.
type Item struct {
	ID   string
	Type ItemType
	// OutputIndex is its place in the response, nil if it is not known, and
	// CallID the call that it is, or answers; "" for none.
	OutputIndex *int
	CallID      string
}

// ItemType gives an item's id its prefix.
type ItemType string

// The types whose ids have a prefix of their own.
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

// Remap gives every item of one response an id of its own. Ids that are real
// and were not seen before pass; a placeholder, no id at all, and an id that
// another item has or had become new ones, which follow from the identity and
// the order of the events alone. It is for one goroutine, and holds about 40
// bytes an item.
type Remap struct {
	of      Identity
	seed    maphash.Seed
	items   []item
	unknown int
}

// item is what is kept of an item. Its place among the others is its ordinal,
// of which a new id is made again whenever it is needed.
type item struct {
	old    [12]byte // hash of the id that events name it by
	fresh  uint64   // hash of the id that it has outside
	call   uint64   // hash of its call id, 0 for none
	index  int32    // -1 if it is not known
	try    uint8
	flags  uint8
	prefix uint8
}

const (
	mapped  = 1 << iota // its id is a new one
	done                // no update follows it
	removed             // it is no more
)

// NewRemap begins a response.
func NewRemap(of Identity) *Remap { return &Remap{of: of, seed: maphash.MakeSeed()} }

// Unknown counts the events whose kind is not known.
func (r *Remap) Unknown() int { return r.unknown }

// Event returns the events that go out for one that came in: one as a rule,
// several where an id is removed that stands for several items, none where what
// is removed has no id and was never there. e itself is left as it is.
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

// as returns the event under the id of the item at i.
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

// prefixes by their number in an item.
var prefixes = []string{messages: PrefixMessage, reasonings: PrefixReasoning, calls: PrefixCall, outputs: PrefixOutput, untyped: PrefixOther}

const (
	messages = iota
	reasonings
	calls
	outputs
	untyped
)

// add creates an item.
func (r *Remap) add(i Item) int {
	at := len(r.items)
	it := item{old: oldHash(i.ID), call: r.hash(i.CallID), index: indexOf(i), prefix: prefixOf(i.Type)}
	if i.ID == "" || IsPlaceholder(i.ID) || r.isTaken(i.ID) {
		it.flags |= mapped
		for r.isTaken(r.of.again(prefixes[it.prefix], at+1, int(it.try))) {
			it.try++
		}
	}
	if len(r.items) == cap(r.items) { // by a quarter: doubling would take twice the memory
		r.items = append(make([]item, 0, at+at/4+8), r.items...)
	}
	r.items = append(r.items, it)
	r.items[at].fresh = r.hash(r.idOf(at, i.ID))
	return at
}

// isTaken reports whether an item has the id outside, or is named by it.
func (r *Remap) isTaken(id string) bool {
	fresh, old := r.hash(id), oldHash(id)
	return slices.ContainsFunc(r.items, func(it item) bool { return it.fresh == fresh || it.old == old })
}

// follow finds the open item that an event names, or makes one.
func (r *Remap) follow(i Item) int {
	if at := r.find(i, func(it item) bool { return it.flags&(done|removed) == 0 }); at >= 0 {
		return at
	}
	return r.add(i)
}

// replace finds the item that is replaced, which may be done.
func (r *Remap) replace(i Item) int {
	if at := r.find(i, func(it item) bool { return it.flags&(done|removed) == 0 }); at >= 0 {
		return at
	}
	if at := r.find(i, func(it item) bool { return it.flags&removed == 0 }); at >= 0 {
		return at
	}
	return r.add(i)
}

// find returns the newest item of the id that counts and is the one meant; -1 if
// there is none. What shares a placeholder is told apart by call id, else by
// output index, else not; a real id means its newest item where nothing fits.
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

// means reports whether what an event says of an item fits this one.
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

// learn keeps what an item was not known by before.
func (it *item) learn(like item) {
	if it.call == 0 {
		it.call = like.call
	}
	if it.index < 0 {
		it.index = like.index
	}
}

// remove removes every item that the id stands for.
func (r *Remap) remove(e Event) []Event {
	var out []Event
	old := oldHash(e.Item.ID)
	for at := range r.items {
		if it := &r.items[at]; it.old == old && it.flags&removed == 0 {
			it.flags |= removed
			out = append(out, r.as(e, at)...)
		}
	}
	if out == nil && Real(e.Item.ID) != "" && !r.isTaken(e.Item.ID) { // of an earlier response
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
