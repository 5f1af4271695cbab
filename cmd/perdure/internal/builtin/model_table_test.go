package builtin

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
)

// TestTheModelTableExtendsTheBuiltInOnes checks that the worker's providers and the catalog use the
// limits in the file of --model-table. A file that cannot be used is a usage error that names the
// wrong member.
func TestTheModelTableExtendsTheBuiltInOnes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "models.json")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := &Worker{modelTable: path}
	write(`{"scripted/small": {"window": 8000}, "openai/mine": {"window": 32768, "maxOutput": 8192, "price": {"input": 1, "output": 2}}}`)
	providers, err := w.providers()
	if err != nil {
		t.Fatal(err)
	}
	if l, known := providers.Limits("scripted", "small"); !known || l.Window != 8000 {
		t.Errorf("the scripted model has %+v, %v", l, known)
	}
	if l, known := providers.Limits("openai-responses", "mine"); !known || l.Window != 32768 || l.MaxOutput != 8192 {
		t.Errorf("the model of the other API has %+v, %v", l, known)
	}
	c, err := w.Catalog()
	if err != nil {
		t.Fatal(err)
	}
	want := perdure.ModelInfo{ID: "mine", Price: perdure.Price{Input: 1, Output: 2, CacheRead: 1, CacheWrite: 1}, Window: 32768, MaxOutput: 8192}
	for _, p := range c.Providers {
		if openai := strings.HasPrefix(p.Name, "openai"); slices.Contains(p.Models, want) != openai {
			t.Errorf("%s has the models %+v", p.Name, p.Models)
		}
	}
	write(`{"openai/mine": {"window": 0}}`)
	var usage setup.UsageError
	if _, err := w.providers(); !errors.As(err, &usage) || !strings.Contains(err.Error(), "openai/mine.window") {
		t.Errorf("a window of 0 is answered with %v", err)
	}
	w.modelTable = filepath.Join(path, "missing")
	if _, err := w.Catalog(); !errors.As(err, &usage) {
		t.Errorf("a missing file is answered with %v", err)
	}
}
