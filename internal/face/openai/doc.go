// Package openai implements the OpenAI-compatible API of executions: responses (/v1/responses),
// conversations (/v1/conversations) and models (/v1/models).
//
// A response is a projection of an execution's log. A record produces the same numbered events each
// time it is read. A stream can therefore be resumed from any event, also after a restart of the
// server and after the end of the response.
//
// In this package, a create is a request for a new response: POST /v1/responses, or response.create
// on a WebSocket. A retrieve is a request for an existing response.
package openai
