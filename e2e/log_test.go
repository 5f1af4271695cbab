package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// event is a client's view of one seq: an event, or a block with all its chunks.
type event struct {
	seq       int64
	kind      perdure.EventType
	head      client.Head
	data      string // data of an event
	block     bool
	content   string
	closed    perdure.BlockReason
	elsewhere bool // a part of the content is not on the server
	// lacks is the error for missing content of a block. It is ignored if the block was superseded,
	// because readers do not receive all content of such a block.
	lacks error
}

// fold combines events like a client, and checks that no byte is missing, duplicated or out of
// order.
func fold(events []client.Event) ([]event, error) {
	f := logReader{bySeq: map[int64]*event{}}
	var wrong []error
	for _, e := range events {
		if err := f.add(e); err != nil {
			wrong = append(wrong, fmt.Errorf("%s %s: %w", e.Type, e.Data, err))
		}
	}
	var all []event
	for _, seq := range slices.Sorted(maps.Keys(f.bySeq)) {
		one := f.bySeq[seq]
		if one.block && one.content == "" && one.closed != "" && one.closed != perdure.BlockSuperseded {
			wrong = append(wrong, fmt.Errorf("block %d came without its content, and closed as %s", seq, one.closed))
		}
		if one.lacks != nil && one.closed != perdure.BlockSuperseded {
			wrong = append(wrong, fmt.Errorf("block %d: %w", seq, one.lacks))
		}
		all = append(all, *one)
	}
	return all, errors.Join(wrong...)
}

type logReader struct {
	bySeq map[int64]*event
	last  int64
}

func (f *logReader) add(e client.Event) error {
	head, err := e.Head()
	if err != nil {
		return err
	}
	if held := f.bySeq[head.Seq]; held != nil {
		return held.grow(e, head)
	}
	if head.Seq != f.last+1 {
		err = fmt.Errorf("seq %d follows %d", head.Seq, f.last)
	}
	f.last = head.Seq
	next := &event{seq: head.Seq, kind: e.Type, head: head}
	f.bySeq[head.Seq] = next
	switch {
	case next.isChunk(e):
		next.block = true
		return errors.Join(err, next.grow(e, head))
	case e.Type == perdure.EventBlockClosed:
		err = errors.Join(err, f.close(e))
	}
	next.data = string(e.Data)
	return err
}

// isChunk reports whether e is a chunk. Only chunks have an offset.
func (x *event) isChunk(e client.Event) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(e.Data, &members) != nil {
		return false
	}
	_, has := members["offset"]
	return has
}

// grow appends a chunk.
func (x *event) grow(e client.Event, head client.Head) error {
	switch {
	case !x.block:
		return fmt.Errorf("seq %d comes twice", head.Seq)
	case e.Type == client.EventSnapshot:
		x.content, x.kind = "", head.Type
	case x.closed != "":
		return fmt.Errorf("a chunk after the block was closed")
	case head.Offset != int64(len(x.content)):
		err := fmt.Errorf("offset %d after %d bytes", head.Offset, len(x.content))
		if pieceOf(head) != "" {
			return err
		}
		x.lacks = err
		return nil
	}
	x.content += pieceOf(head)
	if missing := withheld(e); missing > 0 {
		x.content, x.elsewhere = x.content+strings.Repeat("?", missing), true
	}
	return nil
}

// withheld returns the length in bytes of the chunk's content if only the worker has that content;
// otherwise 0.
func withheld(e client.Event) int {
	var place struct {
		Content json.RawMessage
		Length  int
	}
	if json.Unmarshal(e.Data, &place) != nil || !bytes.Equal(place.Content, perdure.OnWorker) {
		return 0
	}
	return place.Length
}

// pieceOf returns a chunk's text, or the next part of a tool call's arguments.
func pieceOf(h client.Head) string {
	var call struct {
		Delta string `json:"delta"`
	}
	if json.Unmarshal(h.Data, &call) == nil {
		return call.Delta
	}
	return h.Text()
}

