package openaiapi_test

// withoutExceptions returns a value without the two members of a response's object
// in which the published shape has less than a create may ask for: it has null in the
// place of the schema of text.format, which OpenAI repeats and its clients read, and
// allowed tools of type function only.
func withoutExceptions(v any) any {
	object, isObject := v.(map[string]any)
	if !isObject {
		return v
	}
	if response, ok := object["response"].(map[string]any); ok {
		withoutExceptions(response)
	}
	if text, ok := object["text"].(map[string]any); ok {
		if format, ok := text["format"].(map[string]any); ok && format["schema"] != nil {
			format["schema"] = nil
		}
	}
	if choice, ok := object["tool_choice"].(map[string]any); ok && choice["type"] == "allowed_tools" {
		tools, _ := choice["tools"].([]any)
		for _, t := range tools {
			if tool, ok := t.(map[string]any); ok && tool["type"] == "mcp" && tool["server_label"] == "perdure" {
				tool["type"], tool["name"] = "function", "f"
			}
		}
	}
	return v
}
