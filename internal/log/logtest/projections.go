package logtest

import "fmt"

// Projections returns all projections of an execution's log, by their names.
func Projections(a API) map[string]Projection {
	const (
		all      = "/stream/consolidated"
		agents   = "/stream"
		some     = "/stream/consolidated?types=entry.appended,token,block.closed,task.completed"
		few      = "/stream?types=agent.waiting,agent.completed"
		rendered = "?render=html"
	)
	by := map[string]Projection{
		"stream":                     stream{API: a, path: agents},
		"consolidated":               stream{API: a, path: all},
		"types":                      stream{API: a, path: some},
		"few types":                  stream{API: a, path: few},
		"html":                       stream{API: a, path: agents + rendered, show: page},
		"html consolidated":          stream{API: a, path: all + rendered, show: page},
		"after_seq":                  seqStream{stream{API: a, path: all}},
		"snapshot":                   snapshot{stream{API: a, path: all}},
		"durable catch-up":           durableStream{API: a},
		"durable long-poll":          durableStream{API: a, live: "long-poll"},
		"durable sse":                durableStream{API: a, live: "sse"},
		"websocket by cursor":        socket{API: a, limit: 1000},
		"websocket by short cursors": socket{API: a, limit: 7},
		"websocket by seq":           socket{API: a, limit: 9, seqs: true},
		"websocket by few seqs":      socket{API: a, limit: 4, seqs: true},
		"websocket after the newest": socket{API: a, limit: 5, seqs: true, newest: true},
	}
	for _, limit := range []int{9, 50, 1000} {
		by[fmt.Sprintf("pages of %d", limit)] = eventPages{API: a, limit: limit}
	}
	return by
}
