package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

// TestPagesOfListsAreBounded checks that lists have 50 items per page by default, and that all
// pages together contain the same items as one large page. Executions are ordered newest first,
// other lists oldest first. Invalid cursors are refused.
func TestPagesOfListsAreBounded(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t)
	x := h.Start("")
	run := h.Claim()
	events := make([]perdure.NewEvent, 51)
	for i := range events {
		events[i] = perdure.NewEvent{Type: perdure.EventData, Fields: []byte(`{"data":{"type":"plan"}}`)}
	}
	run.Commit(perdure.Commit{Events: events})
	for i := range 51 {
		run.Say(userText(fmt.Sprint(i)))
		run.Task("bash", fmt.Sprint(i))
		h.Call("POST", h.Path(x.ID, "/signal"), fmt.Sprintf(`{"signalName":"s","signalValue":"%02d"}`, i)).Want(200, nil)
		h.Call("POST", "/agent-definitions", fmt.Sprintf(`{"name":"d%02d",%s}`, i, models)).Want(201, nil)
		h.Start("")
	}
	pages := map[string]func(map[string]any) string{
		"/agent-executions":          func(i map[string]any) string { return i["createdAt"].(string) },
		"/agent-definitions":         func(i map[string]any) string { return i["createdAt"].(string) },
		h.Path(x.ID, "/entries"):     func(i map[string]any) string { return fmt.Sprint(i["createdAt"], i["id"]) },
		h.Path(x.ID, "/checkpoints"): func(i map[string]any) string { return fmt.Sprintf("%06.0f", i["sequence"]) },
		h.Path(x.ID, "/tasks"):       func(i map[string]any) string { return i["createdAt"].(string) },
		h.Path(x.ID, "/signals"):     func(i map[string]any) string { return i["signalValue"].(string) },
	}
	foreign := map[string]string{}
	for path, order := range pages {
		first := h.Call("GET", path, "").Object(200)
		cursor, more := first["nextCursor"].(string)
		if names(first) != "items nextCursor" || len(items(t, first)) != 50 || !more {
			t.Errorf("%s begins with %d items, %s, then %q", path, len(items(t, first)), names(first), cursor)
		}
		foreign[path] = cursor
		rest := h.Call("GET", path+"?cursor="+cursor, "").Object(200)
		if next, known := rest["nextCursor"]; next != nil || !known {
			t.Errorf("%s ends with nextCursor %v", path, next)
		}
		all := h.Call("GET", path+"?limit=1000", "").Object(200)
		joined := append(items(t, first), items(t, rest)...)
		if got, want := fmt.Sprint(joined), fmt.Sprint(items(t, all)); got != want {
			t.Errorf("%s in pages is not what it is in one", path)
		}
		var moments []string
		for _, i := range items(t, all) {
			moments = append(moments, order(i))
		}
		if path == "/agent-executions" {
			slices.Reverse(moments)
		}
		if !slices.IsSorted(moments) || len(moments) < 51 {
			t.Errorf("the order of %s is %v", path, moments)
		}
	}
	for path := range pages {
		for other, cursor := range foreign {
			if other != path {
				r := h.Call("GET", path+"?cursor="+cursor, "")
				if r.Status != 200 {
					r.Problem(400, "invalid_argument", "cursor")
				}
			}
		}
		for _, forged := range []string{"%21", uuid.NewString(), "%7B%7D", "-1", "1.5", strings.Repeat("A", 300)} {
			h.Call("GET", path+"?cursor="+forged, "").Problem(400, "invalid_argument", "cursor")
		}
	}
	page := h.Call("GET", h.Path(x.ID, "/events"), "").Object(200)
	if n := len(items(t, page)); n != 50 || page["upToDate"] != false || page["nextCursor"] == "" {
		t.Errorf("a page of events has %d, %v", n, page["upToDate"])
	}
}

