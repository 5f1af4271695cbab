// Package httpapi is the API for clients: REST with an OpenAPI document, and
// the event streams as SSE. It holds no rules of its own; the engine decides,
// the store's reading side and the event log answer. docs/api.md describes it.
package httpapi
