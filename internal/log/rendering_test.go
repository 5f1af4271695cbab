package log_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	eventlog "github.com/perdure/perdure/internal/log"
)

// goldenRendering is the file with the bytes of every projection of mixedLog. Clients depend on
// these bytes, so the file is never written again.
const goldenRendering = "testdata/rendering.golden"

func TestRenderingIsTheSameByteForByte(t *testing.T) {
	want, err := os.ReadFile(goldenRendering)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(projections(t, mixedLog()), "\n")); diff != "" {
		t.Error(diff)
	}
}

// projections renders a log as a stream, in pages, in windows and as snapshots.
func projections(t *testing.T, b *memoryLog) string {
	t.Helper()
	ctx, l := t.Context(), b.log()
	var out strings.Builder
	section := func(name string, items []eventlog.Item, err error) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "# %s\n%s", name, lines(items))
	}
	section("stream", all(t, l, eventlog.From{}), nil)
	section("reset", all(t, l, eventlog.From{Cursor: b.cursor(1 << 20)})[:2], nil)
	for _, n := range []int64{7, 40, 90} {
		section(fmt.Sprint("after ", n), all(t, l, eventlog.From{AfterSeq: &n})[:12], nil)
		w, err := l.Window(ctx, execution, eventlog.Span{After: &n, Limit: 9})
		section(fmt.Sprint("across ", n), w.Across, err)
		section(fmt.Sprint("window ", n), w.Items, err)
	}
	p, err := l.Page(ctx, execution, b.cursor(30), 20)
	section("page", p.Items, err)
	return out.String()
}

// goldenTypes returns the event types that existed when the file goldenRendering was written.
// mixedLog chooses types by number, so new types would change the log.
func goldenTypes() []perdure.EventType {
	return slices.DeleteFunc(slices.Clone(perdure.EventTypes), func(t perdure.EventType) bool {
		return strings.HasPrefix(string(t), "question.")
	})
}

// mixedLog returns a log with every kind of record. Members, texts and positions in the
// conversation (Place) are chosen at random, with a fixed seed.
func mixedLog() *memoryLog {
	b, r := newMemoryLog(), rand.New(rand.NewPCG(18, 1))
	b.eventsAtOnce = 1000
	types := goldenTypes()
	var open []int64
	for range 120 {
		switch r.IntN(10) {
		case 0, 1, 2:
			b.event(types[r.IntN(len(types)-6)+3], randomFields(r))
			b.place(r)
		case 3:
			b.appendEntry(r)
		case 4, 5:
			open = append(open, b.chunk(0, randomText(r)))
			b.place(r)
		case 6, 7, 8:
			if len(open) > 0 {
				b.chunk(open[r.IntN(len(open))], randomText(r))
				b.place(r)
			}
		case 9:
			if len(open) > 0 {
				i := r.IntN(len(open))
				b.closeBlock(open[i], []perdure.BlockReason{perdure.BlockDone, perdure.BlockSuperseded, perdure.BlockTruncated}[r.IntN(3)])
				open = append(open[:i], open[i+1:]...)
			}
		}
	}
	b.event(perdure.EventCompleted, `{"status":"COMPLETED"}`)
	return b
}

// place changes the newest record. At random it sets the record's Place, task and attempt. If the
// record is a chunk, its block gets a type that depends on the seq.
func (b *memoryLog) place(r *rand.Rand) {
	last := &b.records[len(b.records)-1]
	if last.Type.Ends() || last.Type == perdure.EventEntry || last.Type == perdure.EventBlockClosed {
		last.Type, last.Fields = perdure.EventError, json.RawMessage(`{"message":"<no>"}`)
	}
	if r.IntN(2) == 0 {
		last.Place, last.TaskID, last.Attempt = place, &task, 1+r.IntN(3)
	}
	if last.Chunk == nil {
		return
	}
	switch last.Seq % 5 {
	case 0:
		last.Type = perdure.EventThinking
	case 1:
		last.Type, last.Chunk.Stream = perdure.EventTerminal, "stderr"
	case 2:
		last.Type, last.Chunk.ToolCallID = perdure.EventData, "call_ö"
	}
}

func (b *memoryLog) appendEntry(r *rand.Rand) {
	id := uuid.NewSHA1(uuid.Nil, []byte{byte(len(b.entries))})
	e := &perdure.Entry{ID: id, Type: perdure.EntryMessage, Role: perdure.RoleUser, TurnID: "turn_1", Metadata: json.RawMessage(randomFields(r)), CreatedAt: noon}
	switch r.IntN(5) {
	case 0:
		e.Content = json.RawMessage(`"` + strings.Repeat("x", 257<<10) + `"`)
	case 1:
		e.Blob = &perdure.BlobRef{Length: 300 << 10}
	case 2:
		e.Blob = &perdure.BlobRef{Length: 300}
	default:
		text, _ := json.Marshal(randomText(r))
		e.Content = json.RawMessage(`{"parts":[{"type":"text","text":` + string(text) + `}]}`)
	}
	b.entries[id] = e
	b.event(perdure.EventEntry, `{"entryId":"`+id.String()+`"}`)
}

// randomText returns text with characters that JSON or HTML escape.
func randomText(r *rand.Rand) string {
	pieces := []string{"a", "ö", "<b>", "&", `"`, `\`, "\n", "\u2028", "🎉", " word", "\x01", "{", "}"}
	var text strings.Builder
	for range 1 + r.IntN(6) {
		text.WriteString(pieces[r.IntN(len(pieces))])
	}
	return text.String()
}

// randomFields returns a JSON object, often in a form that is not compact.
func randomFields(r *rand.Rand) string {
	values := []string{`1`, `null`, `"<x>"`, `{"b":[1, 2],"a":"}"}`, `[ ]`, `"\u00f6\n"`, `-1.5e3`, `true`}
	names := []string{"status", "reason", "seq", "kind", "attempt", `\u0061`, "é", "data", "z", "createdAt"}
	seps := []string{"", "", " ", "\n"}
	var members []string
	for range r.IntN(5) {
		sep := seps[r.IntN(len(seps))]
		members = append(members, `"`+names[r.IntN(len(names))]+`":`+sep+values[r.IntN(len(values))])
	}
	return "{" + strings.Join(members, ","+seps[r.IntN(len(seps))]) + "}"
}
