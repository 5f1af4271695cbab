package rest_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

type retentionPolicy struct {
	Executions, Checkpoints, Logs string
	Set                           bool
}

// TestRetentionPolicy checks that the default policy applies until an admin sets one. A client can
// read the policy, but not set it.
func TestRetentionPolicy(t *testing.T) {
	h := open(t)
	admin := []string{"Authorization", "Bearer " + h.AdminKey}
	var p retentionPolicy
	h.Call("GET", "/retention", "").Want(200, &p)
	if p != (retentionPolicy{"forever", "7d", "forever", false}) {
		t.Errorf("the default is %+v", p)
	}
	h.Call("PUT", "/retention", `{"executions":"30d"}`).Problem(403, perdure.PermissionDenied, "")
	h.Call("PUT", "/retention", `{"executions":"soon"}`, admin...).Problem(400, perdure.InvalidArgument, "retention.executions")
	h.Call("PUT", "/retention", `{"executions":"30d","logs":"36h"}`, admin...).Want(200, &p)
	h.Call("GET", "/retention", "").Want(200, &p)
	if p != (retentionPolicy{"30d", "7d", "1d12h", true}) {
		t.Errorf("it is %+v", p)
	}
}

// TestADefinitionHasAPolicy checks that the retention policy of a definition is stored, and an
// invalid one is refused.
func TestADefinitionHasAPolicy(t *testing.T) {
	h := open(t)
	var d perdure.Definition
	h.Call("POST", "/agent-definitions", `{"name":"n",`+models+`,"retention":{"logs":"1d"}}`).Want(201, &d)
	if d.Retention == nil || d.Retention.Logs == nil || *d.Retention.Logs != perdure.Day || d.Retention.Executions != nil {
		t.Errorf("the policy is %+v", d.Retention)
	}
	h.Call("POST", "/agent-definitions", `{"name":"n",`+models+`,"retention":{"logs":"x"}}`).Problem(400, perdure.InvalidArgument, "retention.logs")
}

// TestPrune checks that pruning requires an admin's key and a valid age. A dry run counts the
// executions and deletes none.
func TestPrune(t *testing.T) {
	h := open(t)
	admin := []string{"Authorization", "Bearer " + h.AdminKey}
	x := h.Start("")
	h.Claim().Complete()
	const path = "/agent-executions/prune"
	h.Call("POST", path, `{"olderThan":"0"}`).Problem(403, perdure.PermissionDenied, "")
	h.Call("POST", path, `{}`, admin...).Problem(400, perdure.InvalidArgument, "olderThan")
	h.Call("POST", path, `{"olderThan":"forever"}`, admin...).Problem(400, perdure.InvalidArgument, "olderThan")
	h.Call("POST", path, `{"olderThan":"0","status":["WAITING"]}`, admin...).Problem(400, perdure.InvalidArgument, "status")
	var report struct {
		DryRun     bool
		More       bool
		Executions struct {
			Count, Bytes int64
			ByStatus     map[string]int64
		}
	}
	h.Call("POST", path, `{"olderThan":"0","dryRun":true}`, admin...).Want(200, &report)
	if !report.DryRun || report.Executions.Count != 1 || report.Executions.ByStatus["COMPLETED"] != 1 || report.Executions.Bytes == 0 {
		t.Errorf("the dry run says %+v", report)
	}
	h.Call("GET", h.Path(x.ID, ""), "").Want(200, nil)
	h.Call("POST", path, `{"olderThan":"0"}`, admin...).Want(200, &report)
	if report.DryRun || report.Executions.Count != 1 || report.More {
		t.Errorf("it says %+v", report)
	}
	h.Call("GET", h.Path(x.ID, ""), "").Problem(404, perdure.NotFound, "")
	h.Call("GET", h.Path(x.ID, "/events"), "").Problem(404, perdure.NotFound, "")
}

