package response_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/response"
)

const fake = "__fake_id__"

// item returns an item of an event. If index is negative, the item has no output index.
func item(id string, kind response.ItemType, index int, callID string) response.Item {
	i := response.Item{ID: id, Type: kind, CallID: callID}
	if index >= 0 {
		i.OutputIndex = &index
	}
	return i
}

func added(i response.Item) response.Event {
	return response.Event{Kind: response.ItemAdded, Item: i, Payload: "added"}
}

func updated(i response.Item) response.Event {
	return response.Event{Kind: response.ItemUpdated, Item: i}
}

func done(i response.Item) response.Event { return response.Event{Kind: response.ItemDone, Item: i} }

func removed(i response.Item) response.Event {
	return response.Event{Kind: response.ItemRemoved, Item: i}
}

func replaced(i response.Item) response.Event {
	return response.Event{Kind: response.ItemReplaced, Item: i}
}

// ids returns the ids of the outgoing events.
func ids(r *response.Remap, events ...response.Event) []string {
	var all []string
	for _, e := range events {
		for _, out := range r.Event(e) {
			all = append(all, out.Item.ID)
		}
	}
	return all
}

// letters replaces ids by letters, in order of appearance. Equal ids get equal letters.
func letters(all []string) string {
	names := map[string]string{}
	var text strings.Builder
	for _, id := range all {
		if names[id] == "" {
			names[id] = string(rune('a' + len(names)))
		}
		text.WriteString(names[id])
	}
	return text.String()
}

func TestIDRemapping(t *testing.T) {
	message := func(id string) response.Item { return item(id, response.MessageItem, -1, "") }
	for name, c := range map[string]struct {
		events []response.Event
		want   string
	}{
		"one item":                  {[]response.Event{added(message(fake)), updated(message(fake)), done(message(fake))}, "aaa"},
		"one after the other":       {[]response.Event{added(message(fake)), done(message(fake)), added(message(fake)), updated(message(fake)), done(message(fake))}, "aabbb"},
		"added twice":               {[]response.Event{added(message(fake)), added(message(fake)), updated(message(fake))}, "abb"},
		"a real id added twice":     {[]response.Event{added(message("m")), added(message("m")), updated(message("m"))}, "abb"},
		"a real id after its end":   {[]response.Event{added(message("m")), done(message("m")), added(message("m"))}, "aab"},
		"an update without added":   {[]response.Event{updated(message(fake)), updated(message(fake)), done(message(fake))}, "aaa"},
		"done without added":        {[]response.Event{done(message(fake)), done(message(fake))}, "ab"},
		"no id":                     {[]response.Event{added(message("")), updated(message("")), done(message("")), added(message(""))}, "aaab"},
		"removed means all":         {[]response.Event{added(message(fake)), done(message(fake)), added(message(fake)), removed(message(fake)), removed(message(fake))}, "aabab"},
		"removed is over":           {[]response.Event{added(message("m")), removed(message("m")), updated(message("m"))}, "aab"},
		"removed, and never there":  {[]response.Event{removed(message(fake)), removed(message("m"))}, "a"},
		"replaced follows":          {[]response.Event{added(message(fake)), replaced(message(fake)), done(message(fake)), replaced(message(fake))}, "aaaa"},
		"replaced without added":    {[]response.Event{replaced(message(fake)), updated(message(fake))}, "aa"},
		"told apart by index":       {[]response.Event{added(item(fake, "", 0, "")), added(item(fake, "", 1, "")), updated(item(fake, "", 0, "")), updated(item(fake, "", 1, "")), done(item(fake, "", 0, ""))}, "ababa"},
		"told apart by call":        {[]response.Event{added(item(fake, response.CallItem, 0, "c")), added(item(fake, response.CallItem, 0, "d")), updated(item(fake, "", -1, "c")), done(item(fake, "", 0, "d"))}, "abab"},
		"told apart by type":        {[]response.Event{added(item(fake, response.ReasoningItem, -1, "")), added(item(fake, response.MessageItem, -1, "")), updated(item(fake, response.ReasoningItem, -1, "")), updated(item(fake, response.CallItem, -1, "c"))}, "abac"},
		"an unknown index is new":   {[]response.Event{added(item(fake, "", 0, "")), updated(item(fake, "", 1, ""))}, "ab"},
		"the call is learnt":        {[]response.Event{added(item(fake, response.CallItem, 0, "")), updated(item(fake, "", 0, "c")), added(item(fake, response.CallItem, 0, "d")), updated(item(fake, "", 0, "c"))}, "aaba"},
		"a call that is known":      {[]response.Event{added(item(fake, response.CallItem, 0, "")), updated(item(fake, "", 0, "c")), updated(item(fake, "", 0, "d"))}, "aab"},
		"a message takes no call's": {[]response.Event{added(message(fake)), updated(item(fake, "", -1, "c"))}, "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ids(response.NewRemap(host), c.events...)
			if diff := cmp.Diff(c.want, letters(got)); diff != "" {
				t.Errorf("items (-want +got), ids %q:\n%s", got, diff)
			}
			if strings.Contains(strings.Join(got, " "), fake) {
				t.Errorf("a placeholder is left in %q", got)
			}
			if again := ids(response.NewRemap(host), c.events...); !cmp.Equal(got, again) {
				t.Errorf("played again the ids are %q, not %q", again, got)
			}
		})
	}
}

