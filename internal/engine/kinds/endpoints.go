package kinds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/validate"
)

const (
	// maxNamedEndpoints is the maximum number of model endpoints that an error message names.
	maxNamedEndpoints = 20
	// AnyQueue stands for a queue that is not known yet: an execution of a definition may run on
	// any queue.
	AnyQueue = ""
)

// checkAllowed checks the model endpoints that a worker registers: their number, form and length.
// It refuses a URL with a password, a path or a query. It also refuses an endpoint that has an API
// key where the name of an environment variable belongs.
func checkAllowed(field string, all []perdure.ModelEndpoint) error {
	if len(all) > perdure.MaxEndpoints {
		return perdure.FieldErrorf(field, "are %d; a worker names %d at most", len(all), perdure.MaxEndpoints)
	}
	for i, e := range all {
		at := fmt.Sprintf("%s[%d]", field, i)
		origin, err := perdure.OriginOf(at+".origin", e.Origin)
		if err != nil {
			return err
		}
		if origin != e.Origin {
			return perdure.FieldErrorf(at+".origin", "must be scheme://host:port in lower case, and no more")
		}
		if len(e.Origin) > validate.MaxName || len(e.Provider) > validate.MaxName {
			return perdure.FieldErrorf(at, "has over %d characters", validate.MaxName)
		}
		if err := (perdure.ModelConfig{APIKeyEnv: e.APIKeyEnv}).CheckEndpoint(at + "."); err != nil {
			return err
		}
	}
	return nil
}

// CheckEndpoints refuses a model if no worker of the queue allows its endpoint together with the
// environment variable of its API key. Workers apply the same rule ([llm.Endpoints.Resolve]). If
// `known` has no endpoint of the model's provider on the queue, CheckEndpoints accepts the model,
// and the worker checks it.
func CheckEndpoints(models []perdure.ModelConfig, known []perdure.ModelEndpoint, queue string) error {
	if queue != AnyQueue {
		known = slices.DeleteFunc(slices.Clone(known), func(e perdure.ModelEndpoint) bool { return e.Queue != queue })
	}
	for n, m := range models {
		if m.BaseURL == "" && m.APIKeyEnv == "" {
			continue
		}
		defaults := slices.DeleteFunc(slices.Clone(known), func(e perdure.ModelEndpoint) bool { return e.Provider != m.Provider })
		if len(defaults) == 0 || endpointAllowed(m, known, defaults) {
			continue
		}
		field := fmt.Sprintf("models[%d].baseUrl", n)
		if m.BaseURL == "" {
			field = fmt.Sprintf("models[%d].apiKeyEnv", n)
		}
		return perdure.FieldErrorf(field, "%s is allowed by no worker%s; allowed are: %s", pairOf(m), ofQueue(queue), nameEndpoints(known))
	}
	return nil
}

func endpointAllowed(m perdure.ModelConfig, known, defaults []perdure.ModelEndpoint) bool {
	allowed := func(origin, keyEnv string) bool {
		return slices.ContainsFunc(known, func(e perdure.ModelEndpoint) bool { return e.Origin == origin && e.APIKeyEnv == keyEnv })
	}
	if m.BaseURL == "" {
		return slices.ContainsFunc(defaults, func(d perdure.ModelEndpoint) bool { return allowed(d.Origin, m.APIKeyEnv) })
	}
	origin, err := perdure.OriginOf("baseUrl", m.BaseURL)
	if err != nil {
		return false
	}
	if m.APIKeyEnv != "" {
		return allowed(origin, m.APIKeyEnv)
	}
	return allowed(origin, "") || slices.ContainsFunc(defaults, func(d perdure.ModelEndpoint) bool { return allowed(origin, d.APIKeyEnv) })
}

// pairOf describes the endpoint of a model in the text of an error: its URL origin, and the
// environment variable that contains the API key.
func pairOf(m perdure.ModelConfig) string {
	origin, key := "the provider's own endpoint", "the provider's own key variable"
	if m.BaseURL != "" {
		if known, err := perdure.OriginOf("baseUrl", m.BaseURL); err == nil {
			origin = known
		}
	}
	if m.APIKeyEnv != "" {
		key = m.APIKeyEnv
	}
	return origin + " with " + key
}

func ofQueue(queue string) string {
	if queue == AnyQueue {
		return ""
	}
	return fmt.Sprintf(" of the queue %q", queue)
}

// nameEndpoints returns text that lists the pairs of URL origin and environment variable of the
// endpoints, each pair once.
func nameEndpoints(known []perdure.ModelEndpoint) string {
	var names []string
	for _, e := range known {
		names = append(names, e.Origin+" with "+orNone(e.APIKeyEnv))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if more := len(names) - maxNamedEndpoints; more > 0 {
		names = append(names[:maxNamedEndpoints], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

func orNone(keyEnv string) string {
	if keyEnv == "" {
		return "no key"
	}
	return keyEnv
}
