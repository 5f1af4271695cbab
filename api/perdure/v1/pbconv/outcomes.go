package pbconv

import (
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

func askedToProto(a perdure.Asked) *perdurev1.Asked {
	if len(a.Dues) == 0 && len(a.Outcomes) == 0 {
		return nil
	}
	return &perdurev1.Asked{Dues: each(a.Dues, dueToProto), Outcomes: each(a.Outcomes, outcomesToProto)}
}

func (d *decoder) asked(m *perdurev1.Asked) perdure.Asked {
	return perdure.Asked{Dues: each(m.GetDues(), d.due), Outcomes: each(m.GetOutcomes(), outcomesFromProto)}
}

func dueToProto(d perdure.Due) *perdurev1.Due {
	return &perdurev1.Due{Name: d.Name, At: timeToProto(d.At)}
}

func (d *decoder) due(m *perdurev1.Due) perdure.Due {
	return perdure.Due{Name: m.GetName(), At: d.time("asked.dues.at", m.GetAt())}
}

func outcomesToProto(o perdure.Outcomes) *perdurev1.Outcomes {
	return &perdurev1.Outcomes{Name: o.Name, Of: each(o.Of, func(i int) int64 { return int64(i) })}
}

func outcomesFromProto(m *perdurev1.Outcomes) perdure.Outcomes {
	return perdure.Outcomes{Name: m.GetName(), Of: each(m.GetOf(), func(i int64) int { return int(i) })}
}

func choiceToProto(c perdure.Choice) *perdurev1.Choice {
	return &perdurev1.Choice{Name: c.Name, Number: int64(c.Number), Index: int64(c.Index)}
}

func choiceFromProto(m *perdurev1.Choice) perdure.Choice {
	return perdure.Choice{Name: m.GetName(), Number: int(m.GetNumber()), Index: int(m.GetIndex())}
}