// TestEnumsAreTakenInAnyCase checks that the values of persistenceMode and status may be sent in
// upper or lower case. Responses have persistenceMode in upper case.
func TestEnumsAreTakenInAnyCase(t *testing.T) {
	h := open(t)
	for mode, want := range map[string]string{"remote": "REMOTE", "Remote": "REMOTE", "REMOTE": "REMOTE", "local": "LOCAL", "LoCaL": "LOCAL"} {
		if got := h.Call("POST", "/agent-executions", `{"userPrompt":"hi",`+models+`,"persistenceMode":"`+mode+`"}`).Object(201)["persistenceMode"]; got != want {
			t.Errorf("%s is shown as %v", mode, got)
		}
	}
	for _, status := range []string{"pending", "Pending", "PENDING"} {
		if n := len(items(t, h.Call("GET", "/agent-executions?status="+status, "").Object(200))); n != 5 {
			t.Errorf("status=%s gives %d", status, n)
		}
	}
}

// TestBodiesOfOtherTypes checks which content types a JSON body may have: a type of JSON, the types
// that HTTP tools such as curl send by default, or none. Other types are refused. Bodies that are
// not JSON objects, or have unknown members, are refused.
func TestBodiesOfOtherTypes(t *testing.T) {
	h := open(t)
	body := `{"userPrompt":"hi",` + models + `}`
	for contentType, status := range map[string]int{
		"application/json": 201, "application/json; charset=utf-8": 201, "Application/JSON": 201, "application/merge-patch+json": 201,
		"text/plain": 201, "application/x-www-form-urlencoded": 201, "": 201,
		"text/xml": 400, "application/octet-stream": 400, "multipart/form-data; boundary=x": 400, "application/cbor": 400,
	} {
		r := h.Call("POST", "/agent-executions", body, "Content-Type", contentType)
		if r.Status != status {
			t.Errorf("%q is answered %d %s", contentType, r.Status, r.Body)
		}
		if r.Status == 400 {
			r.Problem(400, "invalid_argument", "")
		}
	}
	for _, bad := range []string{`{`, `null`, `"x"`, `7`, `[]`, ``, ` `, `{}{}`, "\x00", `{"userPrompt":"` + "\xff" + `"`} {
		if r := h.Call("POST", "/agent-executions", bad); r.Status != 400 {
			t.Errorf("%q is answered %d %s", bad, r.Status, r.Body)
		}
	}
	id := h.Start("").ID
	for path, unknown := range map[string]string{
		"/agent-executions":       `{"userPrompt":"hi",` + models + `,"unknown":1}`,
		h.Path(id, "/signal"):     `{"signalName":"a","unknown":1}`,
		"/agent-definitions":      `{"name":"d",` + models + `,"unknown":1}`,
		"./api/login":             `{"key":"x","unknown":1}`,
		"/agent-executions?nth=2": `{"userPrompt":"hi","models":[{"provider":"scripted","modelId":"m","unknown":1}]}`,
	} {
		if p := h.Call("POST", path, unknown).Problem(400, "invalid_argument", ""); !strings.HasSuffix(p.Errors[0].Location, "unknown") {
			t.Errorf("%s: the field at fault is %q", path, p.Errors[0].Location)
		}
	}
}

// TestCancelOfEachStatus checks the status after a cancel. A running execution is CANCELLING until
// its worker ends it; a waiting execution is CANCELLED at once; an ended execution stays unchanged.
func TestCancelOfEachStatus(t *testing.T) {
	h := open(t)
	running := h.Start("")
	run := h.Claim()
	got := h.Call("DELETE", h.Path(running.ID, ""), "").Object(202)
	if got["status"] != "CANCELLING" || got["completedAt"] != nil {
		t.Errorf("a running execution is %v", got["status"])
	}
	h.Call("DELETE", h.Path(running.ID, ""), "").Want(202, nil) // 202, because the execution has not ended yet
	run.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeCancelled}})
	ended := h.Call("GET", h.Path(running.ID, ""), "").Want(200, nil)
	if after := h.Call("DELETE", h.Path(running.ID, ""), "").Want(200, nil); string(after.Body) != string(ended.Body) {
		t.Errorf("it was\n%s\nand is\n%s", ended.Body, after.Body)
	}
	waiting := h.Start("")
	h.Claim().Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: new(perdure.WaitSignal("userMessage"))}})
	if got := h.Call("DELETE", h.Path(waiting.ID, ""), "").Object(202); got["status"] != "CANCELLED" {
		t.Errorf("a waiting execution is %v", got["status"])
	}
}

