package rest_test

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/perdure/perdure"
)

// TestTheAuditLogNamesTheSocketLocal checks that the audit log records the address "local" for a
// change over a unix socket.
func TestTheAuditLogNamesTheSocketLocal(t *testing.T) {
	h := open(t)
	admin := []string{"Authorization", "Bearer " + h.AdminKey}
	h.Wrap(func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { // as net/http serves a unix socket
			r.RemoteAddr = "@"
			at := &net.UnixAddr{Net: "unix", Name: "perdure.sock"}
			next(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(at))))
		}
	})
	h.Call("POST", "/keys", `{"name":"k","role":"worker"}`, admin...).Want(201, nil)
	var page struct{ Items []perdure.AuditRecord }
	h.Call("GET", "/audit", "", admin...).Want(200, &page)
	if len(page.Items) == 0 || page.Items[0].Actor.RemoteAddress != "local" {
		t.Errorf("the audit log is %+v", page.Items)
	}
}
