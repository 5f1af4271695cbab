package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestOfficialNodeClientsOverAWebSocket checks that the WebSocket classes of the official npm clients,
// without changes, create, stream, chain, call their own tools and resume after a cut connection.
func TestOfficialNodeClientsOverAWebSocket(t *testing.T) {
	t.Parallel()
	s := newResponseDeployment(t)
	cmd := exec.CommandContext(within(t), nodeOfClients(t), "sockets.mjs")
	cmd.Dir = "clients"
	cmd.Env = environment(s.root, "OPENAI_BASE_URL="+s.url+"/v1", "OPENAI_API_KEY="+s.token(filepath.Join(s.root, "data")))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
