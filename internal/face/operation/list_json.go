package operation

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/perdure/perdure"
)

// maxKeptBuffer is the maximum size in bytes of a buffer that is kept for reuse.
const maxKeptBuffer = 1 << 20

var listBuffers = sync.Pool{New: func() any { return new([]byte) }}

// encodeList writes v as JSON if v is a list of entries or executions, and reports whether it is
// one. The output equals the output of encoding/json, except for white space inside contents.
// encodeList is faster than encoding/json, which scans the JSON of each item once more after
// MarshalJSON has returned it.
func encodeList(w io.Writer, v any) (is bool, err error) {
	switch l := v.(type) {
	case List[perdure.Entry]:
		return true, writeList(w, l, appendEntry)
	case List[*perdure.Execution]:
		return true, writeList(w, l, appendExecution)
	}
	return false, nil
}

func writeList[T any](w io.Writer, l List[T], item func([]byte, *T) ([]byte, error)) error {
	buffer := listBuffers.Get().(*[]byte)
	b, err := appendList((*buffer)[:0], l, item)
	if err == nil {
		_, err = w.Write(b)
	}
	if cap(b) <= maxKeptBuffer {
		*buffer = b[:0]
		listBuffers.Put(buffer)
	}
	return err
}

func appendList[T any](b []byte, l List[T], item func([]byte, *T) ([]byte, error)) (_ []byte, err error) {
	b = append(b, `{"items":[`...)
	for i := range l.Items {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = item(b, &l.Items[i]); err != nil {
			return b, err
		}
	}
	cursor, err := json.Marshal(l.NextCursor)
	b = append(append(b, `],"nextCursor":`...), cursor...)
	return append(b, '}', '\n'), err
}

func appendEntry(b []byte, e *perdure.Entry) ([]byte, error) {
	if !validOrNone(e.Content) || !validOrNone(e.Metadata) {
		return b, perdure.Errorf(perdure.Internal, "entry %s holds what is no JSON; run perdure store check", e.ID)
	}
	return e.AppendJSON(b)
}

// validOrNone reports whether a content is valid JSON or absent. Absent content is written as null.
func validOrNone(raw json.RawMessage) bool { return raw == nil || json.Valid(raw) }

// appendExecution appends an execution as JSON. MarshalJSON refuses invalid JSON in the execution.
func appendExecution(b []byte, x **perdure.Execution) ([]byte, error) {
	raw, err := (*x).MarshalJSON()
	return append(b, raw...), err
}
