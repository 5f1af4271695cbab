package logtest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"

	"github.com/coder/websocket"
)

// socket is a WebSocket on which pages are asked for, and what comes after them
// is followed. seqs pages are counted in events and a block is whole in them;
// the others continue from a cursor, to the byte.
type socket struct {
	API
	limit int
	seqs  bool
	// newest asks, by seq, for what comes after the newest that is held: the blocks
	// that are open come first then, whole.
	newest bool
}

// Show implements Projection.
func (s socket) Show(given []Event) string {
	if s.seqs {
		return pictureOf(given).String()
	}
	return lines(given)
}

// message is what the server sends.
type message struct {
	Type string
	Data struct {
		Events  []record
		LastSeq int64 `json:"last_seq"`
		HasMore bool  `json:"has_more"`
		Stale   bool  `json:"is_stale_client"`
		Message string
		record
	}
}

// Read implements Projection.
func (s socket) Read(ctx context.Context, held []Event) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if n := len(held); n > 0 && held[n-1].Name == "end" {
			return // a socket stays open after the end, for what the client may ask
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		conn, err := s.dial(ctx)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer conn.CloseNow() //nolint:errcheck // the client is gone
		if err := s.talk(ctx, conn, held, yield); err != nil && !errors.Is(err, errLeft) {
			yield(Event{}, err)
		}
	}
}

// errLeft says that the reader wants no more.
var errLeft = errors.New("the reader has left")

func (s socket) dial(ctx context.Context) (*websocket.Conn, error) {
	header := http.Header{"Authorization": {"Bearer " + s.Key}}
	conn, res, err := websocket.Dial(ctx, s.URL()+s.path("/ws"), &websocket.DialOptions{HTTPHeader: header, HTTPClient: s.Client})
	if err != nil {
		if res != nil && res.Body != nil {
			_ = res.Body.Close()
		}
		return nil, err
	}
	conn.SetReadLimit(64 << 20)
	return conn, nil
}

// talk loads page after page, and then takes what comes.
func (s socket) talk(ctx context.Context, conn *websocket.Conn, held []Event, yield func(Event, error) bool) error {
	ask := s.first(held)
	if err := s.load(ctx, conn, ask); err != nil {
		return err
	}
	for {
		m, err := receive(ctx, conn)
		if err != nil {
			return err
		}
		switch m.Type {
		case "connected":
		case "error":
			return errors.New("the server says: " + m.Data.Message)
		case "event":
			if m.Data.Event == "reset" {
				return faultf("the socket was reset")
			}
			if !yield(m.Data.wire(), nil) {
				return errLeft
			}
			if m.Data.Event == "end" {
				return nil
			}
		case "events_loaded":
			if m.Data.Stale {
				return faultf("the client is taken for stale")
			}
			if more, _ := give(m.Data.Events, yield); !more {
				return errLeft
			}
			if !m.Data.HasMore {
				continue
			}
			if err := s.load(ctx, conn, s.next(m)); err != nil {
				return err
			}
		default:
			return faultf("a message %q", m.Type)
		}
	}
}

// first is what a client asks for that holds these events: by seq from before
// its oldest block that may have grown, by cursor exactly. The beginning has no
// cursor, so a reader by cursor begins with the first event by its seq.
func (s socket) first(held []Event) map[string]any {
	if !s.seqs && len(held) > 0 {
		return map[string]any{"cursor": lastID(held), "limit": s.limit}
	}
	if !s.seqs {
		return map[string]any{"after_seq": 0, "limit": 1}
	}
	p := pictureOf(held)
	after := p.newest
	if oldest := p.oldestOpen(); oldest > 0 && !s.newest {
		after = oldest - 1
	}
	return map[string]any{"after_seq": after, "limit": s.limit}
}

func (s socket) next(m message) map[string]any {
	if s.seqs {
		return map[string]any{"after_seq": m.Data.LastSeq, "limit": s.limit}
	}
	return map[string]any{"cursor": m.Data.Events[len(m.Data.Events)-1].Cursor, "limit": s.limit}
}

func (s socket) load(ctx context.Context, conn *websocket.Conn, ask map[string]any) error {
	raw, err := json.Marshal(map[string]any{"type": "load_events", "data": ask})
	if err != nil {
		return err
	}
	return conn.Write(ctx, websocket.MessageText, raw)
}

func receive(ctx context.Context, conn *websocket.Conn) (message, error) {
	var m message
	_, raw, err := conn.Read(ctx)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(raw, &m)
}
