package openai

import (
	"encoding/json"
	"slices"
)

// includeReasoning requests the providers' signed blocks in reasoning items.
const includeReasoning = "reasoning.encrypted_content"

// included are the accepted values of include. All but the first have no effect: an input image is
// always shown with its URL, and the others belong to tools that do not exist here.
var included = []string{
	includeReasoning, "message.input_image.image_url", "file_search_call.results", "web_search_call.results",
	"web_search_call.action.sources", "code_interpreter_call.outputs", "computer_call_output.output.image_url",
}

func parseInclude(r *request, raw json.RawMessage) error {
	if err := decode(raw, "include", &r.Include, "an array of strings"); err != nil {
		return err
	}
	for _, value := range r.Include {
		if err := oneOf("include", value, included...); err != nil {
			return err
		}
	}
	slices.Sort(r.Include)
	r.Include = slices.Compact(r.Include)
	return nil
}

// wants reports whether the create requested a value by include.
func (r *request) wants(value string) bool { return slices.Contains(r.Include, value) }
