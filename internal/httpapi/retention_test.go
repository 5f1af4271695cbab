package httpapi_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

type policy struct {
	Executions, Checkpoints, Logs string
	Set                           bool
}

// The default policy applies until an admin sets one; clients may read it.
func TestRetentionPolicy(t *testing.T) {
	h := open(t)
	admin := []string{"Authorization", "Bearer " + h.admin}
	var p policy
	h.call("GET", "/retention", "").want(200, &p)
	if p != (policy{"forever", "7d", "forever", false}) {
		t.Errorf("the default is %+v", p)
	}
	h.call("PUT", "/retention", `{"executions":"30d"}`).problem(403, perdure.PermissionDenied, "")
	h.call("PUT", "/retention", `{"executions":"soon"}`, admin...).problem(400, perdure.InvalidArgument, "retention.executions")
	h.call("PUT", "/retention", `{"executions":"30d","logs":"36h"}`, admin...).want(200, &p)
	h.call("GET", "/retention", "").want(200, &p)
	if p != (policy{"30d", "7d", "1d12h", true}) {
		t.Errorf("it is %+v", p)
	}
}

// A definition's policy is stored with it.
func TestADefinitionHasAPolicy(t *testing.T) {
	h := open(t)
	var d perdure.Definition
	h.call("POST", "/agent-definitions", `{"name":"n",`+models+`,"retention":{"logs":"1d"}}`).want(201, &d)
	if d.Retention == nil || d.Retention.Logs == nil || *d.Retention.Logs != perdure.Day || d.Retention.Executions != nil {
		t.Errorf("the policy is %+v", d.Retention)
	}
	h.call("POST", "/agent-definitions", `{"name":"n",`+models+`,"retention":{"logs":"x"}}`).problem(400, perdure.InvalidArgument, "retention.logs")
}

// Pruning is for admins, refuses ambiguous requests, and can count before it deletes.
func TestPrune(t *testing.T) {
	h := open(t)
	admin := []string{"Authorization", "Bearer " + h.admin}
	x := h.start("")
	h.claim().complete()
	const path = "/agent-executions/prune"
	h.call("POST", path, `{"olderThan":"0"}`).problem(403, perdure.PermissionDenied, "")
	h.call("POST", path, `{}`, admin...).problem(400, perdure.InvalidArgument, "olderThan")
	h.call("POST", path, `{"olderThan":"forever"}`, admin...).problem(400, perdure.InvalidArgument, "olderThan")
	h.call("POST", path, `{"olderThan":"0","status":["WAITING"]}`, admin...).problem(400, perdure.InvalidArgument, "status")
	var report struct {
		DryRun     bool
		More       bool
		Executions struct {
			Count, Bytes int64
			ByStatus     map[string]int64
		}
	}
	h.call("POST", path, `{"olderThan":"0","dryRun":true}`, admin...).want(200, &report)
	if !report.DryRun || report.Executions.Count != 1 || report.Executions.ByStatus["COMPLETED"] != 1 || report.Executions.Bytes == 0 {
		t.Errorf("the dry run says %+v", report)
	}
	h.call("GET", h.path(x.ID, ""), "").want(200, nil)
	h.call("POST", path, `{"olderThan":"0"}`, admin...).want(200, &report)
	if report.DryRun || report.Executions.Count != 1 || report.More {
		t.Errorf("it says %+v", report)
	}
	h.call("GET", h.path(x.ID, ""), "").problem(404, perdure.NotFound, "")
	h.call("GET", h.path(x.ID, "/events"), "").problem(404, perdure.NotFound, "")
}

// A reader with a position in a pruned log gets a reset, and the rest of the log.
func TestAPrunedLogResetsItsReaders(t *testing.T) {
	h := open(t)
	x := h.start("")
	r := h.claim()
	r.say(userText("hi"))
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
	h.call("GET", h.path(x.ID, "/events?limit=2"), "").want(200, &p)
	old := p.NextCursor
	r.complete()
	h.call("PUT", "/retention", `{"logs":"1ms"}`, "Authorization", "Bearer "+h.admin).want(200, nil)
	h.call("POST", "/agent-executions/prune", `{}`, "Authorization", "Bearer "+h.admin).want(200, nil)
	h.call("GET", h.path(x.ID, "/events?after="+old), "").want(200, &p)
	if p.Reset == nil || p.Reset.Reason != "truncated" || len(p.Items) != 1 || p.Items[0].Event != "agent.completed" {
		t.Errorf("the reader is given %+v", p)
	}
	var left page[perdure.Entry]
	h.call("GET", h.path(x.ID, "/entries"), "").want(200, &left)
	if len(left.Items) != 1 {
		t.Errorf("%d entries are left, want the one", len(left.Items))
	}
}

