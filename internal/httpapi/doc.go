// Package httpapi implements the API for clients: REST with an OpenAPI document, and event streams
// as SSE. It contains no rules of its own: the engine decides, and the store's reading side and the
// event log answer. docs/api.md describes the API.
package httpapi
