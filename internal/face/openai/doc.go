// Package openai implements the OpenAI-compatible API of executions: responses (/v1/responses),
// conversations (/v1/conversations) and models (/v1/models).
//
// A response is a projection of an execution's log. Each read of the log produces the same numbered
// events. A stream can therefore be resumed after any event, even after a restart of the server or
// after the end of the response.
//
// In this package, a create request asks for a new response: POST /v1/responses, or the message
// response.create on a WebSocket. A retrieve request asks for an existing response.
package openai
