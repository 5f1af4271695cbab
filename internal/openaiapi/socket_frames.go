package openaiapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/coder/websocket"
	"github.com/perdure/perdure"
)

// frame is what a client sent.
type frame struct {
	raw     []byte
	refused error // why it was not read
}

// read hands over the client's frames. It continues reading while a response runs, for
// the answers to pings come the same way.
func (k *socket) read(ctx context.Context) error {
	k.conn.SetReadLimit(8 * bodyLimit) // the rest of a frame over bodyLimit is read away
	for {
		f, err := k.next(ctx)
		if err != nil {
			return err
		}
		if held := k.held.Add(int64(len(f.raw))); held > bodyLimit && held > int64(len(f.raw)) {
			k.held.Add(-int64(len(f.raw)))
			f = frame{refused: tooMany()}
		}
		select {
		case k.waiting <- f:
		default:
			return errFlooded
		}
	}
}

// next reads a frame. The context does not end its wait for one: that would cut the
// connection before it can be said why it ends.
func (k *socket) next(ctx context.Context) (frame, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	kind, in, err := k.conn.Reader(ctx)
	if err != nil {
		return frame{}, err
	}
	late := time.AfterFunc(k.FrameTimeout, cancel)
	defer late.Stop()
	if kind == websocket.MessageBinary {
		_, err = io.Copy(io.Discard, in)
		return frame{refused: badFrame("Frames are text: send a JSON object of type 'response.create'.")}, err
	}
	raw, err := io.ReadAll(io.LimitReader(in, bodyLimit+1))
	if err != nil || len(raw) <= bodyLimit {
		return frame{raw: raw}, err
	}
	_, err = io.Copy(io.Discard, in)
	return frame{refused: ErrorOf(perdure.PayloadTooLarge, 0, "the frame is over 8 MiB; send less at once")}, err
}

func badFrame(message string) *Error {
	e := invalid("", "invalid_frame", "%s", message)
	e.Param = nil
	return e
}

func tooMany() *Error {
	return ErrorOf(perdure.RateLimited, 0, "the frames that wait for the response before them have over 8 MiB; send the next when it has ended")
}

// refuse sends an error.
func (k *socket) refuse(ctx context.Context, e *Error) error {
	if e.Param != nil && *e.Param == "" {
		e.Param = nil
	}
	raw, err := json.Marshal(struct {
		Type   string `json:"type"`
		Status int    `json:"status"`
		Error  *Error `json:"error"`
	}{"error", e.Status, e})
	if err != nil {
		return err
	}
	return k.send(ctx, raw)
}

// send writes a frame. Error: errNotSent.
func (k *socket) send(ctx context.Context, whole []byte) error {
	if err := k.write(ctx, perdure.ValidJSON(whole)); err != nil { // a WebSocket ends for good at a text that is not UTF-8
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	return nil
}

// overTime is what a client has for the rest of a piece when the socket is over. Without
// it the connection would be cut before it is said why.
const overTime = time.Second

// write cuts off a client that does not take the next piece in time.
func (k *socket) write(ctx context.Context, whole []byte) error {
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	limit := time.AfterFunc(k.WriteTimeout, func() { cancel(errNoAnswer) })
	defer limit.Stop()
	hurry := context.AfterFunc(ctx, func() { limit.Reset(min(k.WriteTimeout, overTime)) })
	defer hurry()
	if len(whole) <= pieceBytes {
		return k.conn.Write(late, websocket.MessageText, whole)
	}
	out, err := k.conn.Writer(late, websocket.MessageText)
	if err != nil {
		return err
	}
	for piece := range slices.Chunk(whole, pieceBytes) {
		if _, err := out.Write(piece); err != nil {
			return err
		}
		if ctx.Err() != nil {
			continue // all pieces that are left have overTime together
		}
		if limit.Reset(k.WriteTimeout); ctx.Err() != nil { // hurry's reset may have been the earlier one
			limit.Reset(min(k.WriteTimeout, overTime))
		}
	}
	return out.Close()
}
