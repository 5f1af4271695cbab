// Package sse serves the logs of executions as server-sent events.
package sse

import (
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
	eventlog "github.com/perdure/perdure/internal/log"
)

// Config configures the event streams. Log is required; the zero value of every other field works.
type Config struct {
	Log *eventlog.Log
	// Streams, if set, counts the event streams that continue after their handlers have returned.
	// http.Server does not track these streams. They end when the channel Stop in the configuration
	// of package front is closed.
	Streams *OpenStreams
}

// server holds the state that all operations share.
type server struct {
	*operation.API
	Config
}

// Register registers the operations of this package.
func Register(a *operation.API, c Config) {
	if c.Streams == nil {
		c.Streams = &OpenStreams{}
	}
	s := &server{API: a, Config: c}
	g := operation.Group{API: a, Access: front.Client, Tag: "Executions", Compress: true}
	const one = "/agent-executions/{id}"
	operation.Get(g, one+"/stream", "streamAgent", "Follow the agent's events (SSE): all but task.* and terminal", s.streamAgent, asEventStream)
	operation.Get(g, one+"/stream/consolidated", "streamAll", "Follow every event (SSE)", s.streamAll, asEventStream)
}
