package llm_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// TestEveryPricedModelHasAWindow checks that DefaultPrices and DefaultWindows have the same models, and
// that each model's maximum answer fits into its window.
func TestEveryPricedModelHasAWindow(t *testing.T) {
	for m := range llm.DefaultPrices {
		if l, known := llm.Windows(nil).Limits(m.Provider, m.ID); !known || l.Window < 100_000 || l.MaxOutput < 4096 || l.MaxOutput >= l.Window || l.ImageTokens == "" {
			t.Errorf("%s has the limits %+v, %v", m, l, known)
		}
	}
	for _, p := range llm.KnownProviders() {
		for _, m := range p.Models {
			if m.Window == 0 || m.MaxOutput == 0 {
				t.Errorf("%s/%s is described without limits: %+v", p.Name, m.ID, m)
			}
		}
	}
}

// TestLimitsOfModels checks that a dated snapshot has the limits of its model, and that a model of
// openai-responses has the limits of the same model of openai. An unknown model has UnknownWindow.
func TestLimitsOfModels(t *testing.T) {
	own := llm.Windows{{Provider: "acme", ID: "m"}: {Window: 5000}}
	ps := llm.NewProviders()
	for _, c := range []struct {
		windows  llm.Windows
		model    llm.Model
		window   int
		is       bool
		registry int // window that the registry ps returns
	}{
		{nil, llm.Model{Provider: "anthropic", ID: "claude-sonnet-4-5-20250929"}, 200_000, true, 128_000},
		{nil, llm.Model{Provider: "openai-responses", ID: "gpt-5-2025-08-07"}, 272_000, true, 128_000},
		{nil, llm.Model{Provider: "openai", ID: "gpt-4o-2024-05-13"}, 128_000, true, 128_000},
		{nil, llm.Model{Provider: "openai", ID: "gpt-5-unheard-of"}, 128_000, false, 128_000},
		{nil, llm.Model{Provider: "scripted", ID: "x"}, 1_000_000_000, true, 1_000_000_000},
		{own, llm.Model{Provider: "acme", ID: "m-latest"}, 5000, true, 5000},
		{own, llm.Model{Provider: "acme", ID: "n"}, llm.UnknownWindow, false, llm.UnknownWindow},
	} {
		if l, known := c.windows.Limits(c.model.Provider, c.model.ID); l.Window != c.window || known != c.is {
			t.Errorf("%s has %+v, %v", c.model, l, known)
		}
		if l, known := ps.Limits(c.model.Provider, c.model.ID); c.windows == nil && (l.Window != c.window || known != c.is) {
			t.Errorf("without a table the registry says of %s %+v, %v", c.model, l, known)
		}
	}
	if l, _ := ps.Limits("scripted", "x"); l.ImageTokens == "" {
		t.Error("a script has no rule for images, so that a table cannot extend it")
	}
	ps.SetWindows(own)
	if l, known := ps.Limits("acme", "m"); !known || l.Window != 5000 {
		t.Errorf("the registry's own table says %+v, %v", l, known)
	}
}

