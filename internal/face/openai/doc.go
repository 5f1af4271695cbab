// Package openai implements the OpenAI-compatible API of executions: responses (/v1/responses),
// conversations (/v1/conversations) and models (/v1/models).
//
// A response is a projection of an execution's log. A record produces the same numbered events each
// time it is read. A stream can therefore be resumed from any event, also after a restart of the
// server and after the end of the response.
//
// In this package, a create request asks for a new response: POST /v1/responses, or the message
// response.create on a WebSocket. A retrieve request asks for an existing response.
package openai
