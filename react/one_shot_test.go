package react_test

import (
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
)

// TestAOneShotFailsWithItsModel checks that a one-shot run whose model fails permanently becomes
// FAILED, with the model's error code.
func TestAOneShotFailsWithItsModel(t *testing.T) {
	s := newWorkerPool(t, 100, "turn\n  fail auth no key\n")
	id := s.start(engine.StartRequest{UserPrompt: "go", OneShot: true})
	x := s.until(id, func(x *perdure.Execution) bool {
		return x.Status.Terminal() || x.Status == perdure.StatusWaiting && x.WaitReason == "signal"
	})
	if x.Status != perdure.StatusFailed || x.ErrorCode == nil || *x.ErrorCode != "model_auth" {
		t.Errorf("it is %s with the error %v", x.Status, x.ErrorCode)
	}
}
