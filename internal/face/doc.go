// Package face assembles the API for clients from its rooms. Package front takes every request
// first and guards every route. The rooms are rest (resources), sse and ws (logs, as events and
// over WebSockets), durable (the Durable Streams protocol), pages (the web pages and the description
// of the API) and openai (the OpenAI-compatible API). Rooms do not import each other. What they
// share is in front, problem (errors), operation (operations of the OpenAPI document) and record
// (the JSON of a log's records).
//
// The rooms contain no rules of their own: the engine decides, and the store's reading side and the
// event log answer. docs/api.md describes the API.
package face