// TestValuesOfSignals checks that the value of a userMessage has a text or parts. Invalid values
// and invalid signal names are refused.
func TestValuesOfSignals(t *testing.T) {
	h := open(t)
	at := h.Path(h.Start("").ID, "/signal")
	for _, value := range []string{`{"text":"x"}`, `{"parts":[{"type":"text","text":"x"}]}`, `{"parts":[{"type":"image","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==","mimeType":"image/png"}]}`} {
		h.Call("POST", at, `{"signalName":"userMessage","signalValue":`+value+`}`).Shape(200, `{"signalId":"U1","status":"PENDING"}`)
	}
	for _, value := range []string{`"x"`, `{}`, `null`, `{"text":""}`, `{"text":1}`, `{"parts":[]}`, `{"parts":[{"type":"toolCall","id":"a","name":"b"}]}`} {
		h.Call("POST", at, `{"signalName":"userMessage","signalValue":`+value+`}`).Problem(400, "invalid_argument", "")
	}
	h.Call("POST", at, `{"signalName":"userMessage"}`).Problem(400, "invalid_argument", "")
	for _, name := range []string{"", "a..b", "*", "a.*", big(201)} {
		h.Call("POST", at, `{"signalName":"`+name+`"}`).Problem(400, "invalid_argument", "signalName")
	}
}

// TestNoEntryBeforeTheWorkers checks that neither the start of an execution nor a user message
// appends an entry; the first entry is from the worker.
func TestNoEntryBeforeTheWorkers(t *testing.T) {
	h := open(t)
	at := h.Path(h.Start(`,"systemPrompt":"be kind"`).ID, "")
	none := func() {
		t.Helper()
		for _, path := range []string{"/entries", "/entries?all=true"} {
			h.Call("GET", at+path, "").Shape(200, `{"items":[],"nextCursor":null}`)
		}
	}
	none()
	h.Call("POST", at+"/signal", `{"signalName":"userMessage","signalValue":{"text":"x"}}`).Want(200, nil)
	run := h.Claim()
	none()
	run.Say(userText("hi"))
	if all := items(t, h.Call("GET", at+"/entries?all=true", "").Object(200)); len(all) != 1 || all[0]["role"] != "user" {
		t.Errorf("the entries are %v", all)
	}
}

// TestPathsThatNeedNoKey checks that the OpenAPI document, its page and the health checks need no
// key.
func TestPathsThatNeedNoKey(t *testing.T) {
	h := open(t)
	for path, contentType := range map[string]string{
		"./openapi.json": "application/json", "./docs": "text/html; charset=utf-8", "./healthz": "application/json", "./readyz": "application/json",
	} {
		r := h.Call("GET", path, "", "Authorization", "").Want(200, nil)
		if got := r.Header.Get("Content-Type"); got != contentType {
			t.Errorf("%s is %q", path, got)
		}
	}
	if v, _ := h.Call("GET", "./openapi.json", "").Object(http.StatusOK)["openapi"].(string); !strings.HasPrefix(v, "3.") {
		t.Errorf("the document is of version %q", v)
	}
}

// TestSnapshotsHoldAHundredEntries checks that a snapshot has the newest 100 entries by default,
// another number on request, and the number of earlier entries.
func TestSnapshotsHoldAHundredEntries(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	var entries []perdure.NewEntry
	for i := range 102 {
		e, err := perdure.NewMessageEntry(userText(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		e.ParentID, r.Leaf = r.Leaf, &e.ID
		entries = append(entries, perdure.NewEntry{Entry: e})
	}
	r.Commit(perdure.Commit{Entries: entries})
	for query, want := range map[string][2]int{"": {100, 2}, "?entries=1": {1, 101}, "?entries=0": {0, 102}, "?entries=1000": {102, 0}} {
		var snap struct {
			Entries       []perdure.Entry
			EntriesBefore int
		}
		h.Call("GET", h.Path(x.ID, "/snapshot"+query), "").Want(200, &snap)
		if len(snap.Entries) != want[0] || snap.EntriesBefore != want[1] || len(snap.Entries) > 0 && snap.Entries[len(snap.Entries)-1].ID != *r.Leaf {
			t.Errorf("%s holds %d entries after %d", query, len(snap.Entries), snap.EntriesBefore)
		}
	}
}
