// Package openaiapi serves the OpenAI-compatible face of executions: responses
// (/v1/responses), conversations (/v1/conversations) and models (/v1/models).
//
// A response is a projection of an execution's log. Every record gives the same
// events each time it is read, and they are numbered in their order, so that a
// stream can be read again from any event, through a restart of the server and
// after the response has ended.
package openaiapi
