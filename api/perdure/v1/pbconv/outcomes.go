package pbconv

import (
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

func askedToProto(a perdure.RecordedWaits) *perdurev1.Asked {
	if len(a.Dues) == 0 && len(a.Outcomes) == 0 {
		return nil
	}
	return &perdurev1.Asked{Dues: each(a.Dues, dueToProto), Outcomes: each(a.Outcomes, outcomesToProto)}
}

func (d *decoder) asked(m *perdurev1.Asked) perdure.RecordedWaits {
	return perdure.RecordedWaits{Dues: each(m.GetDues(), d.due), Outcomes: each(m.GetOutcomes(), outcomesFromProto)}
}

func dueToProto(d perdure.TimerDue) *perdurev1.Due {
	return &perdurev1.Due{Name: d.Name, At: timeToProto(d.At)}
}

func (d *decoder) due(m *perdurev1.Due) perdure.TimerDue {
	return perdure.TimerDue{Name: m.GetName(), At: d.time("asked.dues.at", m.GetAt())}
}

func outcomesToProto(o perdure.WaitOutcomes) *perdurev1.Outcomes {
	return &perdurev1.Outcomes{Name: o.Name, Of: each(o.Of, func(i int) int64 { return int64(i) })}
}

func outcomesFromProto(m *perdurev1.Outcomes) perdure.WaitOutcomes {
	return perdure.WaitOutcomes{Name: m.GetName(), Of: each(m.GetOf(), func(i int64) int { return int(i) })}
}

func choiceToProto(c perdure.WaitChoice) *perdurev1.Choice {
	return &perdurev1.Choice{Name: c.Name, Number: int64(c.Number), Index: int64(c.Index)}
}

func choiceFromProto(m *perdurev1.Choice) perdure.WaitChoice {
	return perdure.WaitChoice{Name: m.GetName(), Number: int(m.GetNumber()), Index: int(m.GetIndex())}
}