func TestRemapKeepsRealIDs(t *testing.T) {
	m, c := item("msg_real", response.MessageItem, 0, ""), item("fc_real", response.CallItem, 1, "call_1")
	got := ids(response.NewRemap(host), added(m), updated(m), added(c), done(m), updated(c), done(c))
	if diff := cmp.Diff([]string{"msg_real", "msg_real", "fc_real", "msg_real", "fc_real", "fc_real"}, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

// TestRemapPrefixesByType checks items of five types that share a placeholder. Each gets a
// different new id, with the prefix of its type.
func TestRemapPrefixesByType(t *testing.T) {
	got := ids(response.NewRemap(host),
		added(item(fake, response.ReasoningItem, 0, "")), added(item(fake, response.MessageItem, 1, "")),
		added(item(fake, response.CallItem, 2, "call_1")), added(item(fake, response.OutputItem, 3, "call_1")), added(item(fake, "other", 4, "")),
	)
	for i, prefix := range []string{"rs_", "msg_", "fc_", "fco_", "item_"} {
		digits, ok := strings.CutPrefix(got[i], prefix)
		if !ok || len(digits)*4 < 96 || strings.Trim(digits, "0123456789abcdef") != "" {
			t.Errorf("id %d is %q, which is not %s and at least 96 bits", i, got[i], prefix)
		}
	}
	if letters(got) != "abcde" {
		t.Errorf("the ids are %q", got)
	}
}

func TestRemapLeavesTheRest(t *testing.T) {
	r := response.NewRemap(host)
	odd := response.Event{Kind: "widget", Item: item(fake, "", 0, "call_1"), Payload: map[string]string{"component_id": fake}}
	if diff := cmp.Diff([]response.Event{odd}, r.Event(odd)); diff != "" || r.Unknown() != 1 {
		t.Errorf("%d unknown events, this one changed (-want +got):\n%s", r.Unknown(), diff)
	}
	payload := map[string]string{"file_id": fake}
	e := response.Event{Kind: response.ItemAdded, Item: item(fake, response.CallItem, 3, fake), Payload: payload}
	out := r.Event(e)
	if e.Item.ID != fake || *e.Item.OutputIndex != 3 || payload["file_id"] != fake {
		t.Errorf("the event itself became %+v", e)
	}
	want := e
	want.Item.ID = out[0].Item.ID
	if diff := cmp.Diff([]response.Event{want}, out); diff != "" || r.Unknown() != 1 {
		t.Errorf("more than the id changed (-want +got):\n%s", diff)
	}
}

// TestRemapRemovesEveryItemOfAnID checks an event that removes an id that several items share. Each
// of these items is removed once, under its own new id.
func TestRemapRemovesEveryItemOfAnID(t *testing.T) {
	r := response.NewRemap(host)
	first := ids(r, added(item(fake, response.MessageItem, 0, "")), added(item(fake, response.CallItem, 1, "call_1")),
		added(item("msg_real", response.MessageItem, 2, "")), added(item(fake, response.CallItem, 3, "call_2")))
	gone := response.Event{Kind: response.ItemRemoved, Item: response.Item{ID: fake}}
	want := []string{first[0], first[1], first[3]}
	if diff := cmp.Diff(want, ids(r, gone)); diff != "" {
		t.Errorf("the ids that are removed (-want +got):\n%s", diff)
	}
	if again := ids(r, gone); len(again) != 0 {
		t.Errorf("%q are removed twice", again)
	}
	after := ids(r, updated(item(fake, response.CallItem, 3, "call_2")))
	if len(after) != 1 || after[0] == first[0] || after[0] == first[1] || after[0] == first[3] {
		t.Errorf("an item that comes after the removal has the id %q of %q", after, first)
	}
}

// TestRemapOfWhatWasRemapped checks that a second Remap of a response leaves ids unchanged that the
// first Remap has created. The second Remap changes such an id only if it has already given the id
// to another item.
func TestRemapOfWhatWasRemapped(t *testing.T) {
	m := item(fake, response.MessageItem, -1, "")
	first := ids(response.NewRemap(host), added(m), done(m), added(m), done(m))
	r := response.NewRemap(host)
	again := ids(r, added(item(first[2], response.MessageItem, -1, "")), added(m), added(item(first[0], response.MessageItem, -1, "")))
	if again[0] != first[2] || letters(again) != "abc" {
		t.Errorf("the ids are %q after %q", again, first)
	}
}

func TestConcurrentRequests(t *testing.T) {
	const requests, items = 20, 50
	all := make([][]string, requests)
	var group sync.WaitGroup
	for n := range requests {
		group.Go(func() {
			of := response.Identity{Execution: [16]byte{byte(n % 2)}, Response: fmt.Sprint("resp_", n/2)}
			r := response.NewRemap(of)
			for range items {
				m := item(fake, response.MessageItem, -1, "")
				all[n] = append(all[n], ids(r, added(m), updated(m), done(m))...)
			}
		})
	}
	group.Wait()
	seen := map[string]int{}
	for n, got := range all {
		for i, id := range got {
			if i%3 != 0 && id != got[i-i%3] {
				t.Fatalf("event %d of request %d has the id %q, its item %q", i, n, id, got[i-i%3])
			}
			seen[id]++
		}
	}
	if len(seen) != requests*items {
		t.Errorf("%d items have %d ids", requests*items, len(seen))
	}
}

// TestConversationFlow checks five consecutive responses, each with one message that has the same
// placeholder as its id. The five messages get five different ids, and each message is stored under
// the id under which it was shown.
func TestConversationFlow(t *testing.T) {
	seen := map[string]bool{}
	for n := range 5 {
		of := response.Identity{Execution: [16]byte{1}, Response: fmt.Sprint("resp_", n)}
		r, h := response.NewRemap(of), response.NewHost(of)
		m := item(fake, response.MessageItem, 0, "")
		shown := ids(r, added(m), updated(m), updated(m), done(m))
		if letters(shown) != "aaaa" || seen[shown[0]] {
			t.Errorf("message %d is shown as %q", n, shown)
		}
		seen[shown[0]] = true
		text := fmt.Sprint("answer ", n)
		var updates []response.Update
		for _, piece := range text {
			updates = append(updates, h.Stamp(said(fake, fake, string(piece)))...)
		}
		merged := response.Merge(of, updates)
		wantLines(t, merged, text)
		if merged.Messages[0].ID != shown[0] {
			t.Errorf("message %d is stored as %q and shown as %q", n, merged.Messages[0].ID, shown[0])
		}
	}
}

// TestRemapGivesNoIDTwice checks that no two items of a response get the same id, whatever ids the
// provider sends.
func TestRemapGivesNoIDTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := response.NewRemap(host)
		owner := map[string]int{}
		made := response.NewRemap(host)
		known := []string{fake, "", "m", "n"}
		for range 3 {
			known = append(known, ids(made, added(item(fake, response.MessageItem, -1, "")))...)
		}
		for n := range rapid.IntRange(1, 60).Draw(t, "events") {
			i := item(
				rapid.SampledFrom(known).Draw(t, "id"),
				rapid.SampledFrom([]response.ItemType{"", response.MessageItem, response.CallItem, response.ReasoningItem}).Draw(t, "type"),
				rapid.IntRange(-1, 2).Draw(t, "index"), rapid.SampledFrom([]string{"", "c", "d"}).Draw(t, "call"),
			)
			e := response.Event{Item: i, Kind: rapid.SampledFrom([]response.EventKind{
				response.ItemAdded, response.ItemUpdated, response.ItemDone, response.ItemRemoved, response.ItemReplaced,
			}).Draw(t, "kind")}
			for _, out := range r.Event(e) {
				id := out.Item.ID
				if id == "" || id == fake {
					t.Fatalf("event %d goes out without an id", n)
				}
				if _, taken := owner[id]; taken && e.Kind == response.ItemAdded {
					t.Fatalf("event %d adds %q again", n, id)
				}
				owner[id] = n
			}
		}
	})
}

