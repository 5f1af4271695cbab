package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
)

// putUnchecked lets the LOCAL execution ask a question, without the checks that a worker makes. It
// returns the stored question.
func (k *keeper) putUnchecked(n perdure.NewQuestion) *perdure.Question {
	k.Helper()
	n.DetailsSHA256 = perdure.DetailsHash(n.Kind, n.Subject, n.Details)
	asked, content := n.Withhold()
	k.put(content)
	k.commit(func(c *perdure.Commit) { c.Questions = []perdure.NewQuestion{asked} })
	return k.stored(perdure.QuestionID(k.id, n.Key))
}

// TestContentsThatAWorkerHasNotCheckedAreNotShown checks questions of a LOCAL execution with a
// content that a server would refuse for a REMOTE execution. Such a content is not shown, and the
// question cannot be approved.
func TestContentsThatAWorkerHasNotCheckedAreNotShown(t *testing.T) {
	k := newKeeper(t)
	k.serve()
	for name, n := range map[string]perdure.NewQuestion{
		"no JSON":       {Details: json.RawMessage(`{`)},
		"no text":       {QuestionTerms: perdure.QuestionTerms{Prompt: "a\x00b"}},
		"a long prompt": {QuestionTerms: perdure.QuestionTerms{Prompt: string(bytes.Repeat([]byte("x"), perdure.MaxQuestionPrompt+1))}},
		"no default":    {QuestionTerms: perdure.QuestionTerms{Default: json.RawMessage(`]`)}},
	} {
		n.Key, n.Kind = name, "plan"
		q := k.putUnchecked(n)
		_, err := k.e.Answer(t.Context(), org, questions.AnswerRequest{Question: q.ID, Verdict: perdure.VerdictApprove, DetailsSHA256: &q.DetailsSHA256, Role: perdure.KeyAdmin})
		if !perdure.IsCode(err, perdure.Unavailable) {
			t.Errorf("%s: it is approved: %v", name, err)
		}
		k.must(k.e.Questions.Show(t.Context(), org, q))
		if _, err := json.Marshal(q); err != nil || !q.OnWorker() || q.Prompt != "" || q.Details != nil {
			t.Errorf("%s: it is shown as %+v, %v", name, q, err)
		}
	}
}

// TestContentsOfAPageAreBounded checks that the contents that are loaded for one page of questions
// have a total limit, even if all questions belong to one execution.
func TestContentsOfAPageAreBounded(t *testing.T) {
	k := newKeeper(t)
	k.serve()
	const each = 30 << 10
	var all []*perdure.Question
	one := k.putUnchecked(perdure.NewQuestion{Key: "q", QuestionTerms: perdure.QuestionTerms{Kind: "plan"}, Details: json.RawMessage(fmt.Sprintf("%q", bytes.Repeat([]byte("x"), each)))})
	for range 300 {
		same := *one
		all = append(all, &same)
	}
	k.must(k.e.Questions.Show(t.Context(), org, all...))
	shown := 0
	for _, q := range all {
		shown += len(q.Details)
	}
	if shown > 8<<20 || shown < 7<<20 {
		t.Errorf("%d bytes are shown", shown)
	}
}
