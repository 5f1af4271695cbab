package openai_test

// withoutExceptions replaces two members of a response object for which OpenAI's published schema
// is too strict: it requires that the schema in text.format is null, and that allowed tools have
// the type function.
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