// TestRemapHoldsLittle checks that a Remap uses at most 1 KiB of memory, plus 64 bytes for each
// item.
func TestRemapHoldsLittle(t *testing.T) {
	for _, items := range []int{0, 1, 9, 100, 3000} {
		copies := max(3, 5_000/(items+1))
		all := make([]*response.Remap, copies)
		before := heap()
		for i := range all {
			all[i] = response.NewRemap(host)
			for n := range items {
				all[i].Event(added(item(fmt.Sprint("msg_", n), response.MessageItem, n, "")))
				all[i].Event(done(item(fmt.Sprint("msg_", n), response.MessageItem, n, "")))
			}
		}
		held := (int64(heap()) - int64(before)) / int64(copies)
		if most := int64(1<<10 + 64*items); held > most {
			t.Errorf("%d items take %d bytes, over %d", items, held, most)
		}
		runtime.KeepAlive(all)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkRemap measures the time that Remap needs for one event of a response with up to 10,000
// items. It fails if one event takes over a millisecond.
func BenchmarkRemap(b *testing.B) {
	for _, items := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(items, "items"), func(b *testing.B) {
			r := response.NewRemap(host)
			for n := range items {
				r.Event(added(item(fake, response.MessageItem, n, "")))
			}
			oldest := item(fake, response.MessageItem, 0, "")
			b.ReportAllocs()
			for b.Loop() {
				r.Event(updated(oldest))
			}
			if each := b.Elapsed() / time.Duration(b.N); each > time.Millisecond {
				b.Errorf("an event takes %v, over a millisecond", each)
			}
		})
	}
}

