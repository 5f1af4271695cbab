package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/coder/websocket"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/wsmessage"
)

// frame is a WebSocket message that the client has sent.
type frame struct {
	raw     []byte
	refused error // reason for refusing the frame; nil if it is accepted
}

// read passes the client's frames to the goroutine that answers them. It also reads while a
// response runs, because pongs arrive on the same connection.
func (k *socket) read(ctx context.Context) error {
	k.conn.SetReadLimit(8 * bodyLimit) // the end of a frame over bodyLimit is read and discarded
	for {
		f, err := k.next(ctx)
		if err != nil {
			return err
		}
		if held := k.waitingBytes.Add(int64(len(f.raw))); held > bodyLimit && held > int64(len(f.raw)) {
			k.waitingBytes.Add(-int64(len(f.raw)))
			f = frame{refused: tooMany()}
		}
		select {
		case k.waiting <- f:
		default:
			return errFlooded
		}
	}
}

// next reads the next frame. The read does not end with the context, because cancelling a read
// closes the connection before the close frame is sent.
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

// refuse sends an error event to the client.
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

// send writes a frame to the client. Errors: errNotSent.
func (k *socket) send(ctx context.Context, whole []byte) error {
	if err := wsmessage.Write(ctx, k.conn, whole, k.WriteTimeout); err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	return nil
}
