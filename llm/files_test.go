package llm_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

// mediaSent says, for each provider, what a request contains for each part of llmtest.Media. An
// element is a substring of the request. The element "named" stands for a text with the part's
// name, in place of a part that the provider does not accept.
var mediaSent = map[string][]string{
	"anthropic": {
		`"type":"base64"`, `"type":"base64"`, `{"url":"https://example.com/a.png?b=c#d","type":"url"}`, `{"url":"http://example.com/picture","type":"url"}`,
		`"title":"a \"b\".pdf"`, `"media_type":"application/pdf"`, `{"data":"hello","media_type":"text/plain","type":"text"}`, "named", "named", "named",
		`{"url":"https://example.com/a.pdf","type":"url"}`, "named", `{"url":"https://example.com/download?id=7","type":"url"}`, "named",
	},
	"openai": {
		`data:image/png;base64,`, `"detail":"low"`, `{"url":"https://example.com/a.png?b=c#d","detail":"original"}`, `{"url":"http://example.com/picture"}`,
		`"filename":"a \"b\".pdf"`, `"filename":"file.pdf"`, "named", "named", "named", "named", "named", "named", "named", `{"file_id":"file-abc"}`,
	},
	"openai-responses": {
		`"detail":"auto"`, `"detail":"low"`, `"image_url":"https://example.com/a.png?b=c#d"`, `"image_url":"http://example.com/picture"`,
		`"filename":"a \"b\".pdf"`, `"filename":"file.pdf"`, `"file_data":"data:text/plain;base64,aGVsbG8="`, `data:text/plain;base64,IAo=`, `data:text/csv;base64,`,
		`"filename":"a.zip"`, `"file_url":"https://example.com/a.pdf"`, `"file_url":"https://example.com/a.docx"`, `"file_url":"https://example.com/download?id=7"`, `"file_id":"file-abc"`,
	},
	"gemini": {
		`"inlineData":{"mimeType":"image/png","data":"iVBOR`, `"inlineData":{"mimeType":"image/png","data":"iVBOR`, `"fileData":{"mimeType":"image/png","fileUri":"https://example.com/a.png?b=c#d"}`, `"fileData":{"fileUri":"http://example.com/picture"}`,
		`"mimeType":"application/pdf"`, `"mimeType":"application/pdf"`, `"mimeType":"text/plain"`, `"mimeType":"text/plain"`, `"mimeType":"text/csv"`, "named",
		`{"mimeType":"application/pdf","fileUri":"https://example.com/a.pdf"}`, "named", `"fileUri":"https://example.com/download?id=7"`, "named",
	},
}

func TestImagesByURLAndFilesGoWhereTheyAreTaken(t *testing.T) {
	for _, r := range remotes {
		p, server := r.Serve(t, llmtest.Answer{Text: []string{"ok"}, Usage: perdure.Usage{Output: 1}})
		for i, part := range llmtest.Media {
			want := mediaSent[p.Name()][i]
			for where, path := range map[string][]perdure.Message{
				"the user": {message(perdure.RoleUser, []perdure.Part{part})},
				"a result": {text(perdure.RoleUser, "U"), madeBy("p", "M", "f"), llmtest.Result("c_M", "f", part)},
			} {
				before := len(server.Requests())
				llmtest.Ask(t, p, llm.Request{Model: r.Model, Messages: path})
				raw := compact(t, server.Requests()[before].Raw)
				named := strings.Contains(raw, "stood here, which this model's provider does not take")
				if named != (want == "named") || !named && !strings.Contains(raw, want) {
					if where == "a result" && (want == `"detail":"auto"`) {
						continue // a result's image has no detail unless it was set
					}
					t.Errorf("%s: part %d of %s: want %s in\n%s", p.Name(), i, where, want, raw)
				}
				if named && !slices.ContainsFunc([]string{part.URL, part.Filename, part.FileID, part.MimeType}, func(s string) bool { return s != "" && strings.Contains(raw, s) }) {
					t.Errorf("%s: part %d of %s is not named: %s", p.Name(), i, where, raw)
				}
			}
		}
	}
}

// compact removes white space from JSON and keeps the order of members.
func compact(t *testing.T, raw []byte) string {
	t.Helper()
	var v json.RawMessage
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(`\u0026`, "&").Replace(string(v))
}
