package httpapi_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// Content that no provider accepts is refused by its field, at a start and in a message, and
// changes nothing.
func TestContentThatNoProviderTakesIsRefused(t *testing.T) {
	h := open(t)
	at := h.path(h.start("").ID, "")
	const text = `{"type":"text","text":"x"}`
	image := func(data, mime string) string {
		return `{"type":"image","data":"` + data + `","mimeType":"` + mime + `"}`
	}
	before := h.call("GET", at, "").want(200, nil)
	for part, field := range map[string]string{
		image("", "image/png"):     "data",
		image("aGk=", "image/png"): "data",
		image("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg", "image/png"):    "data",
		image("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "image/jpeg"): "mimeType",
		image("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", ""):           "mimeType",
		`{"type":"image","url":"file:///etc/passwd"}`:                    "url",
		`{"type":"image","url":"https://u:p@example.com/a.png"}`:         "url",
		`{"type":"file","data":"aGk=","mimeType":"application/pdf"}`:     "data",
		`{"type":"file","url":"https://example.com/a.pdf","fileId":"f"}`: "data",
		`{"type":"file","fileId":"f","detail":"low"}`:                    "detail",
		`{"type":"video","data":"aGk="}`:                                 "type",
		`{"type":"toolCall","id":"a","name":"b"}`:                        "type",
	} {
		parts := "[" + text + "," + part + "]"
		h.call("POST", at+"/signal", `{"signalName":"userMessage","signalValue":{"parts":`+parts+`}}`).
			problem(400, perdure.InvalidArgument, "signalValue.parts[1]."+field)
		h.call("POST", "/agent-executions", `{"userPrompt":"",`+models+`,"parts":`+parts+`}`).
			problem(400, perdure.InvalidArgument, "parts[1]."+field)
	}
	if after := h.call("GET", at, "").want(200, nil); string(after.body) != string(before.body) {
		t.Errorf("it was\n%s\nand is\n%s", before.body, after.body)
	}
}

// Tools that a provider of the run refuses are refused by their place: at a start, and when a
// definition is created or replaced.
func TestToolsThatAProviderRefusesAreRefused(t *testing.T) {
	h := open(t)
	var d perdure.Definition
	h.call("POST", "/agent-definitions", `{"name":"kept",`+models+`,"tools":["bash"]}`).want(201, &d)
	for tools, field := range map[string]string{
		`["bash","grep","bash"]`: "tools[2]",
		`["bash",""]`:            "tools[1]",
		`["unnamed_tool"]`:       "tools[0]",
	} {
		with := models + `,"tools":` + tools
		h.call("POST", "/agent-executions", `{"userPrompt":"hi",`+with+`}`).problem(400, perdure.InvalidArgument, field)
		h.call("POST", "/agent-executions", `{"userPrompt":"hi","agentDefinitionId":"`+d.ID.String()+`","tools":`+tools+`}`).problem(400, perdure.InvalidArgument, field)
		h.call("POST", "/agent-definitions", `{"name":"new",`+with+`}`).problem(400, perdure.InvalidArgument, field)
		h.call("PUT", "/agent-definitions/"+d.ID.String(), `{"name":"kept",`+with+`}`).problem(400, perdure.InvalidArgument, field)
	}
	if got := h.call("GET", "/agent-definitions/"+d.ID.String(), "").want(200, nil); !strings.Contains(string(got.body), `"tools":["bash"]`) {
		t.Errorf("the definition became %s", got.body)
	}
}
