package rest_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestBulkActions checks a bulk action from its creation to its end, the number of executions that
// match it, and its audit record.
func TestBulkActions(t *testing.T) {
	h := open(t)
	for i := range 3 {
		h.Call("POST", "/agent-executions", fmt.Sprintf(`{"kind":"anything","input":%d,"queue":"none","metadata":{"team":"a","n":"%d"}}`, i, i)).Want(201, nil)
	}
	var c perdure.BulkCount
	h.Call("POST", "/agent-executions/actions/count", `{"action":"cancel","filter":{"metadata":{"team":"a"}}}`).Want(200, &c)
	if c != (perdure.BulkCount{Matched: 3}) {
		t.Errorf("the count: %+v", c)
	}
	const body = `{"action":"cancel","filter":{"status":["pending"],"kind":"anything","metadata":{"n":"1"}},"reason":"ä"}`
	var a, again, done perdure.BulkAction
	answer := h.Call("POST", "/agent-executions/actions", body, "Idempotency-Key", "k")
	answer.Want(202, &a)
	if a.Matched != 1 || a.Reason != "ä" || a.Filter.Metadata["n"] != "1" || a.Filter.Status[0] != perdure.StatusPending || !strings.HasSuffix(answer.Header.Get("Location"), a.ID.String()) {
		t.Errorf("the action: %+v", a)
	}
	h.Call("POST", "/agent-executions/actions", body, "Idempotency-Key", "k").Want(202, &again)
	h.Call("POST", "/agent-executions/actions", `{"action":"cancel","filter":{}}`, "Idempotency-Key", "k").Problem(422, perdure.IdempotencyKeyReused, "")
	if err := h.Engine.Bulk.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.Call("GET", "/agent-executions/actions/"+a.ID.String(), "").Want(200, &done)
	if again.ID != a.ID || done.Status != perdure.BulkCompleted || done.Done != 1 || done.EndedAt == nil {
		t.Errorf("the repeat: %+v; the completed action: %+v", again, done)
	}
	var list struct{ Items []perdure.Execution }
	h.Call("GET", "/agent-executions?status=cancelled", "").Want(200, &list)
	if len(list.Items) != 1 {
		t.Errorf("%d executions are cancelled", len(list.Items))
	}
	var audit struct{ Items []perdure.AuditRecord }
	h.Call("GET", "/audit", "", "Authorization", "Bearer "+h.AdminKey).Want(200, &audit)
	if r := audit.Items[0]; r.Action != perdure.AuditBulkCreated || *r.SubjectID != a.ID || r.SubjectName != "cancel" {
		t.Errorf("the audit record: %+v", r)
	}
}

// TestEveryFilterOfABulkActionNarrows checks, for each field of the filter, that a bulk action does
// not match executions that the field excludes.
func TestEveryFilterOfABulkActionNarrows(t *testing.T) {
	none := map[string]string{
		"status": `["RUNNING"]`, "kind": `"other"`, "tag": `"none"`, "agentDefinitionId": `"` + uuid.NewString() + `"`,
		"createdAfter": `"2100-01-01T00:00:00Z"`, "createdBefore": `"2000-01-01T00:00:00Z"`, "q": `"nowhere"`,
		"metadata": `{"team":"b"}`, "failedTurn": "true",
	}
	h := open(t)
	h.Call("POST", "/agent-executions", `{"kind":"anything","input":1,"queue":"none","metadata":{"team":"a"}}`).Want(201, nil)
	var c perdure.BulkCount
	h.Call("POST", "/agent-executions/actions/count", `{"action":"cancel","filter":{}}`).Want(200, &c)
	if c.Matched != 1 {
		t.Fatalf("%d executions match without a filter", c.Matched)
	}
	for field := range reflect.TypeFor[perdure.BulkFilter]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if none[name] == "" {
			t.Errorf("this test has no value for the field %s", field.Name)
			continue
		}
		h.Call("POST", "/agent-executions/actions/count", fmt.Sprintf(`{"action":"cancel","filter":{%q:%s}}`, name, none[name])).Want(200, &c)
		if c.Matched != 0 {
			t.Errorf("the filter %s: %s excludes nothing", name, none[name])
		}
	}
}

// TestBulkActionRefusals checks that the error for an invalid request names the field, and that
// nothing is stored.
func TestBulkActionRefusals(t *testing.T) {
	h := open(t)
	for body, field := range map[string]string{
		`{"filter":{}}`: "action", `{"action":"cancel"}`: "filter", `{"action":"stop","filter":{}}`: "action", `{"action":"cancel","filter":[]}`: "filter",
		`{"action":"cancel","filter":{"state":"x"}}`: "filter.state", `{"action":"cancel","filter":{"status":["none"]}}`: "status",
		`{"action":"cancel","filter":{"status":["completed"]}}`: "filter.status", `{"action":"cancel","filter":{"createdAfter":"now"}}`: "filter.createdAfter",
		`{"action":"cancel","filter":{"createdBefore":"1"}}`: "filter.createdBefore",
		`{"action":"retry","filter":{"status":["pending"]}}`: "filter.status", `{"action":"cancel","filter":{"metadata":{"a":1}}}`: "filter.metadata.a",
		`{"action":"cancel","filter":{"q":"a\u0000"}}`: "", `{"action":"cancel","filter":{"metadata":{"a\u0000":"b"}}}`: "",
		`{"action":"cancel","filter":{"q":"` + strings.Repeat("q", 17<<10) + `"}}`: "filter",
	} {
		for _, path := range []string{"/agent-executions/actions", "/agent-executions/actions/count"} {
			h.Call("POST", path, body).Problem(400, perdure.InvalidArgument, field)
		}
	}
	h.Call("POST", "/agent-executions/actions", `{"action":"cancel","filter":{},"reason":"`+strings.Repeat("r", 5<<10)+`"}`).Problem(400, perdure.InvalidArgument, "reason")
	h.Call("GET", "/agent-executions/actions/"+uuid.NewString(), "").Problem(404, perdure.NotFound, "")
	h.Call("GET", "/agent-executions/actions/x", "").Problem(404, perdure.NotFound, "")
	h.Call("DELETE", "/agent-executions/actions/"+uuid.NewString(), "").Problem(405, perdure.InvalidArgument, "")
	if running, err := h.Engine.Read().RunningBulk(t.Context(), nil, 1); err != nil || len(running) > 0 {
		t.Errorf("an action was stored: %v, %v", running, err)
	}
}
