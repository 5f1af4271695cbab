package perdure

// Usage counts tokens. Cost is in US dollars, nil if no price is known. Input does not include
// tokens read from or written to a prompt cache. Reasoning is a part of Output, nil if the provider
// does not report it.
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

// CostIsWhole reports whether the total cost over these models covers every call.
func CostIsWhole(byModel map[string]Usage) bool {
	for _, u := range byModel {
		if u.Calls > 0 && u.Cost == nil {
			return false
		}
	}
	return true
}

// Add returns the sum of u and v. A cost, or a count of reasoning tokens, is known in the sum if
// one of both is known; it is the sum of the known values. If calls without a price are included,
// the cost is a lower bound, see [CostIsWhole].
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

// addKnown returns the sum of the known numbers, nil if none is known.
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
