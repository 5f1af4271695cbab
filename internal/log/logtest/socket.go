package logtest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"

	"github.com/coder/websocket"
)

// socket is a client that requests pages over a WebSocket and then follows the log. If the field
// `seqs` is set, it requests pages by seq, in which each block is one event. Otherwise it requests
// pages by cursor.
type socket struct {
	API
	limit int
	seqs  bool
	// newest is set if the client resumes with the events after the newest seq that it has. The
	// client then first receives the open blocks as full snapshots. The field has an effect only if
	// `seqs` is set.
	newest bool
}

// Show implements Projection.
func (s socket) Show(given []Event) string {
	if s.seqs {
		return clientCopyOf(given).String()
	}
	return lines(given)
}

// message is a WebSocket message of the server.
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
			return // the server keeps the socket open after the end of the log
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		conn, err := s.dial(ctx)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer conn.CloseNow() //nolint:errcheck // nobody needs the connection any more
		if err := s.talk(ctx, conn, held, yield); err != nil && !errors.Is(err, errLeft) {
			yield(Event{}, err)
		}
	}
}

// errLeft reports that the reader wants no more events.
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

// talk loads all pages, and then follows the log.
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

// first returns the first request of a client that has already received the events `held`. A client
// that requests pages by cursor starts at the cursor of the last event. A client that requests
// pages by seq starts before its oldest block that may have grown. Without an event there is no
// cursor, so the first request is then by seq.
func (s socket) first(held []Event) map[string]any {
	if !s.seqs && len(held) > 0 {
		return map[string]any{"cursor": lastID(held), "limit": s.limit}
	}
	if !s.seqs {
		return map[string]any{"after_seq": 0, "limit": 1}
	}
	p := clientCopyOf(held)
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
