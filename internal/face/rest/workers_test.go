package rest_test

import (
	"testing"

	"github.com/perdure/perdure"
)

type queuePage struct {
	Items      []perdure.QueueInfo
	NextCursor *string
}

// TestQueues checks that an admin, but not a client, can pause and resume queues, and that the list
// of queues shows which are paused. Invalid requests are refused, and the error names the field.
// Each worker in the list of workers is connected and has queues.
func TestQueues(t *testing.T) {
	h := open(t)
	admin := []string{"Authorization", "Bearer " + h.AdminKey}
	for body, field := range map[string]string{
		`{}`: "queue", `{"queue":""}`: "queue", `{"queue":1}`: "queue", `{"queue":"a\u0000"}`: "", `{"queue":"a","q":1}`: "q",
	} {
		a := h.Call("POST", "/queues/pause", body, admin...)
		if field != "" {
			a.Problem(400, perdure.InvalidArgument, field)
		}
	}
	for _, path := range []string{"/queues/pause", "/queues/resume"} {
		h.Call("POST", path, `{"queue":"a"}`).Problem(403, perdure.PermissionDenied, "")
	}
	for _, path := range []string{"/queues?cursor=%21", "/workers?cursor=x", "/queues?cursor=AA"} {
		h.Call("GET", path, "").Problem(400, perdure.InvalidArgument, "cursor")
	}
	for _, name := range []string{"later", "later", "now", "a/b ä"} {
		var p perdure.QueuePause
		h.Call("POST", "/queues/pause", `{"queue":"`+name+`"}`, admin...).Want(200, &p)
		if p.Queue != name || p.At.IsZero() {
			t.Errorf("the pause of %s is %+v", name, p)
		}
	}
	var paused []string
	for path := "/queues?limit=1"; ; {
		var page queuePage
		h.Call("GET", path, "").Want(200, &page)
		for _, q := range page.Items {
			if q.Paused {
				paused = append(paused, q.Name)
			}
		}
		if page.NextCursor == nil {
			break
		}
		path = "/queues?limit=1&cursor=" + *page.NextCursor
	}
	if len(paused) != 3 || paused[0] != "a/b ä" || paused[2] != "now" {
		t.Errorf("the paused queues are %q", paused)
	}
	for range 2 {
		h.Call("POST", "/queues/resume", `{"queue":"later"}`, admin...).Want(204, nil)
	}
	var workers struct{ Items []perdure.WorkerInfo }
	h.Call("GET", "/workers", "").Want(200, &workers)
	for _, w := range workers.Items {
		if !w.Connected || w.LastSeenAt.IsZero() || w.Holds == nil || len(w.Queues) == 0 {
			t.Errorf("the worker is %+v", w)
		}
	}
}
