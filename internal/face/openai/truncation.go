package openai

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

// The values of the parameter truncation.
const (
	truncationAuto     = "auto"
	truncationDisabled = "disabled"
)

func parseTruncation(r *request, raw json.RawMessage) error {
	if err := decode(raw, "truncation", &r.Truncation, "a string"); err != nil {
		return err
	}
	return oneOf("truncation", r.Truncation, truncationAuto, truncationDisabled)
}

// compaction returns the compaction settings for the request. The parameter `base` contains the
// agent's settings, which apply if the request has no parameter truncation. With "auto", a
// conversation that comes close to the model's context window is compacted. With "disabled", the
// response fails if the conversation is too long.
func (r *request) compaction(base *perdure.CompactionConfig) (*perdure.CompactionConfig, perdure.CompactMode) {
	if r.compacts {
		return base, perdure.CompactOnly
	}
	if r.Truncation == "" {
		return base, ""
	}
	var changed perdure.CompactionConfig
	if base != nil {
		changed = *base
	}
	off := r.Truncation == truncationDisabled
	changed.Off = &off
	if off {
		return &changed, perdure.CompactNever
	}
	return &changed, ""
}

// truncationOf returns "auto" if automatic compaction is on, otherwise "disabled".
func truncationOf(s perdure.ReactInput) string {
	if s.Config.Compaction.Disabled() {
		return truncationDisabled
	}
	return truncationAuto
}
