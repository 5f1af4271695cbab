package facetest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face"
)

// DurablePath returns the path at which the log of an execution is read as a durable stream.
func DurablePath(id uuid.UUID, query string) string {
	return "./v1/stream/executions/" + id.String() + query
}

// PosOf parses a cursor and returns its pos.
func PosOf(t *testing.T, cursor string) int64 {
	t.Helper()
	c, err := perdure.ParseCursor(cursor)
	if err != nil {
		t.Fatal(err)
	}
	return c.Pos
}

// PingAlways sets the shortest interval of pings that the tests use: one second.
func PingAlways(c *face.Config) { c.PingEvery = time.Second }

// OfType returns the events with the given name. For data events, a second word of the name selects
// the type of the data.
func OfType(events []Event, name string) []Event {
	name, kind, _ := strings.Cut(name, " ")
	var found []Event
	for _, e := range events {
		data, _ := e.Fields["data"].(map[string]any)
		if e.Event == name && (kind == "" || data["type"] == kind) {
			found = append(found, e)
		}
	}
	return found
}
