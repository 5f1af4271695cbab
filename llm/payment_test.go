package llm_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/perdure/perdure/llm"
)

// TestUnpaidAccountsAreNotRefusedKeys checks that the error for a status of 402, or for an event of
// the type billing_error, names the payment and not the API key, and is not retried.
func TestUnpaidAccountsAreNotRefusedKeys(t *testing.T) {
	body := []byte(`{"error": {"type": "billing_error", "message": "key sk-secret has no credit"}}`)
	for name, err := range map[string]*llm.Error{
		"status": llm.StatusError("p", http.StatusPaymentRequired, http.Header{}, body),
		"event":  llm.EventError("p", body),
	} {
		if err.Kind != llm.Auth || err.Retryable || !strings.Contains(err.Message, "credit") || strings.Contains(err.Message, "key") {
			t.Errorf("%s: %+v", name, err)
		}
	}
}
