package perdure

// Usage counts tokens. Cost is in US dollars, nil where no price is known.
// Input does not include what was read from or written to a prompt cache. Reasoning
// is a part of Output, nil where the provider does not tell it.
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

// CostIsWhole reports whether the cost of a sum over these models covers every call.
func CostIsWhole(byModel map[string]Usage) bool {
	for _, u := range byModel {
		if u.Calls > 0 && u.Cost == nil {
			return false
		}
	}
	return true
}

// Add is the sum of both. A cost, and a count of reasoning tokens, is known if one
// of them is: the sum of the known ones. Where calls without a price are among them it is a lower bound, see
// [CostIsWhole].
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

// addKnown returns the sum of the numbers that are known, nil if none is.
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
