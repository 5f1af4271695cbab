package client

import (
	"bufio"
	"bytes"
	"io"

	"github.com/perdure/perdure"
)

// eventFrames reads server-sent events. It discards an event that is incomplete at the end of the
// stream.
type eventFrames struct{ r *bufio.Reader }

// newFrames returns a reader of the events in r. It calls the function `alive` each time that a
// part of an event arrives, so that a large event that arrives slowly does not count as silence.
func newFrames(r io.Reader, alive func()) *eventFrames {
	return &eventFrames{bufio.NewReaderSize(livenessReader{r, alive}, 64<<10)}
}

// livenessReader calls a function each time that data is read.
type livenessReader struct {
	io.Reader
	alive func()
}

func (h livenessReader) Read(b []byte) (int, error) {
	n, err := h.Reader.Read(b)
	if n > 0 {
		h.alive()
	}
	return n, err
}

// next returns the next event. At the end of the stream it returns io.EOF or another error.
func (f *eventFrames) next() (Event, error) {
	var e Event
	seen := false
	for {
		line, err := f.r.ReadBytes('\n')
		if err != nil {
			return Event{}, err
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(line) == 0 {
			if seen {
				return e, nil
			}
			continue
		}
		seen = e.field(line) || seen
	}
}

// field parses a line of the stream into e. It reports whether the line belongs to an event.
func (e *Event) field(line []byte) bool {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "id":
		e.Cursor = string(value)
	case "event":
		e.Type = perdure.EventType(value)
	case "data":
		if e.Data != nil {
			e.Data = append(e.Data, '\n')
		}
		e.Data = append(e.Data, value...)
	default:
		return false
	}
	return true
}