// TestTrap37PlaceholderSharedByReasoningMessageAndCalls checks a placeholder that is the id of a
// reasoning, a message and two calls, in each of two model calls of a response. The result is eight
// items, and no item gets the text of another.
func TestTrap37PlaceholderSharedByReasoningMessageAndCalls(t *testing.T) {
	r := response.NewRemap(host)
	text, kinds := map[string]string{}, map[string]response.ItemType{}
	shared := []response.Item{
		item(fake, response.ReasoningItem, 0, ""), item(fake, response.MessageItem, 1, ""),
		item(fake, response.CallItem, 2, "call_a"), item(fake, response.CallItem, 3, "call_b"),
	}
	for range 2 {
		for _, i := range shared {
			r.Event(added(i))
		}
		for range 3 {
			for _, i := range shared {
				e := updated(i)
				e.Payload = fmt.Sprint(*i.OutputIndex)
				out := r.Event(e)[0]
				text[out.Item.ID] += out.Payload.(string)
				kinds[out.Item.ID] = i.Type
			}
		}
		for _, i := range shared {
			r.Event(done(i))
		}
	}
	if len(text) != 2*len(shared) {
		t.Fatalf("%d items have the ids of %d", 2*len(shared), len(text))
	}
	for id, got := range text {
		if strings.Trim(got, got[:1]) != "" || len(got) != 3 {
			t.Errorf("%s %s holds %q", kinds[id], id, got)
		}
	}
}
