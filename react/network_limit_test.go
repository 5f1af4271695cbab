package react_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
)

// TestNetworkOfADefinitionHoldsForItsCommands checks that bash commands have no network if the
// definition has the network limit none, even if the model writes another limit into its call.
// Without a limit, the commands can connect.
func TestNetworkOfADefinitionHoldsForItsCommands(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	command := fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%s && echo con''nected", port)
	for _, limit := range []string{"", "none"} {
		s := emptyWorkerPool(t, fmt.Sprintf(`
turn
  text Let me look.
  call bash {"command": "%[1]s"}
  call bash {"command": "%[1]s", "$net": "open"}
turn
  text Done.
`, command))
		s.work(100)
		x, err := s.engine.Start(t.Context(), "default", engine.StartRequest{
			UserPrompt: "go", Config: perdure.AgentConfig{Net: limit},
			Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "s"}}, Tools: &[]string{"bash"},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.idle(x.ID, 0)
		all := strings.Join(s.conversation(x.ID), "\n")
		if got := strings.Count(all, "connected\n"); limit == "" && got != 2 || limit != "" && got != 0 || !strings.Contains(all, "Done.") {
			t.Errorf("limit %q: %s", limit, all)
		}
	}
}
