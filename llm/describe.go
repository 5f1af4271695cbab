package llm

import (
	"cmp"
	"slices"

	"github.com/perdure/perdure"
)

// knownNames are the names of the providers that this module implements, in the order of preference
// of DefaultModel.
var knownNames = []string{"anthropic", "openai", "openai-responses", "gemini", "scripted"}

// KnownProviders returns descriptions of the providers that this module implements, in the order of
// preference of DefaultModel. The models of a provider are those with a price in DefaultPrices.
func KnownProviders() []perdure.ProviderInfo { return DescribeProviders(nil, nil) }

// DescribeProviders returns the same as KnownProviders, but with the given prices and context
// windows.
func DescribeProviders(prices Prices, windows Windows) []perdure.ProviderInfo {
	if prices == nil {
		prices = DefaultPrices
	}
	all := make([]perdure.ProviderInfo, len(knownNames))
	for i, name := range knownNames {
		d := defaultsOf[name]
		all[i] = perdure.ProviderInfo{Name: name, DefaultModel: d.model, Models: pricedModels(name, prices, windows)}
		for _, variable := range []string{d.keyEnv, otherKeys[name]} {
			if variable != "" {
				all[i].APIKeyEnvs = append(all[i].APIKeyEnvs, variable)
			}
		}
	}
	return all
}

// pricedModels returns the models of a provider that have a price, ordered by id.
func pricedModels(provider string, prices Prices, windows Windows) []perdure.ModelInfo {
	if provider == "openai-responses" { // it has the models of openai, through another API
		provider = "openai"
	}
	var models []perdure.ModelInfo
	for model, price := range prices {
		if model.Provider == provider {
			models = append(models, infoOf(model, price, windows))
		}
	}
	slices.SortFunc(models, func(a, b perdure.ModelInfo) int { return cmp.Compare(a.ID, b.ID) })
	return models
}

// DefaultModel returns the model to use if the configuration names none. It is the default model of
// the first known provider whose API key is set in the environment, which is read with getenv. The
// bool reports whether there is such a provider.
func DefaultModel(getenv func(string) string) (perdure.ModelConfig, bool) {
	for _, p := range KnownProviders() {
		if slices.ContainsFunc(p.APIKeyEnvs, func(name string) bool { return getenv(name) != "" }) {
			return perdure.ModelConfig{Provider: p.Name, ModelID: p.DefaultModel}, true
		}
	}
	return perdure.ModelConfig{}, false
}
