package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionIsThatOfTheReleaseOrTheModule(t *testing.T) {
	t.Parallel()
	module := func(version string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: "github.com/perdure/perdure", Version: version}}
	}
	for _, c := range []struct {
		release string
		built   *debug.BuildInfo
		want    string
	}{
		{"v1.2.3", module("v0.9.0"), "v1.2.3"},
		{"", module("v0.9.0"), "v0.9.0"},
		{"", module("v0.0.0-20261122120000-0123456789ab+dirty"), "v0.0.0-20261122120000-0123456789ab+dirty"},
		{"", module("(devel)"), "dev"},
		{"", module(""), "dev"},
		{"", nil, "dev"},
	} {
		if got := versionFrom(c.release, c.built); got != c.want {
			t.Errorf("release %q, build info %v: %q, want %q", c.release, c.built, got, c.want)
		}
	}
}
