// Package wsmessage writes messages to WebSockets.
package wsmessage

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coder/websocket"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
)

// ErrNoAnswer is the reason for which the server closes the WebSocket of a client that does not
// read what it is sent, or does not answer a ping.
var ErrNoAnswer = errors.New("the client does not answer")

// overTime is the time that a client has to read the rest of a message when the server ends the
// WebSocket. The server can send the close frame with the reason only after the whole message.
const overTime = time.Second

// Write sends a text message in pieces. It closes the connection if the client does not read a
// piece within the timeout. The end of ctx shortens the timeout, but does not interrupt the
// message, because the connection could not be closed with a reason after that.
func Write(ctx context.Context, conn *websocket.Conn, text []byte, timeout time.Duration) error {
	text = perdure.ValidJSON(text) // clients close a WebSocket when a text is not UTF-8
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	limit := time.AfterFunc(timeout, func() { cancel(ErrNoAnswer) })
	defer limit.Stop()
	hurry := context.AfterFunc(ctx, func() { limit.Reset(min(timeout, overTime)) })
	defer hurry()
	if len(text) <= front.PieceBytes {
		return conn.Write(late, websocket.MessageText, text)
	}
	out, err := conn.Writer(late, websocket.MessageText)
	if err != nil {
		return err
	}
	for piece := range slices.Chunk(text, front.PieceBytes) {
		if _, err := out.Write(piece); err != nil {
			return err
		}
		if ctx.Err() != nil {
			continue // all remaining pieces together have overTime
		}
		if limit.Reset(timeout); ctx.Err() != nil { // hurry may have reset limit before this reset
			limit.Reset(min(timeout, overTime))
		}
	}
	return out.Close()
}
