// Package ws serves an execution over a WebSocket: pages of its log, new events, and commands.
package ws

import (
	"github.com/perdure/perdure/internal/face/front"
	eventlog "github.com/perdure/perdure/internal/log"
)

// server holds the state that the sockets share.
type server struct {
	*front.Front
	Log *eventlog.Log
}

// Register registers the room's route.
func Register(f *front.Front, log *eventlog.Log) {
	s := &server{f, log}
	f.Handle(front.Route{Pattern: "GET " + front.OrgPath + "/agent-executions/{id}/ws", Access: front.Client}, s.open)
}
