package questions_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// TestLargeDetails checks large details of questions. Lists omit details over 32 KiB, and the
// response for a single question omits those over 256 KiB. Details of any size can be read,
// approved and edited.
func TestLargeDetails(t *testing.T) {
	each(t, func(h *testServer) {
		run := h.start("x")
		for name, n := range map[string]int{"middle": 40 << 10, "large": 300 << 10} {
			details := `{"plan":  "` + strings.Repeat("x", n) + `"}`
			id := run.ask(name, func(q *perdure.NewQuestion) {
				q.Kind, q.Edit, q.Details = perdure.QuestionApproval, perdure.EditApprover, json.RawMessage(details)
			})
			items := h.list(h.approver, "?status=open").Items
			if len(items) != 1 || items[0].Details != nil || items[0].DetailsBytes != int64(len(details)) {
				t.Fatalf("%s: the list has %d questions: %+v", name, len(items), items)
			}
			whole := h.as(h.approver, "GET", "/questions/"+id.String(), "").Want(200, nil)
			if shown := strings.Contains(string(whole.Body), details); shown != (n < perdure.ShownLimit) {
				t.Errorf("%s: the question shows its details: %v", name, shown)
			}
			if q := h.get(id); (q.DetailsBytes == 0) != (n < perdure.ShownLimit) {
				t.Errorf("%s: the question says that %d bytes are left out", name, q.DetailsBytes)
			}
			sum := sha256.Sum256([]byte(details))
			alone := h.as(h.approver, "GET", "/questions/"+id.String()+"/details", "").Want(200, nil)
			if string(alone.Body) != details || alone.Header.Get("ETag") != `"`+hex.EncodeToString(sum[:])+`"` {
				t.Errorf("%s: the details are %d bytes with the tag %s", name, len(alone.Body), alone.Header.Get("ETag"))
			}
			h.vote(h.approver, id, `"verdict":"approve","details":{"plan":"short"}`).Want(200, nil)
			edited := h.get(id)
			if string(edited.Details) != `{"plan":"short"}` || edited.DetailsBytes != 0 || edited.Status != perdure.QuestionAnswered {
				t.Errorf("%s: after the edit it is %s with %s", name, edited.Status, edited.Details)
			}
		}
	})
}
