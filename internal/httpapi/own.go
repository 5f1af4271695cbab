package httpapi

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
)

// ownConn is an HTTP/1.1 connection that was taken over from the server, with a chunked response on
// it. An idle stream then holds neither the server's buffers (10 KiB) nor the deep stack of a
// handler (16 KiB).
type ownConn struct {
	net.Conn
	head []byte // status and headers; nil once sent
}

// errLeft reports that the reader has closed its end.
var errLeft = errors.New("the reader has left")

// takeOver takes over the connection, if the request allows it. The response gets the headers that
// are set at this time.
func takeOver(w http.ResponseWriter, r *http.Request) (*ownConn, error) {
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
	return &ownConn{conn, head.Bytes()}, nil
}

// begin implements eventSink. It sends the headers at once, so that a reader of an empty log knows
// that it is connected.
func (o *ownConn) begin() {
	_ = o.SetWriteDeadline(time.Now().Add(headWithin))
	_, _ = o.Write(o.head) // if the reader has disconnected, the first write of an event fails
	o.head = nil
}

// headWithin is more than a kernel's empty buffer ever needs.
const headWithin = 10 * time.Second

// write implements eventSink. It sends one chunk in one buffer, because a vectored write costs a
// reader of small events a third more.
func (o *ownConn) write(b []byte, timeout time.Duration) error {
	framed := gathered()
	framed = strconv.AppendInt(framed, int64(len(b)), 16)
	framed = append(framed, "\r\n"...)
	framed = append(framed, b...)
	framed = append(framed, "\r\n"...)
	defer ungather(framed)
	for piece := range slices.Chunk(framed, pieceBytes) {
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
func (o *ownConn) finish() error {
	_, err := o.Write([]byte("0\r\n\r\n"))
	return err
}

// listen returns when the reader has closed its end, or after close. It discards what the reader
// sends.
func (o *ownConn) listen(left context.CancelCauseFunc) {
	var b [16]byte
	for {
		if _, err := o.Read(b[:]); err != nil {
			left(errLeft)
			return
		}
	}
}

func (o *ownConn) close() { _ = o.Close() } // everything was already sent
