package operation

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/problem"
)

// SchemaPrefix is the prefix of each $ref value that refers to a schema of the OpenAPI document.
const SchemaPrefix = "#/components/schemas/"

// Document completes the OpenAPI document after all operations were registered. It returns the
// document and its JSON.
func (a *API) Document() (*huma.OpenAPI, []byte, error) {
	doc := a.huma.OpenAPI()
	schemas := doc.Components.Schemas
	schemas.Schema(reflect.TypeFor[problem.Problem](), true, "Problem")
	for name, schema := range schemas.Map() {
		if t := schemas.TypeFromRef(SchemaPrefix + name); t != nil {
			describe(schema, t)
		}
	}
	for _, hidden := range []reflect.Type{reflect.TypeFor[perdure.WithheldContent](), reflect.TypeFor[perdure.WithheldQuestion]()} {
		delete(schemas.Map(), hidden.Name()) // only hidden members use this schema
	}
	raw, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, nil, fmt.Errorf("the OpenAPI document does not encode: %w", err)
	}
	return doc, raw, nil
}

// formats and enums contain, for Go types of Perdure, the formats and the permitted values in the
// schemas.
var (
	formats = map[reflect.Type]string{
		reflect.TypeFor[perdure.Time](): "date-time",
		reflect.TypeFor[uuid.UUID]():    "uuid",
	}
	enums = map[reflect.Type][]any{
		reflect.TypeFor[perdure.Status](): values(
			perdure.StatusPending, perdure.StatusRunning, perdure.StatusWaiting, perdure.StatusCancelling,
			perdure.StatusCompleted, perdure.StatusFailed, perdure.StatusCancelled),
		reflect.TypeFor[perdure.SignalState](): values(perdure.SignalPending, perdure.SignalTaken, perdure.SignalConsumed),
		reflect.TypeFor[perdure.TaskStatus](): values(
			perdure.TaskPending, perdure.TaskRunning, perdure.TaskCompleted, perdure.TaskFailed,
			perdure.TaskInterrupted, perdure.TaskCancelled),
		reflect.TypeFor[perdure.PersistenceMode](): values(perdure.Remote, perdure.Local),
		reflect.TypeFor[perdure.Role]():            values(perdure.RoleSystem, perdure.RoleUser, perdure.RoleAssistant, perdure.RoleToolResult),
		reflect.TypeFor[perdure.EntryType]():       values(perdure.EntryMessage, perdure.EntryLLMCall, perdure.EntryInjection, perdure.EntryCompaction),
		reflect.TypeFor[perdure.KeyRole]():         values(perdure.KeyAdmin, perdure.KeyClient, perdure.KeyWorker, perdure.KeyApprover),
		reflect.TypeFor[perdure.QuestionStatus]():  values(perdure.QuestionOpen, perdure.QuestionAnswered, perdure.QuestionExpired, perdure.QuestionWithdrawn),
		reflect.TypeFor[perdure.Verdict]():         values(perdure.VerdictApprove, perdure.VerdictDeny, perdure.VerdictAnswer),
		reflect.TypeFor[perdure.OnExpiry]():        values(perdure.OnExpiryFail, perdure.OnExpiryDeny, perdure.OnExpiryDefault),
		reflect.TypeFor[perdure.EditRight]():       values(perdure.EditClient, perdure.EditApprover),
		reflect.TypeFor[perdure.KindType]():        values(perdure.KindAgent, perdure.KindTask),
	}
)

// values converts constants to plain strings, because huma compares them with the plain strings of
// a request.
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
		if of == reflect.TypeFor[perdure.Features]() {
			*member = huma.Schema{Type: "array", Items: &huma.Schema{Type: "string"}, Description: member.Description}
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
