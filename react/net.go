package react

import (
	"encoding/json"

	"github.com/perdure/perdure/tool"
)

// limitKey is the member of a bash task's input that holds the network limit of the definition, for
// every worker. It is not an argument of the tool.
const limitKey = "$net"

// commandTool is the tool whose commands the definition's network limit applies to.
const commandTool = "bash"

// limited adds the definition's network limit to the arguments of bash. It replaces a value that
// the model wrote. Arguments that are not an object are refused later.
func limited(name string, arguments json.RawMessage, net string) json.RawMessage {
	if name != commandTool || net == "" {
		return arguments
	}
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(arguments, &fields) != nil || fields == nil {
		return arguments
	}
	fields[limitKey] = json.RawMessage(`"` + net + `"`)
	with, err := json.Marshal(fields)
	if err != nil {
		return arguments
	}
	return with
}

// limitOf removes the network limit from a task's input and returns it. Without the member, only
// the worker's limit applies. A value that is not a string allows no network.
func limitOf(name string, input json.RawMessage) (arguments json.RawMessage, net tool.Net) {
	fields := map[string]json.RawMessage{}
	if name != commandTool || json.Unmarshal(input, &fields) != nil {
		return input, ""
	}
	raw, limited := fields[limitKey]
	if !limited {
		return input, ""
	}
	if json.Unmarshal(raw, &net) != nil || net == "" {
		net = tool.NetNone
	}
	delete(fields, limitKey)
	arguments, err := json.Marshal(fields)
	if err != nil {
		return input, tool.NetNone
	}
	return arguments, net
}
