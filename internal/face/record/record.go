// Package record contains the JSON form of a log record, which pages, WebSockets and durable
// streams share. It also contains the errors for invalid cursors.
package record

import (
	"bytes"
	"encoding/json"

	"github.com/perdure/perdure"
	eventlog "github.com/perdure/perdure/internal/log"
)

// Event is a log record in the JSON form that pages and streams contain.
type Event struct {
	Cursor string            `json:"cursor"`
	Event  perdure.EventType `json:"event"`
	Data   json.RawMessage   `json:"data"`
}

// Of converts an item of a log to an Event.
func Of(i eventlog.Item) Event {
	return Event{Cursor: i.Cursor.String(), Event: i.Event, Data: i.Data()}
}

// JSON encodes a value without escaping HTML and without a newline at the end.
func JSON(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// CursorError returns the error for an invalid cursor. The parameter `field` is the name of the
// parameter or member with the cursor. Other errors are returned unchanged.
func CursorError(err error, field string) error {
	if perdure.IsCode(err, perdure.InvalidArgument) {
		return perdure.FieldErrorf(field, "is not a cursor of this server; leave it out to read from the start")
	}
	return err
}
