package main

import (
	"testing"
)

// TestSecretsOfACommandLineAreFound checks that secretParts finds the secret in both forms of a flag:
// after = in the same argument, and in the next argument.
func TestSecretsOfACommandLineAreFound(t *testing.T) {
	args := []string{"perdure", "worker", "--key", "s1", "--key=s2", "--store=postgres://u:p@h/d", "--nats", "nats://u:p@h", "--queue", "--keys", "x"}
	want := map[int]string{3: "s1", 4: "s2", 5: "postgres://u:p@h/d", 7: "nats://u:p@h"}
	got := secretParts(args)
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for i, secret := range want {
		if got[i] != secret {
			t.Errorf("argument %d: %q, want %q", i, got[i], secret)
		}
	}
}
