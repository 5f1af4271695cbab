package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Every list has the same shape, default and bound. Executions are ordered newest first, everything
// else oldest first. An invalid cursor is refused.
func TestListsHaveOneShapeAndOneBound(t *testing.T) {
	h := open(t)
	x := h.start("")
	run := h.claim()
	events := make([]perdure.NewEvent, 51)
	for i := range events {
		events[i] = perdure.NewEvent{Type: perdure.EventData, Fields: []byte(`{"data":{"type":"plan"}}`)}
	}
	run.commit(perdure.Commit{Events: events})
	for i := range 51 {
		run.say(userText(fmt.Sprint(i)))
		run.task("bash", fmt.Sprint(i))
		h.call("POST", "/agent-definitions", fmt.Sprintf(`{"name":"d%02d",%s}`, i, models)).want(201, nil)
		h.start("")
	}
	pages := map[string]func(map[string]any) string{
		"/agent-executions":          func(i map[string]any) string { return i["createdAt"].(string) },
		"/agent-definitions":         func(i map[string]any) string { return i["createdAt"].(string) },
		h.path(x.ID, "/entries"):     func(i map[string]any) string { return fmt.Sprint(i["createdAt"], i["id"]) },
		h.path(x.ID, "/checkpoints"): func(i map[string]any) string { return fmt.Sprintf("%06.0f", i["sequence"]) },
		h.path(x.ID, "/tasks"):       func(i map[string]any) string { return i["createdAt"].(string) },
	}
	foreign := map[string]string{}
	for path, order := range pages {
		first := h.call("GET", path, "").object(200)
		cursor, more := first["nextCursor"].(string)
		if names(first) != "items nextCursor" || len(items(t, first)) != 50 || !more {
			t.Errorf("%s begins with %d items, %s, then %q", path, len(items(t, first)), names(first), cursor)
		}
		foreign[path] = cursor
		rest := h.call("GET", path+"?cursor="+cursor, "").object(200)
		if next, known := rest["nextCursor"]; next != nil || !known {
			t.Errorf("%s ends with nextCursor %v", path, next)
		}
		all := h.call("GET", path+"?limit=1000", "").object(200)
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
				r := h.call("GET", path+"?cursor="+cursor, "")
				if r.status != 200 {
					r.problem(400, "invalid_argument", "cursor")
				}
			}
		}
		for _, forged := range []string{"%21", uuid.NewString(), "%7B%7D", "-1", "1.5", strings.Repeat("A", 300)} {
			h.call("GET", path+"?cursor="+forged, "").problem(400, "invalid_argument", "cursor")
		}
	}
	page := h.call("GET", h.path(x.ID, "/events"), "").object(200)
	if n := len(items(t, page)); n != 50 || page["upToDate"] != false || page["nextCursor"] == "" {
		t.Errorf("a page of events has %d, %v", n, page["upToDate"])
	}
}

// Enums are accepted in any case, and returned in one.
func TestEnumsAreTakenInAnyCase(t *testing.T) {
	h := open(t)
	for mode, want := range map[string]string{"remote": "REMOTE", "Remote": "REMOTE", "REMOTE": "REMOTE", "local": "LOCAL", "LoCaL": "LOCAL"} {
		if got := h.call("POST", "/agent-executions", `{"userPrompt":"hi",`+models+`,"persistenceMode":"`+mode+`"}`).object(201)["persistenceMode"]; got != want {
			t.Errorf("%s is shown as %v", mode, got)
		}
	}
	for _, status := range []string{"pending", "Pending", "PENDING"} {
		if n := len(items(t, h.call("GET", "/agent-executions?status="+status, "").object(200))); n != 5 {
			t.Errorf("status=%s gives %d", status, n)
		}
	}
}

// The Content-Type of a body matters as little as possible; its content decides.
func TestBodiesOfOtherTypes(t *testing.T) {
	h := open(t)
	body := `{"userPrompt":"hi",` + models + `}`
	for contentType, status := range map[string]int{
		"application/json": 201, "application/json; charset=utf-8": 201, "Application/JSON": 201, "application/merge-patch+json": 201,
		"text/plain": 201, "application/x-www-form-urlencoded": 201, "": 201,
		"text/xml": 400, "application/octet-stream": 400, "multipart/form-data; boundary=x": 400, "application/cbor": 400,
	} {
		r := h.call("POST", "/agent-executions", body, "Content-Type", contentType)
		if r.status != status {
			t.Errorf("%q is answered %d %s", contentType, r.status, r.body)
		}
		if r.status == 400 {
			r.problem(400, "invalid_argument", "")
		}
	}
	for _, bad := range []string{`{`, `null`, `"x"`, `7`, `[]`, ``, ` `, `{}{}`, "\x00", `{"userPrompt":"` + "\xff" + `"`} {
		if r := h.call("POST", "/agent-executions", bad); r.status != 400 {
			t.Errorf("%q is answered %d %s", bad, r.status, r.body)
		}
	}
	id := h.start("").ID
	for path, unknown := range map[string]string{
		"/agent-executions":       `{"userPrompt":"hi",` + models + `,"unknown":1}`,
		h.path(id, "/signal"):     `{"signalName":"a","unknown":1}`,
		"/agent-definitions":      `{"name":"d",` + models + `,"unknown":1}`,
		"./api/login":             `{"key":"x","unknown":1}`,
		"/agent-executions?nth=2": `{"userPrompt":"hi","models":[{"provider":"scripted","modelId":"m","unknown":1}]}`,
	} {
		if p := h.call("POST", path, unknown).problem(400, "invalid_argument", ""); !strings.HasSuffix(p.Errors[0].Location, "unknown") {
			t.Errorf("%s: the field at fault is %q", path, p.Errors[0].Location)
		}
	}
}

