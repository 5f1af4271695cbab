package llm

import (
	"cmp"
	"log/slog"

	"github.com/perdure/perdure"
)

// UnknownWindow is the assumed context window, in tokens, of a model that is not in the table.
const UnknownWindow = 128_000

// noWindow is the context window of a model that has no limit.
const noWindow = 1_000_000_000

// Limits are the limits of a model.
type Limits struct {
	// Window is the maximum number of tokens of a prompt together with its answer or, if the model
	// limits the prompt alone, of the prompt.
	Window int
	// MaxOutput is the maximum number of tokens of an answer; 0 if it is unknown.
	MaxOutput int
	// ImageTokens says how the model counts the tokens of images; "" means ImagesByArea.
	ImageTokens ImageRule
}

// Windows contains the limits of models. As in Prices, an entry for a model also applies to its dated
// snapshots. A nil Windows means DefaultWindows.
type Windows map[Model]Limits

// Limits returns the limits of a model. For a model that is not in the table, it returns
// UnknownWindow as the window, and false. A model of the provider scripted has no limit unless the
// table has an entry for it.
func (w Windows) Limits(provider, modelID string) (l Limits, known bool) {
	if w == nil {
		w = DefaultWindows
	}
	if l, known = findModel(w, Model{provider, modelID}); known {
		return l, true
	}
	if provider == "scripted" { // a script does not read the prompt
		return Limits{Window: noWindow, ImageTokens: imagesOf(provider)}, true
	}
	return Limits{Window: UnknownWindow, ImageTokens: imagesOf(provider)}, false
}

// SetWindows sets the table from which the method Limits reads.
func (ps *Providers) SetWindows(w Windows) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.windows = w
}

// SetLogger sets the logger that the method Limits uses; default slog.Default.
func (ps *Providers) SetLogger(l *slog.Logger) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.logger = l
}

// Limits returns the limits of a model from the table that SetWindows has set, or from
// DefaultWindows. See Windows.Limits. For an unknown model it logs a warning, once for each model
// and for at most 1,000 models.
func (ps *Providers) Limits(provider, modelID string) (l Limits, known bool) {
	ps.mu.RLock()
	defer ps.mu.RUnlock()
	l, known = ps.windows.Limits(provider, modelID)
	if !known {
		ps.unknown.log(cmp.Or(ps.logger, slog.Default()), Model{provider, modelID}, l.Window)
	}
	return l, known
}

// findModel returns the entry for a model in a table. It looks for the id, and then for the id
// without the suffix of a dated snapshot. For openai-responses, it also looks for the models of
// openai, because both providers have the same models.
func findModel[V any](table map[Model]V, m Model) (v V, found bool) {
	if v, found = table[m]; found {
		return v, true
	}
	if m.Provider == "openai-responses" {
		return findModel(table, Model{Provider: "openai", ID: m.ID})
	}
	m.ID = snapshot.ReplaceAllString(m.ID, "")
	v, found = table[m]
	return v, found
}

// infoOf returns the description of a model with a price.
func infoOf(m Model, price Price, windows Windows) perdure.ModelInfo {
	info := perdure.ModelInfo{ID: m.ID, Price: price}
	if l, known := windows.Limits(m.Provider, m.ID); known {
		info.Window, info.MaxOutput = l.Window, l.MaxOutput
	}
	return info
}

const (
	k128  = 128_000
	k200  = 200_000
	k272  = 272_000
	meg   = 1_000_000
	gpt41 = 1_047_576
	flash = 1_048_576
)

func area(window, output int) Limits  { return Limits{window, output, ImagesByArea} }
func tiles(window, output int) Limits { return Limits{window, output, ImagesByTiles} }
func large(window, output int) Limits { return Limits{window, output, ImagesByLargeTiles} }