// TestAPrunedLogResetsItsReaders checks that if a client requests a page with a cursor from before
// the log was pruned, the page has a reset and the remaining events. The execution's entries
// remain.
func TestAPrunedLogResetsItsReaders(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	r.Say(userText("hi"))
	var p struct {
		Items []struct {
			Cursor, Event string
		}
		NextCursor string
		Reset      *struct {
			Reason         string
			FirstAvailable int64
		}
	}
	h.Call("GET", h.Path(x.ID, "/events?limit=2"), "").Want(200, &p)
	old := p.NextCursor
	r.Complete()
	h.Call("PUT", "/retention", `{"logs":"1ms"}`, "Authorization", "Bearer "+h.AdminKey).Want(200, nil)
	h.Call("POST", "/agent-executions/prune", `{}`, "Authorization", "Bearer "+h.AdminKey).Want(200, nil)
	h.Call("GET", h.Path(x.ID, "/events?after="+old), "").Want(200, &p)
	if p.Reset == nil || p.Reset.Reason != "truncated" || len(p.Items) != 1 || p.Items[0].Event != "agent.completed" {
		t.Errorf("the reader is given %+v", p)
	}
	var left page[perdure.Entry]
	h.Call("GET", h.Path(x.ID, "/entries"), "").Want(200, &left)
	if len(left.Items) != 1 {
		t.Errorf("%d entries are left, want the one", len(left.Items))
	}
}

// TestASignalMayNameUploadedContent checks that a signal can refer to uploaded content of 9 MiB. An
// unknown content, or a value in addition to the reference, is refused.
func TestASignalMayNameUploadedContent(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t)
	x := h.Start("")
	value := `{"text":"` + strings.Repeat("x", 9<<20) + `"}`
	var c struct {
		BlobID uuid.UUID
		Length int64
		SHA256 string
	}
	h.Call("PUT", h.Path(x.ID, "/content"), value).Want(200, &c)
	if c.Length != int64(len(value)) || c.SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte(value))) {
		t.Errorf("it is stored as %+v", c)
	}
	h.Call("POST", h.Path(x.ID, "/signal"), fmt.Sprintf(`{"signalName":"big","signalValueRef":{"blobId":%q}}`, c.BlobID)).Want(200, nil)
	claims := h.Claim()
	signals, err := h.Worker.Signals(t.Context(), claims.ID, []string{"big"}, 0, 1)
	if err != nil || len(signals) != 1 || string(signals[0].Value) != value {
		t.Fatalf("the signal arrives as %d signals, %v", len(signals), err)
	}
	h.Call("POST", h.Path(x.ID, "/signal"), fmt.Sprintf(`{"signalName":"big","signalValueRef":{"blobId":%q}}`, uuid.New())).
		Problem(400, perdure.InvalidArgument, "signalValueRef.blobId")
	h.Call("POST", h.Path(x.ID, "/signal"), fmt.Sprintf(`{"signalName":"big","signalValue":1,"signalValueRef":{"blobId":%q}}`, c.BlobID)).
		Problem(400, perdure.InvalidArgument, "signalValueRef")
	h.Call("PUT", h.Path(uuid.New(), "/content"), "1").Problem(404, perdure.NotFound, "")
	h.Call("PUT", h.Path(x.ID, "/content"), "1", "Authorization", "Bearer "+h.WorkerKey).Problem(403, perdure.PermissionDenied, "")
}

// TestContentOverTheLimitIsRefusedAtOnce checks that content over the payload limit is refused
// because of its Content-Length, before the body is read. The error names the length and the limit.
func TestContentOverTheLimitIsRefusedAtOnce(t *testing.T) {
	h := open(t)
	x := h.Start("")
	req := h.Request("PUT", h.Path(x.ID, "/content"), "")
	req.Body, req.ContentLength = &unreadableBody{t: t}, 64<<20+1
	req.Header.Set("Expect", "100-continue")
	p := h.Send(req).Problem(413, perdure.PayloadTooLarge, "")
	for _, number := range []string{"67108865", "67108864"} {
		if !strings.Contains(p.Detail, number) {
			t.Errorf("%q does not say %s", p.Detail, number)
		}
	}
}

// unreadableBody is a body that must not be read.
type unreadableBody struct{ t *testing.T }

func (u *unreadableBody) Read([]byte) (int, error) {
	u.t.Error("the body is sent although the length alone is too much")
	return 0, fmt.Errorf("unread")
}

func (u *unreadableBody) Close() error { return nil }
