package sse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/perdure/perdure/internal/face/front"
)

// hijackedConn is an HTTP/1.1 connection that takeOver has taken from the HTTP server. It sends
// one response in chunked encoding. While a stream on such a connection has nothing to send, it
// needs neither the server's buffers (10 KiB) nor the deep stack of a handler (16 KiB).
type hijackedConn struct {
	net.Conn
	head []byte // status line and headers; nil after they were sent
}

// errLeft is the cause with which a stream ends when the reader has closed the connection.
var errLeft = errors.New("the reader has left")

// takeOver takes the connection of a request over from the HTTP server, if it is a GET request over
// HTTP/1.1. The response has those headers that are set when takeOver is called.
func takeOver(w http.ResponseWriter, r *http.Request) (*hijackedConn, error) {
	if r.ProtoMajor != 1 || r.ProtoMinor != 1 || r.Method != http.MethodGet {
		return nil, http.ErrNotSupported
	}
	head := bytes.NewBufferString("HTTP/1.1 200 OK\r\n")
	if err := w.Header().Write(head); err != nil {
		return nil, err
	}
	fmt.Fprintf(head, "Date: %s\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n", time.Now().UTC().Format(http.TimeFormat))
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	return &hijackedConn{conn, head.Bytes()}, nil
}

// begin implements eventSink. It sends the headers at once, so that a reader of an empty log knows
// that it is connected.
func (o *hijackedConn) begin() {
	_ = o.SetWriteDeadline(time.Now().Add(headWithin))
	_, _ = o.Write(o.head) // if the reader has disconnected, the first write of an event fails
	o.head = nil
}

// headWithin is the time within which the headers must be written. The send buffer of a new
// connection is empty, so this normally takes no time.
const headWithin = 10 * time.Second

// write implements eventSink. It writes one HTTP chunk. A small chunk is copied into one buffer and
// written with one call, which is faster than a vectored write.
func (o *hijackedConn) write(b []byte, timeout time.Duration) error {
	framed := append(strconv.AppendInt(gathered(), int64(len(b)), 16), "\r\n"...)
	defer func() { ungather(framed) }()
	if len(b) <= 2*flushAt {
		framed = append(append(framed, b...), "\r\n"...)
		return o.pieces(framed, timeout)
	}
	for _, part := range [][]byte{framed, b, []byte("\r\n")} {
		if err := o.pieces(part, timeout); err != nil {
			return err
		}
	}
	return nil
}

// pieces writes b in pieces. The reader must receive each piece within the timeout.
func (o *hijackedConn) pieces(b []byte, timeout time.Duration) error {
	for piece := range slices.Chunk(b, front.PieceBytes) {
		if err := o.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
			return err
		}
		if _, err := o.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// finish completes the response.
func (o *hijackedConn) finish() error {
	_, err := o.Write([]byte("0\r\n\r\n"))
	return err
}

// listen waits until the reader has closed the connection, or close was called. It discards what
// the reader sends.
func (o *hijackedConn) listen(left context.CancelCauseFunc) {
	var b [16]byte
	for {
		if _, err := o.Read(b[:]); err != nil {
			left(errLeft)
			return
		}
	}
}

func (o *hijackedConn) close() { _ = o.Close() } // an error does not matter: the connection is not used any more
