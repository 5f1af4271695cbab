package rest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// newWebhook is the response to creating a webhook, which contains the webhook's secret.
type newWebhook struct {
	perdure.Webhook
	Secret string
}

// TestWebhooks checks the operations on webhooks: the members of their responses, versions, and
// refusals. A refusal names the field and changes nothing.
func TestWebhooks(t *testing.T) {
	h := open(t)
	admin := []string{"Authorization", "Bearer " + h.AdminKey}
	h.Call("GET", "/webhooks", "").Problem(403, perdure.PermissionDenied, "")
	for body, field := range map[string]string{
		`{}`:                                "body.url",
		`{"url":""}`:                        "url",
		`{"url":1}`:                         "body.url",
		`{"url":"http://example.com"}`:      "url",
		`{"url":"https://a:b@example.com"}`: "url",
		`{"url":"https://example.com","events":["nothing"]}`:  "events",
		`{"url":"https://example.com","events":"agent.*"}`:    "body.events",
		`{"url":"https://example.com","enabled":"yes"}`:       "body.enabled",
		`{"url":"https://example.com","evnts":["agent.*"]}`:   "body.evnts",
		`{"url":"https://example.com","url":"https://b.com"}`: "",
	} {
		a := h.Call("POST", "/webhooks", body, admin...)
		if field == "" {
			continue
		}
		a.Problem(400, perdure.InvalidArgument, strings.TrimPrefix(field, "body."))
	}
	var made newWebhook
	h.Call("POST", "/webhooks", `{"url":"https://127.0.0.1:1/hook","description":"d"}`, admin...).Want(201, &made)
	if !strings.HasPrefix(made.Secret, "whsec_") || !made.Enabled || len(made.Events) != 1 || made.Events[0] != "agent.*" || made.Version != 1 || made.Description != "d" {
		t.Errorf("the new webhook is %+v", made)
	}
	path := "/webhooks/" + made.ID.String()
	h.Call("PUT", path, `{"url":"https://127.0.0.1:1/hook"}`, append(admin, "If-Match", `"7"`)...).Problem(409, perdure.Conflict, "")
	h.Call("PUT", path, `{"url":"https://127.0.0.1:1/hook"}`, append(admin, "If-Match", `x`)...).Problem(400, perdure.InvalidArgument, "If-Match")
	h.Call("PUT", path, `{"url":"ftp://127.0.0.1"}`, admin...).Problem(400, perdure.InvalidArgument, "url")
	var got perdure.Webhook
	h.Call("GET", path, "", admin...).Want(200, &got)
	if got.Version != 1 || got.URL != made.URL {
		t.Errorf("after refusals: %+v", got)
	}
	got = perdure.Webhook{}
	h.Call("PUT", path, `{"url":"https://127.0.0.1:1/new","enabled":false}`, append(admin, "If-Match", `"1"`)...).Want(200, &got)
	if got.Version != 2 || got.Enabled || got.URL != "https://127.0.0.1:1/new" || got.Description != "" {
		t.Errorf("replaced: %+v", got)
	}
	h.Call("POST", path+"/test", "", admin...).Problem(409, perdure.Conflict, "")
	h.Call("PUT", path, `{"url":"https://127.0.0.1:1/new"}`, admin...).Want(200, &got)
	if got.Enabled || got.Version != 2 {
		t.Errorf("enabled without being asked: %+v", got)
	}
	h.Call("PUT", path, `{"url":"https://127.0.0.1:1/new","enabled":true,"id":"x","version":9,"createdAt":null}`, admin...).Want(200, &got)
	var rotated newWebhook
	h.Call("POST", path+"/rotate", "", admin...).Want(200, &rotated)
	if rotated.Secret == "" || rotated.Secret == made.Secret || rotated.OldSecretUntil == nil {
		t.Errorf("rotated: %+v", rotated)
	}
	var dropped newWebhook
	h.Call("POST", path+"/rotate", `{"dropOld":true}`, admin...).Want(200, &dropped)
	if dropped.Secret != "" || dropped.OldSecretUntil != nil {
		t.Errorf("dropped: %+v", dropped)
	}
	var d perdure.Delivery
	h.Call("POST", path+"/test", "", admin...).Want(202, &d)
	h.Call("GET", path+"/deliveries/"+d.ID.String(), "", admin...).Want(200, &d)
	if d.Status != perdure.DeliveryPending || d.EventType != perdure.EventWebhookTest || len(d.Payload) == 0 {
		t.Errorf("the delivery is %+v", d)
	}
	var list page[perdure.Delivery]
	h.Call("GET", path+"/deliveries?status=pending", "", admin...).Want(200, &list)
	if len(list.Items) != 1 || list.Items[0].Payload != nil {
		t.Errorf("the list is %+v", list)
	}
	h.Call("GET", path+"/deliveries?status=lost", "", admin...).Problem(400, perdure.InvalidArgument, "status")
	h.Call("GET", path+"/deliveries?cursor=x", "", admin...).Problem(400, perdure.InvalidArgument, "cursor")
	h.Call("POST", path+"/deliveries/"+d.ID.String()+"/resend", "", admin...).Want(202, &d)
	for _, unknown := range []string{uuid.NewString(), "x"} {
		h.Call("GET", "/webhooks/"+unknown, "", admin...).Problem(404, perdure.NotFound, "")
		h.Call("GET", "/webhooks/"+unknown+"/deliveries", "", admin...).Problem(404, perdure.NotFound, "")
		h.Call("POST", "/webhooks/"+unknown+"/rotate", "", admin...).Problem(404, perdure.NotFound, "")
		h.Call("GET", path+"/deliveries/"+unknown, "", admin...).Problem(404, perdure.NotFound, "")
		h.Call("POST", path+"/deliveries/"+unknown+"/resend", "", admin...).Problem(404, perdure.NotFound, "")
	}
	for i := 1; i < perdure.MaxWebhooks; i++ {
		h.Call("POST", "/webhooks", fmt.Sprintf(`{"url":"https://127.0.0.1:1/%d"}`, i), admin...).Want(201, nil)
	}
	h.Call("POST", "/webhooks", `{"url":"https://127.0.0.1:1/more"}`, admin...).Problem(409, perdure.Conflict, "")
	h.Call("DELETE", path, "", admin...).Want(204, nil)
	h.Call("GET", path, "", admin...).Problem(404, perdure.NotFound, "")
	h.Call("GET", path+"/deliveries", "", admin...).Problem(404, perdure.NotFound, "")
	h.Call("POST", "/webhooks", `{"url":"https://127.0.0.1:1/more"}`, admin...).Want(201, nil)
}
