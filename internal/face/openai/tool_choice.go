package openai

import (
	"encoding/json"
	"slices"

	"github.com/perdure/perdure"
)

// toolChoice is the parameter tool_choice: the tools that the model may or must call.
type toolChoice struct {
	mode, name string
	// allowed, if not nil, contains the only tools that the model may call.
	allowed []allowedTool
}

// allowedTool is an element of allowed_tools. The type "function" means a tool that the client
// runs. The type "mcp" means one tool that workers run, or all of them.
type allowedTool struct {
	Type   string `json:"type"`
	Name   string `json:"name,omitempty"`
	Server string `json:"server_label,omitempty"`
}

// mostAllowed is the maximum number of allowed_tools, as in OpenAI's API.
const mostAllowed = 128

func parseToolChoice(r *request, raw json.RawMessage) error {
	var mode string
	if json.Unmarshal(raw, &mode) == nil {
		r.ToolChoice, r.toolChoice = raw, toolChoice{mode: mode}
		return oneOf("tool_choice", mode, perdure.ToolChoiceNone, perdure.ToolChoiceAuto, perdure.ToolChoiceRequired)
	}
	var one struct {
		Type  string        `json:"type"`
		Name  string        `json:"name"`
		Mode  string        `json:"mode"`
		Tools []allowedTool `json:"tools"`
	}
	if err := decode(raw, "tool_choice", &one, "a string or an object"); err != nil {
		return err
	}
	switch {
	case one.Type == "allowed_tools":
		return r.allow(one.Mode, one.Tools)
	case one.Type != "function" || one.Name == "":
		return unsupportedValue("tool_choice", `give none, auto, required, {"type": "function", "name": ...} or {"type": "allowed_tools", ...}.`)
	}
	r.ToolChoice, r.toolChoice = raw, toolChoice{mode: perdure.ToolChoiceTool, name: one.Name}
	return nil
}

// allow sets the tools that are allowed. If the parameter `mode` is "", the mode is
// perdure.ToolChoiceAuto.
func (r *request) allow(mode string, tools []allowedTool) error {
	if mode == "" {
		mode = perdure.ToolChoiceAuto
	}
	if err := oneOf("tool_choice.mode", mode, perdure.ToolChoiceAuto, perdure.ToolChoiceRequired); err != nil {
		return err
	}
	if len(tools) == 0 || len(tools) > mostAllowed {
		return invalid("tool_choice.tools", "invalid_value", "Invalid 'tool_choice.tools': must have 1 to %d tools.", mostAllowed)
	}
	for _, t := range tools {
		switch {
		case t.Type == "function" && t.Name != "" && t.Server == "", t.Type == "mcp" && t.Server == serverLabel:
		default:
			return unsupportedValue("tool_choice.tools", `give {"type": "function", "name": ...}, or {"type": "mcp", "server_label": "%s", "name": ...} for tools that run here.`, serverLabel)
		}
	}
	raw, err := json.Marshal(struct {
		Type  string        `json:"type"`
		Mode  string        `json:"mode"`
		Tools []allowedTool `json:"tools"`
	}{"allowed_tools", mode, tools})
	r.ToolChoice, r.toolChoice = raw, toolChoice{mode: mode, allowed: tools}
	return err
}

// checkChoice checks that the request has each function that its tool choice names.
func (r *request) checkChoice() error {
	names := []string{r.toolChoice.name}
	for _, t := range r.toolChoice.allowed {
		if t.Type == "function" {
			names = append(names, t.Name)
		}
	}
	for _, name := range names {
		if name != "" && !slices.ContainsFunc(r.Tools, func(t functionTool) bool { return t.Name == name }) {
			return notOffered(name)
		}
	}
	return nil
}

func notOffered(name string) *Error {
	return invalid("tool_choice", "invalid_value", "Tool choice '%s' not found in 'tools' parameter.", name)
}

// narrow removes from the agent's settings the tools that the tool choice does not allow. It also
// checks the names of tools that workers run; the names can be checked only when the agent is
// known.
func (c toolChoice) narrow(settings *perdure.ReactInput, agent string) error {
	if c.allowed != nil {
		for _, t := range c.allowed {
			if t.Type == "mcp" && t.Name != "" && !slices.Contains(settings.Tools, t.Name) {
				return invalid("tool_choice", "invalid_value", "Tool choice '%s' is no tool that the agent '%s' runs here.", t.Name, agent)
			}
		}
		settings.Tools = slices.DeleteFunc(slices.Clone(settings.Tools), func(name string) bool { return !c.allows("mcp", name) })
		settings.ClientTools = slices.DeleteFunc(settings.ClientTools, func(t perdure.ClientTool) bool { return !c.allows("function", t.Name) })
	}
	if c.mode == perdure.ToolChoiceRequired && len(settings.Tools)+len(settings.ClientTools) == 0 {
		return invalid("tool_choice", "invalid_value", "Invalid 'tool_choice': 'required' needs a tool, and there is none.")
	}
	return nil
}

// isClients reports whether the tool with the name is run by the client.
func (r *request) isClients(name string) bool {
	return slices.ContainsFunc(r.Tools, func(t functionTool) bool { return t.Name == name }) &&
		(r.toolChoice.allowed == nil || r.toolChoice.allows("function", name))
}

func (c toolChoice) allows(kind, name string) bool {
	return slices.ContainsFunc(c.allowed, func(t allowedTool) bool {
		return t.Type == kind && (t.Name == name || t.Name == "")
	})
}
