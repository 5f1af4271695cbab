package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
	"pgregory.net/rapid"
)

// said returns a message with these texts as its thinking, text, tool arguments and tool result. A
// block can have the same content as any of these.
func said(thinking, text, arguments, result string) perdure.Content {
	return perdure.Content{Parts: []perdure.Part{
		{Type: perdure.PartThinking, Thinking: thinking},
		{Type: perdure.PartText, Text: text},
		{Type: perdure.PartToolCall, ID: "c", Name: "bash", RawArguments: arguments},
		{Type: perdure.PartToolResult, ToolCallID: "c", Parts: []perdure.Part{{Type: perdure.PartText, Text: "exit 0"}, {Type: perdure.PartText, Text: result}}},
	}}
}

// author writes blocks and entries of one execution, for tests in which both contain the same texts.
type author struct {
	*fixture
	id     uuid.UUID
	blocks map[perdure.BlockKey]*store.Block
	next   int64
}

func (f *fixture) author() *author {
	f.Helper()
	return &author{fixture: f, id: f.start(), blocks: map[perdure.BlockKey]*store.Block{}}
}

// block writes a block in the given pieces, and closes it.
func (a *author) block(l *blockLog, s *store.State, t perdure.EventType, pieces ...string) perdure.BlockKey {
	a.next++
	key := perdure.BlockKey{TaskID: uuid.UUID{1}, Attempt: 1, Block: a.next}
	for _, piece := range pieces {
		l.chunk(s.Now, key, t, piece, "")
	}
	l.close(s, key, perdure.BlockDone)
	return key
}

// write makes one commit, with the blocks and events that the function `step` writes, and one entry
// for each element of `contents`.
func (a *author) write(step func(s *store.State, l *blockLog), contents ...json.RawMessage) (ids []uuid.UUID) {
	a.Helper()
	for range contents {
		ids = append(ids, uuid.New())
	}
	needs := store.Needs{}
	for key := range a.blocks {
		needs.Blocks = append(needs.Blocks, key)
	}
	a.do(store.Command{Execution: a.id, Needs: func(*perdure.Execution) store.Needs { return needs }, Decide: func(s *store.State) (*store.Changes, error) {
		l := &blockLog{logWriter: logOf(s), blocks: a.blocks}
		if step != nil {
			step(s, l)
		}
		c := l.changes()
		for i, content := range contents {
			c.Entries = append(c.Entries, store.Entry{Entry: perdure.Entry{ID: ids[i], Type: perdure.EntryLLMCall, Content: content, CreatedAt: s.Now}})
		}
		return c, nil
	}})
	return ids
}

// rests returns where the content of each closed block is stored, by the key of the block.
func (a *author) rests() map[perdure.BlockKey]store.BlockRest {
	a.Helper()
	blocks, err := invariants.AuditorOf(a.s).AuditBlocks(a.ctx, a.id)
	a.must(err)
	all := map[perdure.BlockKey]store.BlockRest{}
	for _, b := range blocks {
		all[b.Key] = b
	}
	return all
}

func (a *author) wantNamed(key perdure.BlockKey, entry uuid.UUID, path string) {
	a.Helper()
	b := a.rests()[key]
	if b.Held != 0 || b.Entry == nil || *b.Entry != entry || b.Path != path {
		a.Errorf("block %d holds %d bytes and names %v %s, want %s of entry %s", key.Block, b.Held, b.Entry, b.Path, path, entry)
	}
	if loaded := a.look(a.id, store.Needs{Blocks: []perdure.BlockKey{key}}).Blocks[key]; loaded == nil || !loaded.Named {
		a.Errorf("a decision sees the block as %+v, want one that is named", loaded)
	}
}

func (a *author) wantHeld(key perdure.BlockKey) {
	a.Helper()
	b := a.rests()[key]
	if b.Held != b.Length || b.Entry != nil {
		a.Errorf("block %d of %d bytes holds %d and names %v, want its content", key.Block, b.Length, b.Held, b.Entry)
	}
}

// read returns all records of the log and all events. It reads the records in pages of `page`
// records. The event of a block contains the whole content of the block.
func (a *author) read(page int) ([]perdure.Record, []store.Event) {
	a.Helper()
	var records []perdure.Record
	for after := int64(0); ; {
		got, head, err := a.s.Log(a.ctx, a.id, after, page)
		a.must(err)
		if len(got) == 0 {
			events, _, err := a.s.Events(a.ctx, a.id, 0, head.LastSeq)
			a.must(err)
			for i := range events {
				if events[i].Block != nil {
					events[i].Block.Named = false
				}
			}
			return records, events
		}
		records = append(records, got...)
		after = got[len(got)-1].Pos
	}
}

func content(c perdure.Content) json.RawMessage {
	raw, err := json.Marshal(c)
	must(err)
	return raw
}

// anyText draws a text that a language model or a program could write: with escapes, characters of
// every length in UTF-8, and bytes that are not UTF-8.
func anyText(t *rapid.T) string {
	pieces := rapid.SliceOfN(rapid.OneOf(
		rapid.StringN(1, 20, -1),
		rapid.SampledFrom([]string{"\"", "\\", "\\u0041", "<a>&\u2028\u2029", "\x00\x1f\x7f", "😀", "\U0010ffff", "é€", "\r\n\t\b\f", "\ufffd", "\xff", "\xed\xa0\x80", "\xf0\x9f\x98"}),
	), 1, 8).Draw(t, "pieces")
	return strings.Join(pieces, "")
}

// escaped returns the JSON with every non-ASCII character escaped, as some programs write it.
func escaped(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	for _, r := range string(raw) {
		switch {
		case r >= 0x10000:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04X\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case r >= 0x80:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// cuts divides a text at drawn positions, never within a character, and returns the pieces.
func cuts(t *rapid.T, text string) []string {
	var pieces []string
	for len(text) > 0 {
		n := rapid.IntRange(1, len(text)).Draw(t, "cut")
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}