// TestTheOperatorsTable checks how an operator's table changes the default tables. The error about
// an invalid table must contain the name of the invalid member.
func TestTheOperatorsTable(t *testing.T) {
	prices, windows, err := llm.ParseModels([]byte(`{
		"anthropic/claude-sonnet-4-5": {"window": 1000000},
		"openai/free": {"price": {"input": 0, "output": 0}},
		"openai/mine": {"price": {"input": 2, "output": 8}},
		"anthropic/claude-sonnet-4-0": {"price": {"output": 20}},
		"acme/a/b": {"window": 100, "imageTokens": "tiles"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if l, _ := windows.Limits("anthropic", "claude-sonnet-4-5"); l != (llm.Limits{Window: 1_000_000, MaxOutput: 64_000, ImageTokens: llm.ImagesByArea}) {
		t.Errorf("a known model has %+v", l)
	}
	if l, known := windows.Limits("acme", "a/b"); !known || l.Window != 100 || l.ImageTokens != llm.ImagesByTiles {
		t.Errorf("a new model has %+v", l)
	}
	if _, known := windows.Limits("openai", "free"); known || prices.Cost(llm.Model{Provider: "openai", ID: "free"}, perdure.Usage{Input: 1}) == nil {
		t.Error("an entry with a price alone has a window, or no price")
	}
	for id, want := range map[llm.Model]perdure.Price{
		{Provider: "openai", ID: "mine"}:                 {Input: 2, Output: 8, CacheRead: 2, CacheWrite: 2},
		{Provider: "anthropic", ID: "claude-sonnet-4-0"}: {Input: 3, Output: 20, CacheRead: 0.3, CacheWrite: 3.75},
	} {
		if prices[id] != want {
			t.Errorf("%v costs %+v, want %+v", id, prices[id], want)
		}
	}
	if l, _ := llm.Windows(nil).Limits("anthropic", "claude-sonnet-4-5"); l.Window != 200_000 {
		t.Error("the built-in table was changed")
	}
	for table, field := range map[string]string{
		`[]`: "", `null`: "", `{} x`: "models", `{"openai/m": {"windows": 1}}`: "", `{"openai/m": 7}`: "",
		`{"m": {"window": 1}}`:                                 "m",
		`{"openai/m": {"maxOutput": 1}}`:                       "openai/m.window",
		`{"openai/m": {"window": 0}}`:                          "openai/m.window",
		`{"openai/m": {"window": 1e18}}`:                       "",
		`{"openai/m": {"window": 10, "maxOutput": -1}}`:        "openai/m.maxOutput",
		`{"openai/m": {"window": 10, "imageTokens": "x"}}`:     "openai/m.imageTokens",
		`{"openai/m": {"price": {"input": -1, "output": 1}}}`:  "openai/m.price",
		`{"openai/m": {"price": {"input": 1}}}`:                "openai/m.price",
		`{"openai/m": {"price": {"inputs": 1}}}`:               "",
		`{"openai/m": {"window": 10}, "openai/m": {}}`:         "models.openai/m",
		`{"a/b": {"window": 10}` + string(make([]byte, 2<<20)): "",
	} {
		_, _, err := llm.ParseModels([]byte(table))
		var coded *perdure.Error
		if !errors.As(err, &coded) || coded.Code != perdure.InvalidArgument || field != "" && coded.Fields[0].Location != field {
			t.Errorf("%.40s: %v, want one that names %q", table, err, field)
		}
	}
}

// webp has the beginning of a WebP image of 640 × 480 pixels, in each of the three forms of WebP.
var webp = map[string]string{
	"VP8 ": "RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x80\x02\xe0\x01",
	"VP8L": "RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f\x7f\xc2\x77\x00\x00\x00\x00\x00\x00",
	"VP8X": "RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x7f\x02\x00\xdf\x01\x00",
}

func imageOf(t *testing.T, mime string, width, height int) perdure.Part {
	t.Helper()
	var raw bytes.Buffer
	picture := image.NewPaletted(image.Rect(0, 0, width, height), []color.Color{color.Black, color.White})
	err := map[string]func() error{
		"image/png":  func() error { return png.Encode(&raw, picture) },
		"image/jpeg": func() error { return jpeg.Encode(&raw, picture, nil) },
		"image/gif":  func() error { return gif.Encode(&raw, picture, nil) },
	}[mime]()
	if err != nil {
		t.Fatal(err)
	}
	return perdure.Part{Type: perdure.PartImage, MimeType: mime, Data: base64.StdEncoding.EncodeToString(raw.Bytes())}
}

// TestImagesAreCountedByTheirSize checks the number of tokens of images by each rule. An image whose
// size is not known counts 1,600 tokens.
func TestImagesAreCountedByTheirSize(t *testing.T) {
	count := func(rule llm.ImageRule, p perdure.Part) int {
		with := llm.EstimateMessage(message(perdure.RoleUser, []perdure.Part{p}), llm.Limits{ImageTokens: rule})
		return with - llm.EstimateMessage(message(perdure.RoleUser, nil), llm.Limits{ImageTokens: rule})
	}
	for _, mime := range []string{"image/png", "image/jpeg", "image/gif"} {
		if got := count("", imageOf(t, mime, 640, 480)); got != 410 { // 640 × 480 / 750 = 409.6
			t.Errorf("%s: %d tokens", mime, got)
		}
	}
	for form, head := range webp {
		p := perdure.Part{Type: perdure.PartImage, MimeType: "image/webp", Data: base64.StdEncoding.EncodeToString([]byte(head))}
		if got := count("", p); got != 410 {
			t.Errorf("a WebP of the form %q counts %d", form, got)
		}
	}
	large, low := imageOf(t, "image/png", 2048, 4096), imageOf(t, "image/png", 900, 900)
	low.Detail = "low"
	for name, c := range map[string]struct {
		rule llm.ImageRule
		part perdure.Part
		want int
	}{
		"area, not scaled":  {llm.ImagesByArea, imageOf(t, "image/png", 1500, 1000), 2000},
		"area, large":       {llm.ImagesByArea, large, 4800},
		"tiles":             {llm.ImagesByTiles, imageOf(t, "image/png", 1024, 1024), 765},
		"tiles, tall":       {llm.ImagesByTiles, large, 85 + 6*170},
		"tiles, low":        {llm.ImagesByTiles, low, 85},
		"large tiles":       {llm.ImagesByLargeTiles, imageOf(t, "image/png", 1000, 700), 516},
		"large tiles, tiny": {llm.ImagesByLargeTiles, imageOf(t, "image/png", 384, 384), 258},
		"by URL":            {llm.ImagesByArea, perdure.Part{Type: perdure.PartImage, URL: "https://example.com/a.png"}, 1600},
		"damaged":           {llm.ImagesByTiles, perdure.Part{Type: perdure.PartImage, MimeType: "image/png", Data: "aGk="}, 1600},
		"no base64":         {llm.ImagesByArea, perdure.Part{Type: perdure.PartImage, MimeType: "image/webp", Data: "\x00"}, 1600},
	} {
		if got := count(c.rule, c.part); got != c.want {
			t.Errorf("%s: %d tokens, want %d", name, got, c.want)
		}
	}
}