// close handles the event e, which closes a block. It compares the content that was read with the
// length and the hash in e.
func (f *logReader) close(e client.Event) error {
	var c struct {
		BlockSeq int64               `json:"blockSeq"`
		Length   int64               `json:"length"`
		SHA256   string              `json:"sha256"`
		Reason   perdure.BlockReason `json:"reason"`
	}
	if err := e.Decode(&c); err != nil {
		return err
	}
	block := f.bySeq[c.BlockSeq]
	again := block != nil && block.closed != ""
	if block == nil || !block.block || again && (c.Reason != perdure.BlockSuperseded || block.closed == perdure.BlockSuperseded) {
		return fmt.Errorf("there is no open block %d", c.BlockSeq)
	}
	block.closed = c.Reason
	if c.Reason == perdure.BlockSuperseded {
		block.content = "" // later readers do not receive the content either
		return nil
	}
	if block.content == "" {
		return nil // a reader does not receive the content of a block that is superseded after its end; fold checks that it was
	}
	sum := sha256.Sum256([]byte(block.content))
	if c.Length != int64(len(block.content)) || !block.elsewhere && c.SHA256 != hex.EncodeToString(sum[:]) {
		block.lacks = fmt.Errorf("the block has %d bytes, and %d are here: %q", c.Length, len(block.content), block.content)
	}
	return nil
}

// differences returns the differences between two readings of one log.
func differences(one, other []event) []string {
	var all []string
	for i := range max(len(one), len(other)) {
		switch {
		case i >= len(one):
			all = append(all, fmt.Sprintf("only the second has %d %s %s", other[i].seq, other[i].kind, other[i].data))
		case i >= len(other):
			all = append(all, fmt.Sprintf("only the first has %d %s %s", one[i].seq, one[i].kind, one[i].data))
		case one[i].kind != other[i].kind, one[i].data != other[i].data, one[i].content != other[i].content:
			all = append(all, fmt.Sprintf("%d: %s %s %q and %s %s %q", one[i].seq,
				one[i].kind, one[i].data, one[i].content, other[i].kind, other[i].data, other[i].content))
		}
	}
	return all
}

// events reads the whole log in small pages, to test many page boundaries.
func (s *deployment) events(id uuid.UUID) []client.Event { return s.eventsAfter(id, "") }

// eventsAfter reads the log after a cursor, in small pages like the method events.
func (s *deployment) eventsAfter(id uuid.UUID, cursor string) []client.Event {
	s.t.Helper()
	var all []client.Event
	for {
		page, err := s.Events(s.t.Context(), id, cursor, 37)
		if err != nil {
			s.t.Fatal(err)
		}
		if page.Reset != nil {
			s.t.Fatalf("the log was reset: %+v", *page.Reset)
		}
		all = append(all, page.Items...)
		if cursor = page.NextCursor; page.UpToDate {
			return all
		}
	}
}

// follower is a client that follows a log from its start to its end.
type follower struct {
	mu     sync.Mutex
	events []client.Event
	err    error
	ended  chan struct{}
	breaks int // number of breaks of the stream
}

// follow starts a follower. The follower ends at the end of the log or of the test.
func (s *deployment) follow(id uuid.UUID) *follower {
	f := &follower{ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(within(s.t))
	c := s.With(func(o *client.Options) {
		o.OnReconnect = func(error, time.Duration) { f.note(func() { f.breaks++ }) }
	})
	go func() {
		defer close(f.ended)
		for e, err := range c.Follow(ctx, id, "") {
			f.note(func() {
				if err != nil {
					f.err = err
				} else {
					f.events = append(f.events, e)
				}
			})
		}
	}()
	s.t.Cleanup(func() { cancel(); <-f.ended })
	return f
}

func (f *follower) note(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// all waits for the log's end and returns the events that the follower has read.
func (f *follower) all(t *testing.T) []client.Event {
	t.Helper()
	select {
	case <-f.ended:
	case <-time.After(patience):
		t.Fatal("the follower has not come to the end of the log")
	}
	if f.err != nil {
		t.Fatalf("the follower: %v", f.err)
	}
	return f.events
}
