package perdure

// Usage counts the tokens of model calls. Cost is in US dollars; it is nil if no price is known.
// Input does not include tokens that were read from or written to a prompt cache. Reasoning is
// included in Output; it is nil if the provider does not report reasoning tokens.
type Usage struct {
	Input       int64    `json:"input"`
	Output      int64    `json:"output"`
	Reasoning   *int64   `json:"reasoning"`
	CacheRead   int64    `json:"cacheRead"`
	CacheWrite  int64    `json:"cacheWrite"`
	TotalTokens int64    `json:"totalTokens"`
	Cost        *float64 `json:"cost"`
	Calls       int64    `json:"calls"`
}

// CostIsWhole reports whether a cost is known for every model that was called. Otherwise the sum of
// the known costs is only a lower bound.
func CostIsWhole(byModel map[string]Usage) bool {
	for _, u := range byModel {
		if u.Calls > 0 && u.Cost == nil {
			return false
		}
	}
	return true
}

// Add returns the sum of u and v. The sum has a cost if u or v has one, and a count of reasoning
// tokens if u or v has one; a missing value counts as 0. If calls without a known price are
// included, the cost is a lower bound, see [CostIsWhole].
func (u Usage) Add(v Usage) Usage {
	sum := Usage{
		Input:       u.Input + v.Input,
		Output:      u.Output + v.Output,
		CacheRead:   u.CacheRead + v.CacheRead,
		CacheWrite:  u.CacheWrite + v.CacheWrite,
		TotalTokens: u.TotalTokens + v.TotalTokens,
		Calls:       u.Calls + v.Calls,
		Cost:        addKnown(u.Cost, v.Cost),
		Reasoning:   addKnown(u.Reasoning, v.Reasoning),
	}
	return sum
}

// addKnown returns a new pointer to the sum of *a and *b. A nil pointer counts as 0; if both are
// nil, the result is nil.
func addKnown[N int64 | float64](a, b *N) *N {
	if a == nil {
		a, b = b, nil
	}
	if a == nil {
		return nil
	}
	sum := *a
	if b != nil {
		sum += *b
	}
	return &sum
}
