package openai

import (
	"encoding/json"
	"slices"
)

// includeReasoning is the value of the parameter `include` that requests the model provider's
// signed blocks in reasoning items.
const includeReasoning = "reasoning.encrypted_content"

// included contains the accepted values of the parameter include. Only the first one has an effect:
// the URL of an input image is always shown, and the other values are for tools that Perdure does
// not have.
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

// wants reports whether the parameter include of the create request contains the value.
func (r *request) wants(value string) bool { return slices.Contains(r.Include, value) }
