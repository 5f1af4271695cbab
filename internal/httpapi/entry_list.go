package httpapi

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/perdure/perdure"
)

// maxKeptBuffer is the most bytes of a buffer that is used again.
const maxKeptBuffer = 1 << 20

var entryBuffers = sync.Pool{New: func() any { return new([]byte) }}

// writeEntries writes a page of entries as encoding/json would, but for the blanks
// within contents. That would read each entry twice more after it was encoded, which is
// most of what a long page costs.
func writeEntries(w io.Writer, l list[perdure.Entry]) error {
	buffer := entryBuffers.Get().(*[]byte)
	b, err := appendEntries((*buffer)[:0], l)
	if err == nil {
		_, err = w.Write(b)
	}
	if cap(b) <= maxKeptBuffer {
		*buffer = b[:0]
		entryBuffers.Put(buffer)
	}
	return err
}

func appendEntries(b []byte, l list[perdure.Entry]) (_ []byte, err error) {
	b = append(b, `{"items":[`...)
	for i := range l.Items {
		e := &l.Items[i]
		if !validOrNone(e.Content) || !validOrNone(e.Metadata) {
			return b, perdure.Errorf(perdure.Internal, "entry %s holds what is no JSON; run perdure store check", e.ID)
		}
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = e.AppendJSON(b); err != nil {
			return b, err
		}
	}
	cursor, err := json.Marshal(l.NextCursor)
	b = append(append(b, `],"nextCursor":`...), cursor...)
	return append(b, '}', '\n'), err
}

// validOrNone reports whether a content can stand in a document. One that is not there
// is written as null.
func validOrNone(raw json.RawMessage) bool { return raw == nil || json.Valid(raw) }
