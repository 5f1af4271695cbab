package durable_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestACachedRangeOfAPrunedLogIsGivenUp checks reads of a log that was pruned. A read with an ETag
// from before the prune no longer gets 304, and a read from an offset in the pruned part gets 410.
func TestACachedRangeOfAPrunedLogIsGivenUp(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	r.Say(userText("hi"))
	whole := h.Call("GET", durable(x.ID, ""), "").Want(200, nil)
	r.Complete()
	all := h.Call("GET", durable(x.ID, ""), "").Want(200, nil)
	h.Call("GET", durable(x.ID, ""), "", "If-None-Match", all.Header.Get("ETag")).Want(304, nil)
	h.Call("PUT", "/retention", `{"logs":"1ms"}`, "Authorization", "Bearer "+h.AdminKey).Want(200, nil)
	h.Call("POST", "/agent-executions/prune", `{}`, "Authorization", "Bearer "+h.AdminKey).Want(200, nil)
	for _, held := range []reply{whole, all} {
		left := h.Call("GET", durable(x.ID, ""), "", "If-None-Match", held.Header.Get("ETag")).Want(200, nil)
		if strings.Contains(string(left.Body), "agent.created") || !strings.Contains(string(left.Body), "agent.completed") {
			t.Errorf("of the pruned log is left %s", left.Body)
		}
	}
	h.Call("GET", durable(x.ID, "?offset="+fmt.Sprintf("%020d", 2)), "", "If-None-Match", all.Header.Get("ETag")).Want(410, nil)
}
