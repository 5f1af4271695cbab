// Package ws serves the log of an execution over a WebSocket: pages, new events, and commands of
// the client.
package ws

import (
	"github.com/perdure/perdure/internal/face/front"
	eventlog "github.com/perdure/perdure/internal/log"
)

// server holds the state that all sockets share.
type server struct {
	*front.Front
	Log *eventlog.Log
}

// Register registers the route of the WebSocket.
func Register(f *front.Front, log *eventlog.Log) {
	s := &server{f, log}
	f.Handle(front.Route{Pattern: "GET " + front.OrgPath + "/agent-executions/{id}/ws", Access: front.Client}, s.open)
}