// A cancel of a running execution is accepted and takes effect later; a cancel of an ended one
// changes nothing.
func TestCancelOfEachStatus(t *testing.T) {
	h := open(t)
	running := h.start("")
	run := h.claim()
	got := h.call("DELETE", h.path(running.ID, ""), "").object(202)
	if got["status"] != "CANCELLING" || got["completedAt"] != nil {
		t.Errorf("a running execution is %v", got["status"])
	}
	h.call("DELETE", h.path(running.ID, ""), "").want(202, nil) // it has not ended
	run.commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeCancelled}})
	ended := h.call("GET", h.path(running.ID, ""), "").want(200, nil)
	if after := h.call("DELETE", h.path(running.ID, ""), "").want(200, nil); string(after.body) != string(ended.body) {
		t.Errorf("it was\n%s\nand is\n%s", ended.body, after.body)
	}
	waiting := h.start("")
	h.claim().commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: ptr(perdure.WaitSignal("userMessage"))}})
	if got := h.call("DELETE", h.path(waiting.ID, ""), "").object(202); got["status"] != "CANCELLED" {
		t.Errorf("a waiting execution is %v", got["status"])
	}
}

// The value of a userMessage is a text or parts; the value of another signal is any JSON.
func TestValuesOfSignals(t *testing.T) {
	h := open(t)
	at := h.path(h.start("").ID, "/signal")
	for _, value := range []string{`{"text":"x"}`, `{"parts":[{"type":"text","text":"x"}]}`, `{"parts":[{"type":"image","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==","mimeType":"image/png"}]}`} {
		h.call("POST", at, `{"signalName":"userMessage","signalValue":`+value+`}`).shape(200, `{"signalId":"U1","status":"PENDING"}`)
	}
	for _, value := range []string{`"x"`, `{}`, `null`, `{"text":""}`, `{"text":1}`, `{"parts":[]}`, `{"parts":[{"type":"toolCall","id":"a","name":"b"}]}`} {
		h.call("POST", at, `{"signalName":"userMessage","signalValue":`+value+`}`).problem(400, "invalid_argument", "")
	}
	h.call("POST", at, `{"signalName":"userMessage"}`).problem(400, "invalid_argument", "")
	for _, name := range []string{"", "a..b", "*", "a.*", big(201)} {
		h.call("POST", at, `{"signalName":"`+name+`"}`).problem(400, "invalid_argument", "signalName")
	}
}

// The server itself appends nothing when an execution starts: the first entry is from its worker.
func TestNoEntryBeforeTheWorkers(t *testing.T) {
	h := open(t)
	at := h.path(h.start(`,"systemPrompt":"be kind"`).ID, "")
	none := func() {
		t.Helper()
		for _, path := range []string{"/entries", "/entries?all=true"} {
			h.call("GET", at+path, "").shape(200, `{"items":[],"nextCursor":null}`)
		}
	}
	none()
	h.call("POST", at+"/signal", `{"signalName":"userMessage","signalValue":{"text":"x"}}`).want(200, nil)
	run := h.claim()
	none()
	run.say(userText("hi"))
	if all := items(t, h.call("GET", at+"/entries?all=true", "").object(200)); len(all) != 1 || all[0]["role"] != "user" {
		t.Errorf("the entries are %v", all)
	}
}

// Paths that need no key are served without one.
func TestWhatIsBesideTheOrgs(t *testing.T) {
	h := open(t)
	for path, contentType := range map[string]string{
		"./openapi.json": "application/json", "./docs": "text/html; charset=utf-8", "./healthz": "application/json", "./readyz": "application/json",
	} {
		r := h.call("GET", path, "", "Authorization", "").want(200, nil)
		if got := r.header.Get("Content-Type"); got != contentType {
			t.Errorf("%s is %q", path, got)
		}
	}
	if v, _ := h.call("GET", "./openapi.json", "").object(http.StatusOK)["openapi"].(string); !strings.HasPrefix(v, "3.") {
		t.Errorf("the document is of version %q", v)
	}
}

// A snapshot has the newest hundred entries by default, up to a thousand on request, and the number
// of earlier entries.
func TestSnapshotsHoldAHundredEntries(t *testing.T) {
	h := open(t)
	x := h.start("")
	r := h.claim()
	var entries []perdure.NewEntry
	for i := range 102 {
		e, err := perdure.NewMessageEntry(userText(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		e.ParentID, r.leaf = r.leaf, &e.ID
		entries = append(entries, perdure.NewEntry{Entry: e})
	}
	r.commit(perdure.Commit{Entries: entries})
	for query, want := range map[string][2]int{"": {100, 2}, "?entries=1": {1, 101}, "?entries=0": {0, 102}, "?entries=1000": {102, 0}} {
		var snap struct {
			Entries       []perdure.Entry
			EntriesBefore int
		}
		h.call("GET", h.path(x.ID, "/snapshot"+query), "").want(200, &snap)
		if len(snap.Entries) != want[0] || snap.EntriesBefore != want[1] || len(snap.Entries) > 0 && snap.Entries[len(snap.Entries)-1].ID != *r.leaf {
			t.Errorf("%s holds %d entries after %d", query, len(snap.Entries), snap.EntriesBefore)
		}
	}
}
