package face_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestPagesNeedNoKeyAndAskNobody(t *testing.T) {
	h := open(t)
	for path, text := range map[string]string{
		"./docs": "/api/orgs/{org}/agent-executions/{id}/signal", "./healthz": `"ok"`, "./readyz": `"ready"`,
	} {
		r := h.Call("GET", path, "", "Authorization", "").Want(200, nil)
		if !strings.Contains(string(r.Body), text) {
			t.Errorf("%s lacks %s", path, text)
		}
		for _, outside := range []string{"src=", "https://", "@import", "<script"} {
			if strings.Contains(string(r.Body), outside) {
				t.Errorf("%s holds %s", path, outside)
			}
		}
	}
}

func TestOpenAPIDescribesEverything(t *testing.T) {
	h := open(t)
	var doc struct {
		OpenAPI    string
		Paths      map[string]map[string]json.RawMessage
		Components struct {
			Schemas map[string]struct {
				Properties map[string]map[string]any
				Required   []string
			}
		}
	}
	r := h.Call("GET", "./openapi.json", "", "Authorization", "").Want(200, &doc)
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("version %q", doc.OpenAPI)
	}
	one := "/api/orgs/{org}/agent-executions/{id}"
	for path, methods := range map[string]string{
		"/api/orgs/{org}/agent-executions": "get post", one: "get delete", one + "/signal": "post",
		one + "/checkpoints": "get", one + "/checkpoints/latest": "get", one + "/checkpoints/{seq}": "get", one + "/tasks": "get", one + "/signals": "get",
		one + "/entries": "get", one + "/entries/{entryId}": "get", one + "/events": "get", one + "/snapshot": "get",
		one + "/stream": "get", one + "/stream/consolidated": "get",
		one + "/content/{sha256}": "get", one + "/promote": "post",
		"/api/orgs/{org}/agent-definitions": "get post", "/api/orgs/{org}/agent-definitions/{id}": "get put delete",
		"/api/orgs/{org}/keys": "get post", "/api/orgs/{org}/keys/{id}": "delete",
		"/api/login": "post", "/api/logout": "post", "/healthz": "get", "/readyz": "get",
	} {
		for method := range strings.SplitSeq(methods, " ") {
			if doc.Paths[path][method] == nil {
				t.Errorf("%s %s is not described", method, path)
			}
		}
	}
	for _, name := range []string{"Execution", "Definition", "Entry", "Task", "Checkpoint", "APIKey", "Wait", "Problem", "Part"} {
		if len(doc.Components.Schemas[name].Properties) == 0 && name != "Part" {
			t.Errorf("there is no schema %s", name)
		}
	}
	x := doc.Components.Schemas["Execution"]
	if any := x.Properties["input"]; any["type"] != nil || any["contentEncoding"] != nil {
		t.Errorf("input is described as %v", any)
	}
	if x.Properties["createdAt"]["format"] != "date-time" || x.Properties["id"]["format"] != "uuid" {
		t.Errorf("times and ids are described as %v, %v", x.Properties["createdAt"], x.Properties["id"])
	}
	if strings.Contains(string(r.Body), "octet-stream") || strings.Contains(string(r.Body), "$schema") {
		t.Error("the document holds what is not in the API")
	}
}

// TestOpenAPIDescribesLimits checks that the OpenAPI document describes, for every operation on an
// org, the status 429 and the header Retry-After.
func TestOpenAPIDescribesLimits(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Responses   map[string]struct {
				Headers map[string]struct{ Schema struct{ Type string } }
				Content map[string]any
			}
		}
	}
	h := open(t)
	h.Call("GET", "./openapi.json", "").Want(200, &doc)
	operations := 0
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if !strings.Contains(path, "{org}") {
				continue
			}
			operations++
			if r := op.Responses["429"]; r.Headers["Retry-After"].Schema.Type != "integer" || r.Content["application/problem+json"] == nil {
				t.Errorf("%s %s says of too much %+v", method, path, r)
			}
		}
	}
	if operations < 30 {
		t.Errorf("only %d operations were found", operations)
	}
}

// TestAnswersMatchTheOpenAPIDocument checks that the tested responses match their schemas in the
// OpenAPI document.
func TestAnswersMatchTheOpenAPIDocument(t *testing.T) {
	h := open(t)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(h.Call("GET", "./openapi.json", "").Body))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	match := func(name string, r reply) {
		t.Helper()
		schema, err := compiler.Compile("openapi.json#/components/schemas/" + name)
		if err != nil {
			t.Fatal(err)
		}
		body, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.Body))
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, r.Body)
		}
		if err := schema.Validate(body); err != nil {
			t.Errorf("%s: %v: %s", name, err, r.Body)
		}
	}
	admin := []string{"Authorization", "Bearer " + h.AdminKey}
	match("Definition", h.Call("POST", "/agent-definitions", `{"name":"a",`+models+`}`))
	match("ListDefinition", h.Call("GET", "/agent-definitions", ""))
	match("NewKey", h.Call("POST", "/keys", `{"name":"k","role":"worker"}`, admin...))
	match("ListAPIKey", h.Call("GET", "/keys", "", admin...))
	match("Problem", h.Call("GET", "/keys", ""))
	match("LoginReply", h.Call("POST", "./api/login", `{"key":"`+h.ClientKey+`"}`))
	match("Execution", h.Call("POST", "/agent-executions", `{`+models+`}`))
	running := h.Claim()
	running.Say(userText("hi"))
	running.Task("bash", "one")
	running.Stream(0, 0, perdure.EventToken, "open")
	h.Start("")
	waiting := h.Claim()
	waiting.Say(userText("hi"))
	waiting.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: new(perdure.WaitSignal("userMessage"))}})
	for _, x := range []*run{running, waiting} {
		match("Execution", h.Call("GET", h.Path(x.ID, ""), ""))
		match("ListExecution", h.Call("GET", "/agent-executions", ""))
		match("ListCheckpoint", h.Call("GET", h.Path(x.ID, "/checkpoints"), ""))
		match("Checkpoint", h.Call("GET", h.Path(x.ID, "/checkpoints/latest"), ""))
		match("ListTask", h.Call("GET", h.Path(x.ID, "/tasks"), ""))
		match("ListSignal", h.Call("GET", h.Path(x.ID, "/signals"), ""))
		match("ListEntry", h.Call("GET", h.Path(x.ID, "/entries"), ""))
		match("Entry", h.Call("GET", h.Path(x.ID, "/entries/"+x.Leaf.String()), ""))
		match("EventPage", h.Call("GET", h.Path(x.ID, "/events"), ""))
		match("SnapshotBody", h.Call("GET", h.Path(x.ID, "/snapshot"), ""))
		match("SignalReply", h.Call("POST", h.Path(x.ID, "/signal"), `{"signalName":"a"}`))
		match("Execution", h.Call("DELETE", h.Path(x.ID, ""), ""))
	}
}
