package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

const schemaPrefix = "#/components/schemas/"

// document completes the OpenAPI document, and creates the page that shows it.
func (s *server) document() error {
	doc := s.api.OpenAPI()
	schemas := doc.Components.Schemas
	schemas.Schema(reflect.TypeFor[problem](), true, "Problem")
	for name, schema := range schemas.Map() {
		if t := schemas.TypeFromRef(schemaPrefix + name); t != nil {
			describe(schema, t)
		}
	}
	var err error
	if s.spec, err = json.MarshalIndent(doc, "", "  "); err != nil {
		return fmt.Errorf("the OpenAPI document does not encode: %w", err)
	}
	s.docs, err = renderDocs(doc)
	return err
}

// formats and enums describe the domain types for the schemas.
var (
	formats = map[reflect.Type]string{
		reflect.TypeFor[perdure.Time](): "date-time",
		reflect.TypeFor[uuid.UUID]():    "uuid",
	}
	enums = map[reflect.Type][]any{
		reflect.TypeFor[perdure.Status](): values(
			perdure.StatusPending, perdure.StatusRunning, perdure.StatusWaiting, perdure.StatusCancelling,
			perdure.StatusCompleted, perdure.StatusFailed, perdure.StatusCancelled),
		reflect.TypeFor[perdure.TaskStatus](): values(
			perdure.TaskPending, perdure.TaskRunning, perdure.TaskCompleted, perdure.TaskFailed,
			perdure.TaskInterrupted, perdure.TaskCancelled),
		reflect.TypeFor[perdure.PersistenceMode](): values(perdure.Remote, perdure.Local),
		reflect.TypeFor[perdure.Role]():            values(perdure.RoleSystem, perdure.RoleUser, perdure.RoleAssistant, perdure.RoleToolResult),
		reflect.TypeFor[perdure.EntryType]():       values(perdure.EntryMessage, perdure.EntryLLMCall, perdure.EntryInjection),
		reflect.TypeFor[perdure.KeyRole]():         values(perdure.KeyAdmin, perdure.KeyClient, perdure.KeyWorker),
	}
)

// values converts values to plain strings, because huma compares them with the values of a request.
func values[T ~string](all ...T) []any {
	plain := make([]any, len(all))
	for i, v := range all {
		plain[i] = string(v)
	}
	return plain
}

// describe adds formats and enums to the members of a response schema, and marks nullable members.
func describe(schema *huma.Schema, t reflect.Type) {
	if t.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		member := schema.Properties[name]
		if member == nil {
			continue
		}
		of, null := f.Type, false
		if of.Kind() == reflect.Pointer {
			of, null = of.Elem(), !strings.Contains(options, "omitempty")
		}
		if format, ok := formats[of]; ok {
			member.Format, member.Nullable = format, null
		}
		if enum, ok := enums[of]; ok {
			member.Enum = enum
		}
		if null && member.Ref != "" {
			schema.Properties[name] = &huma.Schema{
				Description: member.Description,
				AnyOf:       []*huma.Schema{{Ref: member.Ref}, {Type: "null"}},
			}
		}
	}
}

// pages registers the routes that are not part of the API itself.
func (s *server) pages() error {
	fixed := func(pattern, contentType string, content []byte) {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
			_, _ = w.Write(content) // fails only if the client has disconnected
		})
	}
	fixed("GET /openapi.json", "application/json", s.spec)
	fixed("GET /docs", "text/html; charset=utf-8", s.docs)
	s.mux.HandleFunc("GET "+orgPath+"/agent-executions/{id}/ws", s.webSocket)
	s.durableRoutes()
	return s.pageRoutes()
}
