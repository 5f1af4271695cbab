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

// ownConn is a connection of HTTP/1.1 that has been taken over from the server,
// with an answer of unknown length on it. A stream on which nothing happens for
// hours then holds neither the server's buffers (10 KiB) nor the deep stack of a
// handler (16 KiB).
type ownConn struct {
	net.Conn
	head []byte // status and headers, until they are sent
}

// errLeft says that the reader has closed its end.
var errLeft = errors.New("the reader has left")

// takeOver takes the connection, if the request is one that can have it for
// itself. The answer's headers are those that are set by then.
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

// begin implements eventSink. The headers go at once: a reader of a log on which
// nothing has happened yet is told that it is connected.
func (o *ownConn) begin() {
	_ = o.SetWriteDeadline(time.Now().Add(headWithin))
	_, _ = o.Write(o.head) // if the reader has gone, the first write of an event tells
	o.head = nil
}

// headWithin is more than a kernel's empty buffer ever needs.
const headWithin = 10 * time.Second

// write implements eventSink: one chunk, in one buffer, because a gathering write costs a
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

// finish says that the answer is complete.
func (o *ownConn) finish() error {
	_, err := o.Write([]byte("0\r\n\r\n"))
	return err
}

// listen returns when the reader has closed its end, or close was called. What
// the reader sends is of no interest.
func (o *ownConn) listen(left context.CancelCauseFunc) {
	var b [16]byte
	for {
		if _, err := o.Read(b[:]); err != nil {
			left(errLeft)
			return
		}
	}
}

func (o *ownConn) close() { _ = o.Close() } // what was to be told has been
