package react

import (
	"encoding/json"

	"github.com/perdure/perdure/tool"
)

// limitKey is the member of a bash task's input that contains the network limit of the agent's definition.
// Workers remove it before they run the tool, because it is not an argument of the tool.
const limitKey = "$net"

// commandTool is the name of the tool to which the network limit applies.
const commandTool = "bash"

// limited adds the network limit `net` to the arguments of a bash call, as the member limitKey. It
// overwrites a member of this name that the model has written. Arguments that are not an object are
// returned unchanged; the tool refuses them.
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

// limitOf splits the input of a task into the arguments and the network limit. If the input has no
// limit, the result `net` is "", and only the worker's own limit applies. A limit that is not a
// string denies all network access.
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
