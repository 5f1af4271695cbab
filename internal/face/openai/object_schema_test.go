package openai_test

// withoutExceptions replaces the two members of a response object for which the published shape
// allows less than a create request. In the published shape, the schema of text.format must be null,
// although OpenAI repeats it and its clients read it. Allowed tools must have type function.
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
