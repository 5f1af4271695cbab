package perdure

import (
	"encoding/json"
	"slices"
)

// Features is a set of features that a worker must support to run certain executions and tasks. Each
// feature is a bit, which is stored, so a bit keeps its meaning.
type Features int64

// FeatureContext is the model's context as ContextOf returns it: a worker that supports it does not
// show the model the entries that a compaction covers. An execution needs the feature from its
// first compaction.
const FeatureContext Features = 1

// FeatureQuestions is that a worker understands waits for questions, and claims that carry
// questions. An execution needs it from its first question.
const FeatureQuestions Features = 2

// FeatureLocalQuestions is that a worker stores the contents and the answers of the questions of
// LOCAL executions. A LOCAL execution needs it from its first question, and from its start if
// policies guard its tool calls.
const FeatureLocalQuestions Features = 4

// AllFeatures are the features that workers of this version support.
const AllFeatures = FeatureContext | FeatureQuestions | FeatureLocalQuestions

// featureNames are the names of the features in the order of their bits.
var featureNames = []string{"context/1", "questions", "questions/local"}

// Lacks returns the features of needs that are not in f.
func (f Features) Lacks(needs Features) Features { return needs &^ f }

// Names returns the names of the features; nil if there are none. It leaves out features that this
// version does not know.
func (f Features) Names() (names []string) {
	for i, name := range featureNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// FeaturesOf returns the features with these names. It ignores names that this version does not
// know.
func FeaturesOf(names []string) (f Features) {
	for _, name := range names {
		if i := slices.Index(featureNames, name); i >= 0 {
			f |= 1 << i
		}
	}
	return f
}

// MarshalJSON returns the list of the names.
func (f Features) MarshalJSON() ([]byte, error) {
	return json.Marshal(append([]string{}, f.Names()...))
}

// UnmarshalJSON reads a list of names.
func (f *Features) UnmarshalJSON(raw []byte) error {
	var names []string
	if err := json.Unmarshal(raw, &names); err != nil {
		return err
	}
	*f = FeaturesOf(names)
	return nil
}
