package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/perdure/perdure"
)

const (
	// maxModelsFile is the maximum size in bytes of an operator's table of models.
	maxModelsFile = 1 << 20
	// maxWindow is the maximum context window in a table of models, in tokens.
	maxWindow = 1 << 30
)

// modelEntry is one element of an operator's table of models. A member that is absent has the value
// in DefaultPrices or DefaultWindows.
type modelEntry struct {
	Window      *int        `json:"window"`
	MaxOutput   *int        `json:"maxOutput"`
	ImageTokens *ImageRule  `json:"imageTokens"`
	Price       *priceEntry `json:"price"`
}

// priceEntry is the price in an element. The members are those of perdure.Price.
type priceEntry struct {
	Input      *float64 `json:"input"`
	Output     *float64 `json:"output"`
	CacheRead  *float64 `json:"cacheRead"`
	CacheWrite *float64 `json:"cacheWrite"`
}

// ParseModels returns DefaultPrices and DefaultWindows, changed by an operator's table. The table
// is a JSON object that maps names of models (provider/modelId) to {window, maxOutput, imageTokens,
// price}. An element for a known model replaces only the values that it contains. An element for an
// unknown model that has a maxOutput or imageTokens must also have a window. Errors:
// invalid_argument.
func ParseModels(table []byte) (Prices, Windows, error) {
	entries, err := decodeModels(table)
	if err != nil {
		return nil, nil, err
	}
	prices, windows := maps.Clone(DefaultPrices), maps.Clone(DefaultWindows)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		model, err := ParseModel(name)
		if err != nil {
			return nil, nil, perdure.FieldErrorf(name, "is no name of a model; it is written provider/modelId")
		}
		e := entries[name]
		if e.Price != nil {
			if prices[model], err = e.Price.price(name+".price", model); err != nil {
				return nil, nil, err
			}
		}
		if e.Window == nil && e.MaxOutput == nil && e.ImageTokens == nil {
			continue
		}
		if windows[model], err = e.limits(name, model); err != nil {
			return nil, nil, err
		}
	}
	return prices, windows, nil
}

func decodeModels(table []byte) (map[string]modelEntry, error) {
	if len(table) > maxModelsFile {
		return nil, perdure.FieldErrorf("", "the table of models has over %d bytes", maxModelsFile)
	}
	if err := perdure.CheckDocumentBytes("models", table, perdure.DocumentRules{}); err != nil {
		return nil, err
	}
	var entries map[string]modelEntry
	d := json.NewDecoder(bytes.NewReader(table))
	d.DisallowUnknownFields()
	if err := d.Decode(&entries); err != nil || entries == nil {
		return nil, perdure.FieldErrorf("", "the table of models is not {\"provider/modelId\": {window, maxOutput, imageTokens, price}}: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, perdure.FieldErrorf("", "the table of models is followed by other text")
	}
	return entries, nil
}

// limits returns the limits of the model m: those of the element, and DefaultWindows for absent
// members. The parameter `at` is the name of the element in errors.
func (e modelEntry) limits(at string, m Model) (Limits, error) {
	l, known := DefaultWindows.Limits(m.Provider, m.ID)
	if e.Window != nil {
		l.Window = *e.Window
	}
	if e.MaxOutput != nil {
		l.MaxOutput = *e.MaxOutput
	}
	if e.ImageTokens != nil {
		l.ImageTokens = *e.ImageTokens
	}
	switch {
	case e.Window == nil && !known:
		return l, perdure.FieldErrorf(at+".window", "is missing: the model is not in this version's table")
	case l.Window < 1 || l.Window > maxWindow:
		return l, perdure.FieldErrorf(at+".window", "is %d; it is 1 to %d", l.Window, maxWindow)
	case l.MaxOutput < 0 || l.MaxOutput > maxWindow:
		return l, perdure.FieldErrorf(at+".maxOutput", "is %d; it is 0 to %d, and 0 if it is unknown", l.MaxOutput, maxWindow)
	case !slices.Contains([]ImageRule{ImagesByArea, ImagesByTiles, ImagesByLargeTiles}, l.ImageTokens):
		return l, perdure.FieldErrorf(at+".imageTokens", "is %q; it is area, tiles or large_tiles", l.ImageTokens)
	}
	return l, nil
}

// price returns the price of the model m: the members of the element, and DefaultPrices for absent
// members. For a model without a default price, tokens of the prompt cache cost as much as other
// input if their price is absent. The parameter `at` is the name of the price in errors.
func (e priceEntry) price(at string, m Model) (perdure.Price, error) {
	p, known := findModel(DefaultPrices, m)
	if !known {
		if e.Input == nil || e.Output == nil {
			return p, perdure.FieldErrorf(at, "has no input or no output: the model has no price in this version's table")
		}
		p = perdure.Price{CacheRead: *e.Input, CacheWrite: *e.Input}
	}
	for _, member := range []struct{ given, into *float64 }{
		{e.Input, &p.Input}, {e.Output, &p.Output}, {e.CacheRead, &p.CacheRead}, {e.CacheWrite, &p.CacheWrite},
	} {
		if member.given != nil {
			*member.into = *member.given
		}
	}
	return p, checkPrice(at, p)
}

func checkPrice(at string, p perdure.Price) error {
	for _, f := range []float64{p.Input, p.Output, p.CacheRead, p.CacheWrite} {
		if f < 0 || f > 1e6 || math.IsNaN(f) {
			return perdure.FieldErrorf(at, "has a price of %v; prices are dollars per million tokens, 0 to 1,000,000", f)
		}
	}
	return nil
}
