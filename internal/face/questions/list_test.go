package questions_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestListsOfQuestions checks that lists show questions newest first, with filters and in pages,
// and that each list has the number of open questions.
func TestListsOfQuestions(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		one, two := h.start("The first."), h.start("The second.")
		first := one.ask("a")
		one.ask("b", func(n *perdure.NewQuestion) { n.Kind = "other" })
		two.ask("c", func(n *perdure.NewQuestion) { n.Subject = "delete" })
		h.vote(h.approver, first, `"verdict":"deny"`).Want(200, nil)
		for query, want := range map[string]string{
			"":                                      "[c b a]",
			"?status=open":                          "[c b]",
			"?status=answered":                      "[a]",
			"?status=open,answered&status=expired":  "[c b a]",
			"?status=withdrawn":                     "[]",
			"?kind=other":                           "[b]",
			"?subject=delete":                       "[c]",
			"?agentExecutionId=" + two.ID.String():  "[c]",
			"?agentExecutionId=" + uuid.NewString(): "[]",
			"?mine=true&kind=plan":                  "[c]",
		} {
			l := h.list(h.approver, query)
			if got := fmt.Sprint(keysOf(l)); got != want || l.Open != 2 || l.OpenMore {
				t.Errorf("%s lists %s with %d open, want %s", query, got, l.Open, want)
			}
		}
		l := h.list(h.ClientKey, "?limit=2")
		if l.NextCursor == nil || len(l.Items) != 2 || l.Items[0].ExecutionTitle != "The second." || l.Items[1].ExecutionTitle != "The first." {
			t.Fatalf("a page is %+v", l)
		}
		if l = h.list(h.ClientKey, "?limit=2&cursor="+*l.NextCursor); fmt.Sprint(keysOf(l)) != "[a]" || l.NextCursor != nil {
			t.Errorf("the next page is %+v", l)
		}
		for query, field := range map[string]string{
			"?rootExecutionId=" + one.ID.String(): "rootExecutionId",
			"?status=closed":                      "status",
			"?mine=true&status=answered":          "mine",
			"?state=open":                         "state",
		} {
			wantField(t, h.as(h.approver, "GET", "/questions"+query, ""), field)
		}
		wantField(t, h.as(h.approver, "GET", "/questions/stream?kind=plan", ""), "kind")
	})
}

// call appends an assistant message with a tool call, and returns the entry's id.
func (a asker) call(id, arguments string) uuid.UUID {
	return a.Say(perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{
		StopReason: perdure.StopToolUse,
		Parts:      []perdure.Part{{Type: perdure.PartToolCall, ID: id, Name: "bash", RawArguments: arguments}},
	}}).ID
}

// about returns a function that makes a question ask for the approval of a tool call. The
// question's hash is that of the arguments `hashOf`.
func about(entry uuid.UUID, call, hashOf string) func(*perdure.NewQuestion) {
	return func(n *perdure.NewQuestion) {
		n.Kind, n.Subject, n.Details, n.EntryID, n.CallID = perdure.QuestionApproval, "bash", nil, &entry, call
		n.DetailsSHA256 = perdure.DetailsHash(n.Kind, n.Subject, []byte(hashOf))
	}
}

// TestDetailsOfAToolCall checks that the details of a question about a tool call are the call's
// arguments, byte by byte as the model wrote them. Large details are not in the question itself.
func TestDetailsOfAToolCall(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		const arguments = `{ "command" : "ls <>&",  "n": 9007199254740993 }`
		large := `{"command":"` + strings.Repeat("x", perdure.ShownLimit) + `"}`
		for i, text := range []string{arguments, "", large} {
			a := h.start("x")
			callID := fmt.Sprintf("call_%d", i)
			shown := text
			if shown == "" {
				shown = "{}"
			}
			entry := a.call(callID, text)
			id := a.ask(callID, about(entry, callID, shown))
			q := h.get(id)
			if text == large {
				if q.Details != nil || q.DetailsBytes != int64(len(large)) {
					t.Errorf("large details are shown: %d of %d bytes", len(q.Details), q.DetailsBytes)
				}
			} else if string(q.Details) != shown || q.DetailsBytes != 0 {
				t.Errorf("the details are %s, want %s", q.Details, shown)
			}
			r := h.as(h.approver, "GET", "/questions/"+id.String()+"/details", "").Want(200, nil)
			sum := sha256.Sum256([]byte(shown))
			if string(r.Body) != shown || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("ETag") != `"`+hex.EncodeToString(sum[:])+`"` {
				t.Errorf("the details are %d bytes with %v, want %d", len(r.Body), r.Header, len(shown))
			}
			var done perdure.Question
			h.vote(h.approver, id, `"verdict":"approve"`).Want(200, &done)
			if done.Status != perdure.QuestionAnswered {
				t.Errorf("the question is %+v", done)
			}
		}
		none := h.start("x").ask("none", func(n *perdure.NewQuestion) { n.Details = nil })
		h.as(h.approver, "GET", "/questions/"+none.String()+"/details", "").Want(404, nil)
	})
}

// TestAHashOfOtherBytesIsNotApproved checks that a question can only be denied, not approved, if
// its hash is not that of the details that people see.
func TestAHashOfOtherBytesIsNotApproved(t *testing.T) {
	each(t, func(h *testServer) {
		t := h.T
		a := h.start("x")
		entry := a.call("call_1", `{"command":"ls"}`)
		for name, id := range map[string]uuid.UUID{
			"other bytes":   a.ask("q1", about(entry, "call_1", `{"command":"rm -rf /"}`)),
			"no such call":  a.ask("q2", about(entry, "call_2", `{"command":"ls"}`)),
			"no such entry": a.ask("q3", about(uuid.New(), "call_1", `{"command":"ls"}`)),
		} {
			var p struct{ Code perdure.Code }
			h.vote(h.approver, id, `"verdict":"approve"`).Want(409, &p)
			if p.Code != perdure.DetailsChanged {
				t.Errorf("%s: %s", name, p.Code)
			}
			if q := h.get(id); q.Status != perdure.QuestionOpen {
				t.Errorf("%s: it is %s", name, q.Status)
			}
			h.vote(h.approver, id, `"verdict":"deny"`).Want(200, nil)
		}
	})
}

// TestManyOpenQuestions checks that lists count open questions only up to 1,000.
func TestManyOpenQuestions(t *testing.T) {
	h := open(t)
	for range 11 {
		a := h.start("x")
		var c perdure.Commit
		for i := range perdure.MaxOpenQuestions {
			n := perdure.NewQuestion{Key: fmt.Sprint(i)}
			n.Kind = "plan"
			n.DetailsSHA256 = perdure.DetailsHash(n.Kind, "", nil)
			c.Questions = append(c.Questions, n)
		}
		a.Commit(c)
	}
	if l := h.list(h.approver, "?limit=1"); l.Open != 1000 || !l.OpenMore {
		t.Errorf("%d open, more %v", l.Open, l.OpenMore)
	}
	if e := h.Follow("/questions/stream", "Authorization", "Bearer "+h.approver).Must(); len(e.Fields["items"].([]any)) != 200 || e.Fields["open"] != 1000.0 || e.Fields["openMore"] != true {
		t.Errorf("the stream begins with %d questions and %v", len(e.Fields["items"].([]any)), e.Fields["open"])
	}
}
