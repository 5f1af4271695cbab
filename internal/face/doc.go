// Package face assembles the HTTP API for clients from packages that serve one part each: rest
// (resources), questions, links (pages of question links), sse and ws (logs, as events and over
// WebSockets), durable (the Durable Streams protocol), pages (the web pages and the description of
// the API) and openai (the OpenAI-compatible API). These packages do not import each other.
//
// Package front takes every request first and guards every route. The parts also share problem
// (errors), operation (operations of the OpenAPI document) and record (the JSON of a log's
// records). No package of the API contains rules of the domain: the packages send commands to the
// engine, and read the store and the event log. docs/api.md describes the API.
package face
