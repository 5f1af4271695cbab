package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3/responses"
)

// withoutMCP replaces calls of tools that workers run, and approval requests, by function calls,
// because the schema of Open Responses does not have these two kinds of items. It checks the
// replaced items against the types of the official Go client.
func withoutMCP(t *testing.T, v any) any {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withoutMCP(t, v[i])
		}
	case map[string]any:
		if v["type"] == "mcp_call" {
			checkMCPItem(t, v)
			return map[string]any{"type": "function_call", "id": v["id"], "call_id": "c", "name": v["name"], "arguments": v["arguments"], "status": "completed"}
		}
		if v["type"] == "mcp_approval_request" {
			checkApprovalItem(t, v)
			return map[string]any{"type": "function_call", "id": v["id"], "call_id": "c", "name": v["name"], "arguments": v["arguments"], "status": "completed"}
		}
		for name := range v {
			v[name] = withoutMCP(t, v[name])
		}
	}
	return v
}

func checkMCPItem(t *testing.T, v map[string]any) {
	t.Helper()
	var call responses.ResponseOutputItemMcpCall
	raw := official(t, v, &call)
	for name, there := range map[string]bool{
		"id": strings.HasPrefix(call.ID, "mcp_"), "arguments": call.JSON.Arguments.Valid(), "name": call.Name != "",
		"server_label": call.ServerLabel == "perdure", "error": !call.JSON.Error.Valid() || call.Error.Type == "mcp_tool_execution_error",
		"approval_request_id": call.JSON.ApprovalRequestID.Raw() == "null" || strings.HasPrefix(call.ApprovalRequestID, "mcpr_"), "nothing else": len(call.JSON.ExtraFields) == 0,
	} {
		if !there {
			t.Errorf("%s of %s is not what the official client reads", name, raw)
		}
	}
	ended := map[string]bool{"completed": call.JSON.Output.Valid(), "failed": call.JSON.Error.Valid(), "in_progress": true}
	if !ended[call.Status] || call.JSON.Output.Valid() && call.JSON.Error.Valid() {
		t.Errorf("%s is no call that is in progress, completed or failed", raw)
	}
}

// checkApprovalItem checks the members of an approval request.
func checkApprovalItem(t *testing.T, v map[string]any) {
	t.Helper()
	var asked responses.ResponseOutputItemMcpApprovalRequest
	raw := official(t, v, &asked)
	if !strings.HasPrefix(asked.ID, "mcpr_") || asked.Name == "" || !json.Valid([]byte(asked.Arguments)) || asked.ServerLabel != "perdure" || len(asked.JSON.ExtraFields) > 0 {
		t.Errorf("%s is not what the official client reads", raw)
	}
}

// checkMCPEvent checks an event about a call of a tool that a worker runs.
func checkMCPEvent(t *testing.T, raw []byte) {
	t.Helper()
	var e responses.ResponseStreamEventUnion
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	var extra, required int
	switch e := e.AsAny().(type) {
	case responses.ResponseMcpCallInProgressEvent:
		extra, required = len(e.JSON.ExtraFields), valid(e.JSON.ItemID, e.JSON.OutputIndex)
	case responses.ResponseMcpCallCompletedEvent:
		extra, required = len(e.JSON.ExtraFields), valid(e.JSON.ItemID, e.JSON.OutputIndex)
	case responses.ResponseMcpCallFailedEvent:
		extra, required = len(e.JSON.ExtraFields), valid(e.JSON.ItemID, e.JSON.OutputIndex)
	case responses.ResponseMcpCallArgumentsDeltaEvent:
		extra, required = len(e.JSON.ExtraFields), valid(e.JSON.ItemID, e.JSON.OutputIndex, e.JSON.Delta)-1
	case responses.ResponseMcpCallArgumentsDoneEvent:
		extra, required = len(e.JSON.ExtraFields), valid(e.JSON.ItemID, e.JSON.OutputIndex, e.JSON.Arguments)-1
	default:
		t.Errorf("%s is no event that the official client knows", raw)
		return
	}
	if extra != 0 || required != 2 {
		t.Errorf("%s is not what the official client reads", raw)
	}
}

func valid(fields ...interface{ Valid() bool }) (n int) {
	for _, f := range fields {
		if f.Valid() {
			n++
		}
	}
	return n
}

func official(t *testing.T, v any, into any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
