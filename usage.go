package perdure

// Usage counts tokens. Cost is in US dollars, nil where no price is known.
// Input does not include what was read from or written to a prompt cache.
type Usage struct {
	Input       int64    `json:"input"`
	Output      int64    `json:"output"`
	CacheRead   int64    `json:"cacheRead"`
	CacheWrite  int64    `json:"cacheWrite"`
	TotalTokens int64    `json:"totalTokens"`
	Cost        *float64 `json:"cost"`
	Calls       int64    `json:"calls"`
}

// Add is the sum of both. A cost is known if one of them is: the sum of the
// known ones.
func (u Usage) Add(v Usage) Usage {
	sum := Usage{
		Input:       u.Input + v.Input,
		Output:      u.Output + v.Output,
		CacheRead:   u.CacheRead + v.CacheRead,
		CacheWrite:  u.CacheWrite + v.CacheWrite,
		TotalTokens: u.TotalTokens + v.TotalTokens,
		Calls:       u.Calls + v.Calls,
		Cost:        u.Cost,
	}
	if v.Cost != nil {
		cost := *v.Cost
		if u.Cost != nil {
			cost += *u.Cost
		}
		sum.Cost = &cost
	}
	return sum
}
