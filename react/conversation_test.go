package react

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// messageEntry returns a message entry with a text.
func messageEntry(role perdure.Role, text string) perdure.Entry {
	m := perdure.Message{Role: role}
	m.Parts = []perdure.Part{perdure.Text(text)}
	e, err := perdure.NewMessageEntry(m)
	if err != nil {
		panic(err)
	}
	return e
}

func each(path []perdure.Entry) iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		for _, e := range path {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// reread returns equal entries in other memory, as a second read from the store does.
func reread(path []perdure.Entry) []perdure.Entry {
	again := append([]perdure.Entry{}, path...)
	for i := range again {
		again[i].Content = append([]byte{}, again[i].Content...)
	}
	return again
}

// TestCachedConversationEqualsItsPath checks that the messages of a call and their hash always
// equal those of the decoded path, and that returned messages do not change afterwards. Between
// calls, paths grow, branch, change although their ids stay the same, are evicted from the cache,
// and are read from an older leaf.
func TestCachedConversationEqualsItsPath(t *testing.T) {
	type call struct {
		path     []perdure.Entry
		messages []perdure.Message
	}
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 3))
		kept, id := &conversations{}, uuid.New()
		var path []perdure.Entry
		var calls []call
		for step := range 30 {
			switch r.IntN(8) {
			case 0: // the leaf is on another branch, or was moved back
				path = append([]perdure.Entry{}, path[:r.IntN(len(path)+1)]...)
			case 1: // the last entry is replaced under the same id
				if n := len(path); n > 0 {
					id := path[n-1].ID
					path = append(append([]perdure.Entry{}, path[:n-1]...), messageEntry(perdure.RoleUser, fmt.Sprint("other ", step)))
					path[n-1].ID = id
				}
			case 2: // a new process has an empty cache
				kept = &conversations{}
			case 3: // the entries are read from the store again
				path = reread(path)
			case 4: // the role of an entry changes, and its text stays the same
				if n := len(path); n > 0 {
					path = append([]perdure.Entry{}, path...)
					path[n-1].Role = perdure.RoleSystem
				}
			}
			for range r.IntN(4) {
				role := []perdure.Role{perdure.RoleUser, perdure.RoleAssistant, perdure.RoleToolResult}[r.IntN(3)]
				path = append(path, messageEntry(role, fmt.Sprint(step, " says ", r.IntN(3))))
			}
			asked := path
			if len(calls) > 0 && r.IntN(6) == 0 {
				asked = calls[r.IntN(len(calls))].path
			}
			conv := kept.take(id)
			same, err := conv.read(unchanged(each(asked)))
			if err != nil {
				t.Fatal(err)
			}
			req := llm.Request{System: "s", Messages: conv.messages}
			got, err := conv.hash.Of(req, same)
			if err != nil {
				t.Fatal(err)
			}
			kept.put(id, conv)
			calls = append(calls, call{asked, conv.messages})
			if want, err := llm.PromptOf(req); err != nil || got != want {
				t.Fatalf("seed %d, step %d: the hash is %+v, want %+v, %v", seed, step, got, want, err)
			}
			checkMessages(t, fmt.Sprintf("seed %d, step %d", seed, step), conv.messages, asked)
			bytes := 0
			for _, e := range asked {
				bytes += source{content: e.Content}.bytes()
			}
			if conv.bytes != bytes || kept.bytes != bytes {
				t.Fatalf("seed %d, step %d: %d bytes count as %d, in all %d", seed, step, bytes, conv.bytes, kept.bytes)
			}
		}
		for n, c := range calls {
			checkMessages(t, fmt.Sprintf("seed %d, at the end, call %d", seed, n), c.messages, c.path)
		}
	}
}

func checkMessages(t *testing.T, what string, got []perdure.Message, path []perdure.Entry) {
	t.Helper()
	if len(got) != len(path) {
		t.Fatalf("%s: %d messages, want %d", what, len(got), len(path))
	}
	for i, e := range path {
		if want, err := e.Message(); err != nil || !reflect.DeepEqual(got[i], want) {
			t.Fatalf("%s: message %d is %+v, want %+v, %v", what, i, got[i], want, err)
		}
	}
}

// TestATurnDecodesWhatIsNew checks that the method read decodes only entries that are not cached,
// and returns the number of cached entries.
func TestATurnDecodesWhatIsNew(t *testing.T) {
	var conv conversation
	path := []perdure.Entry{messageEntry(perdure.RoleUser, "one"), messageEntry(perdure.RoleAssistant, "two")}
	for _, turn := range []struct {
		path []perdure.Entry
		same int
	}{
		{path, 0},
		{append(reread(path), messageEntry(perdure.RoleUser, "three")), 2},
		{append(reread(path), messageEntry(perdure.RoleUser, "three")), 3},
		{append(reread(path[:1]), messageEntry(perdure.RoleAssistant, "another")), 1},
	} {
		if same, err := conv.read(unchanged(each(turn.path))); err != nil || same != turn.same {
			t.Errorf("%d messages of %d are known, want %d, %v", same, len(turn.path), turn.same, err)
		}
	}
	first := &conv.messages[0].Parts[0]
	if _, err := conv.read(unchanged(each(path))); err != nil {
		t.Fatal(err)
	}
	if &conv.messages[0].Parts[0] != first {
		t.Error("the first message was decoded again")
	}
}

// TestAConversationThatCannotBeRead checks that the method read returns an error if an entry cannot
// be decoded or the path cannot be read.
func TestAConversationThatCannotBeRead(t *testing.T) {
	broken := messageEntry(perdure.RoleUser, "x")
	broken.Content = []byte("{")
	var conv conversation
	if _, err := conv.read(unchanged(each([]perdure.Entry{messageEntry(perdure.RoleUser, "one"), broken}))); perdure.CodeOf(err) == "" || err == nil {
		t.Errorf("an entry that does not decode gives %v", err)
	}
	lost := perdure.Errorf(perdure.Unavailable, "gone")
	_, err := conv.read(unchanged(func(yield func(perdure.Entry, error) bool) { yield(perdure.Entry{}, lost) }))
	if !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("a path that cannot be read gives %v", err)
	}
}

// TestConversationsAreForgotten checks that the cache of conversations stays within its limit in
// bytes and evicts the least recently used conversation.
func TestConversationsAreForgotten(t *testing.T) {
	var kept conversations
	var ids []uuid.UUID
	for range 30 {
		id := uuid.New()
		ids = append(ids, id)
		conv := kept.take(id)
		conv.add(&perdure.ContextEntry{Entry: perdure.Entry{Content: make([]byte, 2<<20)}}, perdure.Message{})
		kept.put(id, conv)
		if kept.bytes > mostKept {
			t.Fatalf("%d bytes are kept, the bound is %d", kept.bytes, mostKept)
		}
	}
	if n := len(kept.take(ids[29]).messages); n != 1 {
		t.Error("the newest was forgotten")
	}
	if n := len(kept.take(ids[0]).messages); n != 0 {
		t.Error("the oldest is kept")
	}
	for _, id := range ids {
		kept.take(id)
	}
	if kept.bytes != 0 || kept.kept.Len() != 0 {
		t.Errorf("%d bytes of nothing are kept", kept.bytes)
	}
}
