package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// responseScripts are the models' scripts of these tests.
var responseScripts = map[string]string{
	"chain": "turn\n thinking Let me see.\n text First answer.\nturn\n text Second answer.\nturn\n text Third answer.\n",
	"tools": "turn\n text I will ask.\n call get_weather {\"city\": \"Paris\"}\n call get_weather {\"city\": \"Rome\"}\n" +
		"turn\n expect sunny\n text It is sunny.\n",
	"json":     "turn\n text {\"n\": 7}\n",
	"cut":      "turn\n text I have to st\n stop max_tokens\n",
	"fails":    "turn\n text I beg\n fail auth no such key\n",
	"compacts": "summary\n text The user is Ada.\nturn\n text Hello Ada." + strings.Repeat(" Welcome.", 100) + "\nturn\n expect Who am I\n text You are Ada.\n",
	"approves": "turn\n call bash {\"command\": \"echo one\"}\nturn\n expect one\n call bash {\"command\": \"echo two\"}\n" +
		"turn\n expect denied\n text Done.\n",
	"slow": "pace 150ms\nturn\n text One two three four five six seven eight nine ten.\n",
}

// newResponseDeployment starts a deployment whose worker plays the scripts.
func newResponseDeployment(t *testing.T) *deployment {
	t.Helper()
	s := newDeployment(t, setup{})
	for name, script := range responseScripts {
		if err := os.WriteFile(filepath.Join(s.root, name), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the worker has registered", func() bool {
		return s.node("model", "scripted/chain") == nil
	})
	return s
}

// node runs the official npm client.
func (s *deployment) node(args ...string) error {
	s.t.Helper()
	cmd := exec.CommandContext(within(s.t), nodeOfClients(s.t), append([]string{"responses.mjs"}, args...)...)
	cmd.Dir = "clients"
	cmd.Env = environment(s.root, "OPENAI_BASE_URL="+s.url+"/v1", "OPENAI_API_KEY="+s.token(filepath.Join(s.root, "data")))
	out, err := cmd.CombinedOutput()
	if err != nil && args[0] != "model" {
		s.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return err
}

// TestOfficialNodeClient runs the cases of clients/responses.mjs with the official npm client:
// creation, chains and branches, streams, client-side tools, approvals, structured output, an image, an
// answer cut by its token limit, a failure, cancellation and deletion, errors, and models. For a
// completed, a failed and a cancelled response, the client reads the stream once after each event.
// Each time it must get exactly the later events.
func TestOfficialNodeClient(t *testing.T) {
	t.Parallel()
	newResponseDeployment(t).node("suite")
}

// TestStreamsAreReadOnAfterTheServerWasKilled checks that a client can resume a stream after a
// restart of the server. The client reads seven events and disconnects, and the server restarts. The
// events that the client then receives must be exactly the rest of the stream.
func TestStreamsAreReadOnAfterTheServerWasKilled(t *testing.T) {
	t.Parallel()
	s := newResponseDeployment(t)
	file := filepath.Join(s.root, "events.json")
	s.node("begin", file, "7")
	s.restart(&s.server)
	s.connect(filepath.Join(s.root, "data", "token"))
	s.node("end", file, "exactly")
}

// TestBackgroundResponsesSurviveSIGKILL checks that a background response completes after its
// worker is killed and the server restarts. The events from before and after the restart together
// have the sequence numbers and types of a whole stream. Their texts may differ, because a model
// call may be repeated.
func TestBackgroundResponsesSurviveSIGKILL(t *testing.T) {
	t.Parallel()
	s := newResponseDeployment(t)
	file := filepath.Join(s.root, "events.json")
	s.node("begin", file, "7")
	s.worker.kill()
	s.restart(&s.server)
	s.connect(filepath.Join(s.root, "data", "token"))
	s.worker = launch(t, s.worker.command)
	s.node("end", file, "numbered")
}
