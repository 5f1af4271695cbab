package perdure

import (
	"encoding/json"
	"errors"
	"testing"
)

// TestUserMessageValues checks that the value of a userMessage in the API is text or parts, and
// nothing else. The error names the invalid member.
func TestUserMessageValues(t *testing.T) {
	for value, field := range map[string]string{
		`{"text":"x"}`:                           "",
		`{"text":" "}`:                           "",
		`{"parts":[{"type":"text","text":"x"}]}`: "",
		`{"parts":[{"type":"text","text":"x"},{"type":"text","text":""}]}`: "",

		`"x"`: "v", `null`: "v", `7`: "v", `[]`: "v", `{}`: "v", `{`: "v",
		`{"text":""}`: "v.text", `{"text":1}`: "v.text", `{"text":null}`: "v.text",
		`{"parts":[]}`: "v.parts", `{"parts":null}`: "v.parts", `{"parts":"x"}`: "v.parts", `{"parts":[7]}`: "v.parts[0]",
		`{"parts":[{"type":"text","text":""}]}`:             "v.parts",
		`{"text":"x","parts":[{"type":"text","text":"x"}]}`: "v.parts",
		`{"text":"x","settings":{}}`:                        "v.settings",
		`{"text":"x","Settings":{}}`:                        "v.Settings",
		`{"text":"x","messages":[]}`:                        "v.messages",
		`{"messages":[{"role":"user","parts":[]}]}`:         "v.messages",

		`{"TEXT":"x"}`:                 "v.TEXT",
		`{"text":"x","role":"system"}`: "v.role",

		`{"parts":[{"type":"text","text":"x"},{"type":"robot"}]}`:            "v.parts[1].type",
		`{"parts":[{"text":"x"}]}`:                                           "v.parts[0].type",
		`{"parts":[{"type":"toolCall","id":"1","name":"bash"}]}`:             "v.parts[0].type",
		`{"parts":[{"type":"toolResult","toolCallId":"1","parts":[]}]}`:      "v.parts[0].type",
		`{"parts":[{"type":"thinking","thinking":"x"}]}`:                     "v.parts[0].type",
		`{"parts":[{"type":"compaction","text":"x"}]}`:                       "v.parts[0].type",
		`{"parts":[{"type":"text","text":"x","native":{"a":1}}]}`:            "v.parts[0].native",
		`{"parts":[{"type":"text","text":"x","Native":{"a":1}}]}`:            "v.parts[0].Native",
		`{"parts":[{"type":"text","text":"x","textSignature":"s"}]}`:         "v.parts[0].textSignature",
		`{"parts":[{"type":"text","text":"x","parts":[]}]}`:                  "v.parts[0].parts",
		`{"parts":[{"type":"image","data":"aGk=","mimeType":"x","id":"a"}]}`: "v.parts[0].id",
	} {
		_, err := ParseUserMessage("v", json.RawMessage(value))
		var coded *Error
		switch {
		case field == "" && err != nil:
			t.Errorf("%s: %v", value, err)
		case field != "" && (!errors.As(err, &coded) || coded.Code != InvalidArgument || len(coded.Fields) != 1 || coded.Fields[0].Location != field):
			t.Errorf("%s is refused by %v, want one that names %s", value, err, field)
		}
	}
}

func TestUserPartsAreChecked(t *testing.T) {
	for field, p := range map[string]Part{
		"parts[0].native": {Type: PartText, Text: "x", Native: json.RawMessage(`{}`)}, "parts[0].type": {Type: PartToolCall, ID: "1", Name: "x"},
		"parts[0].toolCallId": {Type: PartText, Text: "x", ToolCallID: "1"}, "parts": {Type: PartText},
	} {
		var coded *Error
		if err := CheckUserParts("parts", []Part{p}); !errors.As(err, &coded) || len(coded.Fields) != 1 || coded.Fields[0].Location != field {
			t.Errorf("%+v is refused by %v, want one that names %s", p, err, field)
		}
	}
	if err := CheckUserParts("parts", []Part{Compaction("x")}); !IsCode(err, InvalidArgument) {
		t.Errorf("a client's compaction is accepted: %v", err)
	}
	if err := CheckUserParts("parts", []Part{Text("x")}); err != nil {
		t.Error(err)
	}
	if err := CheckUserParts("parts", nil); err != nil {
		t.Error(err)
	}
}
