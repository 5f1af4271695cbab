package rest_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/facetest"
)

// TestContentThatNoProviderTakesIsRefused checks that invalid parts of a message are refused at a
// start and in a signal. The error names the field, and the execution stays unchanged.
func TestContentThatNoProviderTakesIsRefused(t *testing.T) {
	h := facetest.Open(t)
	at := h.Path(h.Start("").ID, "")
	const text = `{"type":"text","text":"x"}`
	image := func(data, mime string) string {
		return `{"type":"image","data":"` + data + `","mimeType":"` + mime + `"}`
	}
	before := h.Call("GET", at, "").Want(200, nil)
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
		h.Call("POST", at+"/signal", `{"signalName":"userMessage","signalValue":{"parts":`+parts+`}}`).
			Problem(400, perdure.InvalidArgument, "signalValue.parts[1]."+field)
		h.Call("POST", "/agent-executions", `{"userPrompt":"",`+facetest.Models+`,"parts":`+parts+`}`).
			Problem(400, perdure.InvalidArgument, "parts[1]."+field)
	}
	if after := h.Call("GET", at, "").Want(200, nil); string(after.Body) != string(before.Body) {
		t.Errorf("it was\n%s\nand is\n%s", before.Body, after.Body)
	}
}

// TestToolsThatAProviderRefusesAreRefused checks that invalid tools are refused at a start, and
// when a definition is created or replaced. The error names the index of the invalid tool.
func TestToolsThatAProviderRefusesAreRefused(t *testing.T) {
	h := facetest.Open(t)
	var d perdure.Definition
	h.Call("POST", "/agent-definitions", `{"name":"kept",`+facetest.Models+`,"tools":["bash"]}`).Want(201, &d)
	for tools, field := range map[string]string{
		`["bash","grep","bash"]`: "tools[2]",
		`["bash",""]`:            "tools[1]",
		`["unnamed_tool"]`:       "tools[0]",
	} {
		with := facetest.Models + `,"tools":` + tools
		h.Call("POST", "/agent-executions", `{"userPrompt":"hi",`+with+`}`).Problem(400, perdure.InvalidArgument, field)
		h.Call("POST", "/agent-executions", `{"userPrompt":"hi","agentDefinitionId":"`+d.ID.String()+`","tools":`+tools+`}`).Problem(400, perdure.InvalidArgument, field)
		h.Call("POST", "/agent-definitions", `{"name":"new",`+with+`}`).Problem(400, perdure.InvalidArgument, field)
		h.Call("PUT", "/agent-definitions/"+d.ID.String(), `{"name":"kept",`+with+`}`).Problem(400, perdure.InvalidArgument, field)
	}
	if got := h.Call("GET", "/agent-definitions/"+d.ID.String(), "").Want(200, nil); !strings.Contains(string(got.Body), `"tools":["bash"]`) {
		t.Errorf("the definition became %s", got.Body)
	}
}
