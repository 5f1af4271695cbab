package react

import (
	"encoding/json"

	"github.com/perdure/perdure/tool"
)

// limitKey is where the input of a task of bash holds the network that the
// definition allows, whichever worker runs it. It is no argument of the tool.
const limitKey = "$net"

// commandTool is the tool whose commands a definition's network limits.
const commandTool = "bash"

// limited adds the definition's network to the arguments of bash. What a model
// wrote there is replaced. Arguments that are no object are refused later anyway.
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

// limitOf takes the network out of the input of a task. Without one there is no
// limit but the worker's; one that is not text allows nothing.
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
