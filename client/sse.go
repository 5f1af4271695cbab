package client

import (
	"bufio"
	"bytes"
	"io"

	"github.com/perdure/perdure"
)

// frames reads server-sent events. What is not closed by a blank line when the
// stream ends has not happened.
type frames struct{ r *bufio.Reader }

// newFrames reads from r. alive is called whenever something comes, whether a
// piece of a line: a large event may take long.
func newFrames(r io.Reader, alive func()) *frames {
	return &frames{bufio.NewReaderSize(heard{r, alive}, 64<<10)}
}

// heard tells of each piece that is read.
type heard struct {
	io.Reader
	alive func()
}

func (h heard) Read(b []byte) (int, error) {
	n, err := h.Reader.Read(b)
	if n > 0 {
		h.alive()
	}
	return n, err
}

// next returns the next event; io.EOF or another error at the end of the stream.
func (f *frames) next() (Event, error) {
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

// field takes a line in; it reports whether the line says something.
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