// DefaultWindows are the published limits of the models that this version knows.
var DefaultWindows = Windows{
	{"anthropic", "claude-fable-5-1"}:  area(meg, k128),
	{"anthropic", "claude-mythos-5-1"}: area(meg, k128),
	{"anthropic", "claude-fable-5"}:    area(meg, k128),
	{"anthropic", "claude-mythos-5"}:   area(meg, k128),
	{"anthropic", "claude-opus-5-5"}:   area(meg, k128),
	{"anthropic", "claude-opus-5"}:     area(meg, k128),
	{"anthropic", "claude-opus-4-8"}:   area(meg, k128),
	{"anthropic", "claude-opus-4-7"}:   area(meg, k128),
	{"anthropic", "claude-opus-4-6"}:   area(meg, k128),
	{"anthropic", "claude-opus-4-5"}:   area(k200, 64_000),
	{"anthropic", "claude-opus-4-1"}:   area(k200, 32_000),
	{"anthropic", "claude-opus-4-0"}:   area(k200, 32_000),
	{"anthropic", "claude-opus-4"}:     area(k200, 32_000),
	{"anthropic", "claude-sonnet-5-5"}: area(meg, k128),
	{"anthropic", "claude-sonnet-5"}:   area(meg, k128),
	{"anthropic", "claude-sonnet-4-6"}: area(meg, 64_000),
	{"anthropic", "claude-sonnet-4-5"}: area(k200, 64_000),
	{"anthropic", "claude-sonnet-4-0"}: area(k200, 64_000),
	{"anthropic", "claude-sonnet-4"}:   area(k200, 64_000),
	{"anthropic", "claude-3-7-sonnet"}: area(k200, 64_000),
	{"anthropic", "claude-3-5-sonnet"}: area(k200, 8_192),
	{"anthropic", "claude-haiku-5-5"}:  area(meg, k128),
	{"anthropic", "claude-haiku-4-5"}:  area(k200, 64_000),
	{"anthropic", "claude-3-5-haiku"}:  area(k200, 8_192),
	{"anthropic", "claude-3-opus"}:     area(k200, 4_096),
	{"anthropic", "claude-3-haiku"}:    area(k200, 4_096),

	// GPT-5 and later models limit the prompt separately from the answer.
	{"openai", "gpt-5.5"}:           tiles(922_000, k128),
	{"openai", "gpt-5.4"}:           tiles(922_000, k128),
	{"openai", "gpt-5.4-mini"}:      tiles(k272, k128),
	{"openai", "gpt-5.2"}:           tiles(k272, k128),
	{"openai", "gpt-5.1"}:           tiles(k272, k128),
	{"openai", "gpt-5"}:             tiles(k272, k128),
	{"openai", "gpt-5-mini"}:        tiles(k272, k128),
	{"openai", "gpt-5-nano"}:        tiles(k272, k128),
	{"openai", "gpt-5-codex"}:       tiles(k272, k128),
	{"openai", "gpt-4.1"}:           tiles(gpt41, 32_768),
	{"openai", "gpt-4.1-mini"}:      tiles(gpt41, 32_768),
	{"openai", "gpt-4.1-nano"}:      tiles(gpt41, 32_768),
	{"openai", "gpt-4o"}:            tiles(k128, 16_384),
	{"openai", "gpt-4o-2024-05-13"}: tiles(k128, 4_096),
	{"openai", "gpt-4o-mini"}:       tiles(k128, 16_384),
	{"openai", "o4-mini"}:           tiles(k200, 100_000),
	{"openai", "o3"}:                tiles(k200, 100_000),
	{"openai", "o3-mini"}:           tiles(k200, 100_000),
	{"openai", "o1"}:                tiles(k200, 100_000),

	{"gemini", "gemini-3.5-flash"}:       large(flash, 65_536),
	{"gemini", "gemini-3.1-pro-preview"}: large(flash, 65_536),
	{"gemini", "gemini-3-pro-preview"}:   large(flash, 65_536),
	{"gemini", "gemini-3-flash-preview"}: large(flash, 65_536),
	{"gemini", "gemini-2.5-pro"}:         large(flash, 65_536),
	{"gemini", "gemini-2.5-flash"}:       large(flash, 65_536),
	{"gemini", "gemini-2.5-flash-lite"}:  large(flash, 65_536),
	{"gemini", "gemini-2.0-flash"}:       large(flash, 8_192),
}
