package main

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/worker"
)

// parcelOrder is an input with a schema.
type parcelOrder struct {
	Article string `json:"article"`
	Speed   string `json:"speed,omitempty" jsonschema:"enum=fast,enum=slow"`
}

// TestErrorsShowTheFieldsOfASchema checks the errors of perdure start, signal and answer for a
// value that is missing, is no JSON or does not fit the schema. Each error must show the fields of
// the schema and an example that the command accepts.
func TestErrorsShowTheFieldsOfASchema(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	serveDev(t, dir)
	sent := agent.DefineSignal[parcelOrder]("sent").Describe("the parcel has left")
	serveKinds(t, dir, func(w *worker.Worker) {
		w.RegisterAgent(agent.DefineFunc("parcel", func(ctx agent.Context, _ parcelOrder) (string, error) {
			order, err := agent.AskFor[parcelOrder](ctx, "what", "What to send?")
			if err != nil {
				return "", err
			}
			parcel, err := sent.Wait(ctx, 0)
			return order.Article + parcel.Article, err
		}).Signals(sent))
	})
	fields := []string{"article  string, required\n", `speed    string, one of "fast", "slow"`}
	const value = `'{"article":"text"}'`
	refused := func(wants []string, args ...string) {
		t.Helper()
		launch(t, dir, args...).wantEnd(setup.ExitUsage, wants...)
	}
	example := append(fields, "example: perdure start parcel "+value)
	launch(t, dir, "start", "parcel", `{"article":"text"}`, "--detach").wantEnd(0) // succeeds once the worker has registered
	refused([]string{"KIND is missing", "the registered kinds are:\n    parcel\n    react-agent     the built-in agent; perdure run \"...\" starts it\n", "example: perdure start parcel " + value}, "start")
	refused([]string{"did you mean parcel?", "the registered kinds are:\n    parcel\n    react-agent "}, "start", "parcl", "1")
	refused(append(example, "the input of parcel is missing"), "start", "parcel")
	refused(append(example, "the value is no JSON: {x (invalid character"), "start", "parcel", "{x")
	refused(append(example, "the input does not fit parcel: missing property 'article'"), "start", "parcel", `{"speed":"slow"}`)

	run := strings.TrimSpace(outputOf(t, dir, "start", "parcel", `{"article":"text"}`, "--detach"))
	signal := append(fields, "example: perdure signal "+run+" sent "+value)
	refused(append(signal, "NAME is missing", "sent            the parcel has left\n"), "signal", run)
	refused(append(signal, "the value is no JSON"), "signal", run, "sent", "x")
	refused(append(signal, "the value does not fit the signal sent: "), "signal", run, "sent")
	launch(t, dir, "signal", run, "sendt", "1").wantEnd(0, "parcel registers no signal sendt", "did you mean sent?")
	launch(t, dir, "signal", run, "else", "1").wantEnd(0, "parcel registers no signal else", "the signals of parcel are:")

	id := perdure.QuestionID(uuid.MustParse(run), "what").String()
	follows := launch(t, dir, "tail", run)
	follows.until("question " + id)
	answer := append(fields, "example: perdure answer "+id+" "+value, "refuse it: perdure answer "+id+" deny")
	refused(append(answer, "the answer is missing", "What to send?"), "answer", id)
	refused(append(answer, "the answer is no JSON: x"), "answer", id, "x")
	refused(append(answer, "missing property 'article'"), "answer", id, `{"speed":"slow"}`)
	launch(t, dir, "answer", id, `{"article":"text"}`).wantEnd(0)
	refused([]string{"is decided: answered"}, "answer", id)
	launch(t, dir, "signal", run, "sent", `{"article":"text"}`).wantEnd(0)
	follows.wantEnd(0, `output: "texttext"`)
	launch(t, dir, "signal", run).wantEnd(1, "takes no more signals")
}
