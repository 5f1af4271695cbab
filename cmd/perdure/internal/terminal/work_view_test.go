package terminal

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestWaitsAreToldInWords checks the text of each kind of wait.
func TestWaitsAreToldInWords(t *testing.T) {
	task := &perdure.Task{ID: uuid.New(), Kind: "mail\x1b[2J"}
	at := perdure.At(time.Date(2026, 11, 27, 12, 30, 0, 0, time.Local))
	question := &perdure.Question{ID: uuid.New(), QuestionTerms: perdure.QuestionTerms{Subject: "card", Prompt: "What\nto say?\x1b[2J"}}
	met := perdure.Wait{Signal: "paid", Met: true}
	signal, timer, unknown := perdure.WaitSignal("paid"), perdure.Wait{Timer: &at}, uuid.New()
	for want, w := range map[string]perdure.Wait{
		"the signal paid":                                     signal,
		"the signal paid or 2026-11-27 12:30":                 {Any: []perdure.Wait{signal, timer}},
		"an answer or (the signal paid and 2026-11-27 12:30)": {Any: []perdure.Wait{perdure.WaitQuestion(unknown), {All: []perdure.Wait{signal, timer}}}},
		`the task mail\u001b[2J`:                              perdure.WaitTask(task.ID),
		`an answer to card: What to say?\u001b[2J`:            perdure.WaitQuestion(question.ID),
		"the signal paid (met) and an answer":                 {All: []perdure.Wait{met, perdure.WaitQuestion(unknown)}},
		"a task":                                              perdure.WaitTask(unknown),
		"60 s":                                                {After: time.Minute},
		"something that this program does not know":           {},
	} {
		if got := namesOf([]*perdure.Task{task}, []*perdure.Question{question}).wait(w); got != want {
			t.Errorf("%+v is %q, want %q", w, got, want)
		}
	}
}
