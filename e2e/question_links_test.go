package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

var hiddenField = regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`)

// votes returns how many votes on a question the log of the run contains.
func (s *deployment) votes(id, question uuid.UUID) (n int) {
	s.t.Helper()
	for _, e := range s.events(id) {
		if (e.Type == perdure.EventQuestionVoted || e.Type == perdure.EventQuestionAnswered) && strings.Contains(string(e.Data), question.String()) {
			n++
		}
	}
	return n
}

// postUnread sends a form over a new connection, and does not read the response.
func (s *deployment) postUnread(address string, form url.Values) {
	s.t.Helper()
	at, err := url.Parse(address)
	if err != nil {
		s.t.Fatal(err)
	}
	conn, err := net.Dial("tcp", at.Host) //nolint:noctx // a test
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	body := form.Encode()
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", at.Path, at.Host, len(body), body)
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestAVoteByLinkOutlivesAKill votes on a question through a link. It kills the server after the
// vote is stored and before the test reads the response, and sends the same form to the next
// server. It checks that there is one vote and that the page says that the vote was recorded. The
// question needs one vote in the first case, and two in the second.
func TestAVoteByLinkOutlivesAKill(t *testing.T) {
	for needed, says := range map[int]string{1: "Approved by ann", 2: "Your vote counts: Approved. 1 of 2"} {
		t.Run(fmt.Sprint(needed), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "s"), []byte(guarded), 0o600); err != nil {
				t.Fatal(err)
			}
			s := newDeployment(t, setup{env: []string{"PERDURE_SCRIPTS=" + dir}})
			key, err := s.CreateKey(t.Context(), "ann", perdure.KeyApprover)
			if err != nil {
				t.Fatal(err)
			}
			tools := []string{"bash"}
			id := s.start(client.StartRequest{
				UserPrompt: "begin", Tools: &tools, Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "s"}},
				Approvals: perdure.ApprovalPolicy{{Tools: []string{"bash"}, Then: perdure.ApprovalAsk, Needed: needed}},
			})
			q := s.asked(id, true)
			link, err := s.CreateQuestionLink(t.Context(), q.ID, key.ID, 0)
			if err != nil {
				t.Fatal(err)
			}
			page := readPage(t, func() (*http.Response, error) { return http.Get(link.URL) }) //nolint:noctx // a test
			form := url.Values{"verdict": {"approve"}}
			for _, field := range hiddenField.FindAllStringSubmatch(page, -1) {
				form.Set(field[1], field[2])
			}
			s.postUnread(link.URL, form)
			eventually(t, "the vote to be stored", func() bool { return s.votes(id, q.ID) == 1 })
			s.restart(&s.server)
			s.connect(filepath.Join(s.root, "data", "token"))
			page = readPage(t, func() (*http.Response, error) { return http.PostForm(link.URL, form) }) //nolint:noctx // a test
			if !strings.Contains(page, says) {
				t.Errorf("the page of the repeated form says\n%s", page)
			}
			if n := s.votes(id, q.ID); n != 1 {
				t.Errorf("there are %d votes", n)
			}
		})
	}
}

// readPage returns the body of a page with the status 200.
func readPage(t *testing.T, get func() (*http.Response, error)) string {
	t.Helper()
	res, err := get()
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v\n%s", res.Status, err, body)
	}
	return string(body)
}
