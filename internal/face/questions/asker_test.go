package questions_test

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure"
)

// TestAskersAreThoseOfTheResponse checks who may not answer a question that has notAsker set: the
// key that started the run, and the keys whose signals belong to the response that asks the
// question. In the test, signals begin a response, join a running response, or arrive shortly
// before a response ends. The senders of signals of other responses may answer.
func TestAskersAreThoseOfTheResponse(t *testing.T) {
	each(t, func(h *testServer) {
		keys := map[string]string{"starter": h.ClientKey}
		for _, name := range []string{"ann", "ben", "cid", "dan"} {
			keys[name], _ = h.newKey(name, perdure.KeyClient)
		}
		run := h.start("x")
		send := func(name string) {
			h.as(keys[name], "POST", "/agent-executions/"+run.ID.String()+"/signal", `{"signalName":"userMessage","signalValue":{"text":"go on"},"signalId":"`+name+`"}`).Want(200, nil)
		}
		rest := func() {
			wait := perdure.WaitSignal("userMessage")
			run.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait}})
		}
		ask := func(key string) { run.ask(key, func(n *perdure.NewQuestion) { n.NotAsker = true }) }
		ask("of the start")
		rest()
		send("ann")
		run = asker{h.Claim(), h}
		run.Commit(perdure.Commit{Take: []string{"ann"}})
		ask("of ann")
		send("ben")
		run.Commit(perdure.Commit{Take: []string{"ben"}})
		ask("of ann and ben")
		send("cid")
		rest() // the pending message ends the wait at once, and the claim continues
		run.Commit(perdure.Commit{Take: []string{"cid"}})
		ask("of cid")
		for name, want := range map[string]string{
			"starter": "[]",
			"ann":     "[of cid of the start]",
			"ben":     "[of cid of ann of the start]",
			"cid":     "[of ann and ben of ann of the start]",
			"dan":     "[of cid of ann and ben of ann of the start]",
		} {
			if got := fmt.Sprint(keysOf(h.list(keys[name], "?mine=true"))); got != want {
				h.T.Errorf("%s may answer %s, want %s", name, got, want)
			}
			id := perdure.QuestionID(run.ID, "of cid")
			r := h.as(keys[name], "POST", "/questions/"+id.String()+"/answer", `{"verdict":"approve"}`) // without the hash of the details
			if want := map[bool]int{true: 403, false: 400}[name == "starter" || name == "cid"]; r.Status != want {
				h.T.Errorf("the vote of %s gets %d, want %d", name, r.Status, want)
			}
		}
	})
}