// A cached range of a log is fetched again after the log was pruned, and is never confirmed as
// unchanged.
func TestACachedRangeOfAPrunedLogIsGivenUp(t *testing.T) {
	h := open(t)
	x := h.start("")
	r := h.claim()
	r.say(userText("hi"))
	whole := h.call("GET", durable(x.ID, ""), "").want(200, nil)
	r.complete()
	all := h.call("GET", durable(x.ID, ""), "").want(200, nil)
	h.call("GET", durable(x.ID, ""), "", "If-None-Match", all.header.Get("ETag")).want(304, nil)
	h.call("PUT", "/retention", `{"logs":"1ms"}`, "Authorization", "Bearer "+h.admin).want(200, nil)
	h.call("POST", "/agent-executions/prune", `{}`, "Authorization", "Bearer "+h.admin).want(200, nil)
	for _, held := range []reply{whole, all} {
		left := h.call("GET", durable(x.ID, ""), "", "If-None-Match", held.header.Get("ETag")).want(200, nil)
		if strings.Contains(string(left.body), "agent.created") || !strings.Contains(string(left.body), "agent.completed") {
			t.Errorf("of the pruned log is left %s", left.body)
		}
	}
	h.call("GET", durable(x.ID, "?offset="+fmt.Sprintf("%020d", 2)), "", "If-None-Match", all.header.Get("ETag")).want(410, nil)
}

// Content over the limit of bodies is uploaded first, and the signal refers to it.
func TestASignalMayNameUploadedContent(t *testing.T) {
	h := open(t)
	x := h.start("")
	value := `{"text":"` + strings.Repeat("x", 9<<20) + `"}`
	var c struct {
		BlobID uuid.UUID
		Length int64
		SHA256 string
	}
	h.call("PUT", h.path(x.ID, "/content"), value).want(200, &c)
	if c.Length != int64(len(value)) || c.SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte(value))) {
		t.Errorf("it is stored as %+v", c)
	}
	h.call("POST", h.path(x.ID, "/signal"), fmt.Sprintf(`{"signalName":"big","signalValueRef":{"blobId":%q}}`, c.BlobID)).want(200, nil)
	claims := h.claim()
	signals, err := h.worker.Signals(t.Context(), claims.id, []string{"big"}, 0, 1)
	if err != nil || len(signals) != 1 || string(signals[0].Value) != value {
		t.Fatalf("the signal arrives as %d signals, %v", len(signals), err)
	}
	h.call("POST", h.path(x.ID, "/signal"), fmt.Sprintf(`{"signalName":"big","signalValueRef":{"blobId":%q}}`, uuid.New())).
		problem(400, perdure.InvalidArgument, "signalValueRef.blobId")
	h.call("POST", h.path(x.ID, "/signal"), fmt.Sprintf(`{"signalName":"big","signalValue":1,"signalValueRef":{"blobId":%q}}`, c.BlobID)).
		problem(400, perdure.InvalidArgument, "signalValueRef")
	h.call("PUT", h.path(uuid.New(), "/content"), "1").problem(404, perdure.NotFound, "")
	h.call("PUT", h.path(x.ID, "/content"), "1", "Authorization", "Bearer "+h.wkey).problem(403, perdure.PermissionDenied, "")
}

// Content over the payload limit is refused before it is sent, with both numbers.
func TestContentOverTheLimitIsRefusedAtOnce(t *testing.T) {
	h := open(t)
	x := h.start("")
	req := h.request("PUT", h.path(x.ID, "/content"), "")
	req.Body, req.ContentLength = &unread{t: t}, 64<<20+1
	req.Header.Set("Expect", "100-continue")
	p := h.send(req).problem(413, perdure.PayloadTooLarge, "")
	for _, number := range []string{"67108865", "67108864"} {
		if !strings.Contains(p.Detail, number) {
			t.Errorf("%q does not say %s", p.Detail, number)
		}
	}
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u *unread) Read([]byte) (int, error) {
	u.t.Error("the body is sent although the length alone is too much")
	return 0, fmt.Errorf("unread")
}

func (u *unread) Close() error { return nil }
