// Package listing finds the executions that a filter selects, newest first. It examines a bounded
// number of rows for each page.
package listing

import (
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
	"github.com/perdure/perdure/internal/store/sql/trigram"
)

// A list of executions is read in two steps. First, a source returns the numbers of candidates,
// newest first, from an index. Then conditions are checked on the rows of the candidates. The
// source is chosen so that few candidates fail the conditions. For one page, a limited number of
// candidates is examined.
//

// listSource is a statement that selects the numbers of executions, newest first, beginning below a
// given number. That number and the limit are its last two parameters.
type listSource struct {
	query *statement.Statement
	args  []any
}

const newestBelow = " AND number < ? ORDER BY number DESC LIMIT ?"

// ended is the SQL condition for executions that are in the index of ended executions.
const ended = "completed_at IS NOT NULL"

var (
	sourceOfOrg        = statement.Read("SELECT number FROM agent_execution INDEXED BY idx_agent_execution_org WHERE org_id = ?" + newestBelow)
	sourceOfStatus     = statement.Read("SELECT number FROM agent_execution INDEXED BY idx_agent_execution_by_status WHERE org_id = ? AND " + ended + " AND status = ?" + newestBelow)
	sourceOfDefinition = statement.Read("SELECT number FROM agent_execution INDEXED BY idx_agent_execution_definition WHERE agent_definition_id = ?" + newestBelow)
	sourceOfMetadata   = statement.Read("SELECT number FROM agent_metadata INDEXED BY idx_agent_metadata_value WHERE org_id = ? AND key = ? AND value = ?" + newestBelow)
)

// The statements pendingOfOrg, aloneOfOrg, allHeld and allWaiting find executions that have not
// ended. Their indexes are not ordered by number, but small. So all numbers are read and sorted,
// unless there are more than may be examined for one page.
var (
	pendingOfOrg = statement.Read("SELECT number FROM agent_execution INDEXED BY idx_agent_execution_dispatch WHERE org_id = ? AND status = 'PENDING' AND crashes < 6 LIMIT ?")
	aloneOfOrg   = statement.Read("SELECT number FROM agent_execution INDEXED BY idx_agent_execution_alone WHERE org_id = ? AND status = 'PENDING' AND crashes >= 6 LIMIT ?")
	allHeld      = statement.Read("SELECT number FROM agent_execution INDEXED BY idx_agent_execution_held WHERE status IN ('RUNNING', 'CANCELLING') LIMIT ?")
	allWaiting   = statement.Read("SELECT number FROM agent_execution INDEXED BY idx_agent_execution_waiting WHERE status = 'WAITING' LIMIT ?")
)

// option is a filter that can be used as the source of the candidates, or as a condition on their
// rows.
type option struct {
	listSource
	condition string
	values    []any
}

// Query is a search for the executions of a list, with its sources and conditions.
type Query struct {
	dialect *statement.Dialect
	org     string
	filter  store.ExecutionFilter
	// options are the filters for which an index exists. At most one becomes the source of the
	// candidates; the others become conditions.
	options []option
	sources []listSource
	// live are statements that select the numbers of all executions that have not ended, unordered.
	// The last parameter of each is the limit.
	live []listSource
	// gathered contains the numbers that the statements in `live` have selected, newest first.
	gathered []int64
	// where contains conditions on the rows of candidates; args contains the parameters of the
	// conditions.
	where []string
	args  []any
	begun bool
	Plain bool // do not use the text index
	// text finds the candidates of a text query with the text index. It is nil if the candidates
	// come from the sources.
	text *textSearch
	// Rows is the maximum number of candidates that are examined.
	Rows int
}

// New creates a Query for a filter. The Query examines at most `rows` candidates.
func New(dialect *statement.Dialect, org string, f store.ExecutionFilter, rows int) *Query {
	if f.FailedTurn && len(f.Status) == 0 {
		// An execution with a failed turn is always WAITING, and the status has an index.
		f.Status = []perdure.Status{perdure.StatusWaiting}
	}
	l := &Query{dialect: dialect, org: org, filter: f, Rows: rows}
	l.addMetadata()
	if f.DefinitionID != nil {
		l.options = append(l.options, option{listSource{sourceOfDefinition, []any{f.DefinitionID[:]}}, "x.agent_definition_id = ?", []any{f.DefinitionID[:]}})
	}
	l.addStatus()
	l.addRest()
	return l
}

// add adds a condition on the rows of candidates.
func (l *Query) add(condition string, values ...any) {
	l.where, l.args = append(l.where, condition), append(l.args, values...)
}

// walk makes every execution of the org a candidate.
func (l *Query) walk() {
	l.sources, l.live = []listSource{{sourceOfOrg, []any{l.org}}}, nil
}

func (l *Query) addMetadata() {
	for _, key := range slices.Sorted(maps.Keys(l.filter.Metadata)) {
		value := l.filter.Metadata[key]
		if !load.IndexedMember(key, value) {
			condition, args := l.dialect.MetadataMember(key, value)
			l.add(condition, args...)
			continue
		}
		l.options = append(l.options, option{
			listSource{sourceOfMetadata, []any{l.org, key, value}},
			"EXISTS (SELECT 1 FROM agent_metadata m WHERE m.agent_execution_id = x.id AND m.key = ? AND m.value = ?)",
			[]any{key, value},
		})
	}
}

// addStatus adds the filter by status. A single terminal status becomes an option. Several statuses
// become sources if the filter has no option.
func (l *Query) addStatus() {
	statuses := slices.Compact(slices.Sorted(slices.Values(l.filter.Status)))
	switch {
	case len(statuses) == 0:
	case len(statuses) == 1 && statuses[0].Terminal():
		status := string(statuses[0])
		l.options = append(l.options, option{listSource{sourceOfStatus, []any{l.org, status}}, "x.status = ?", []any{status}})
	case len(l.options) > 0:
		l.addStatuses(statuses)
	default:
		l.statusSources(statuses)
		l.addStatuses(statuses)
	}
}

// The method `probe` estimates how many candidates an option has: it reads the option's row with
// the number `probed`, counted from the newest one. The older that row is, the fewer candidates the
// option has. An option without such a row has few candidates. At most maxProbes options are
// probed.
const probed, maxProbes = 500, 8

// skipping returns the statement of the source with one more parameter at the end, the number of
// rows to skip.
func (s listSource) skipping() *statement.Statement {
	return statement.NewRead(s.query.Text() + " OFFSET ?")
}

// choose selects the option that probably has the fewest candidates as the source: the option whose
// newest `probed` rows go back furthest in time. For a text query, it uses the text index instead,
// unless an option has very few candidates.
func (l *Query) choose(v statement.View, before int64) (err error) {
	best, few, err := l.probe(v, before)
	if err != nil {
		return err
	}
	if l.filter.Query != "" && !l.Plain && !few && len(l.live) == 0 {
		if l.text, err = newTextSearch(v, l.filter.Query); err != nil {
			return err
		}
		if l.text != nil {
			best = -1
		}
	}
	l.take(best)
	if l.text == nil && len(l.sources) == 0 && len(l.live) == 0 {
		l.walk()
	}
	return nil
}

// probe returns the index of the option that probably has the fewest candidates, and whether these
// are few.
func (l *Query) probe(v statement.View, before int64) (best int, few bool, err error) {
	least := before
	for i := range l.options[:min(len(l.options), maxProbes)] {
		o := &l.options[i]
		if len(l.options) == 1 && l.filter.Query == "" {
			break
		}
		var furthest int64 // stays 0 if the option has fewer than probed rows
		if _, err := v.One(o.skipping(), append(slices.Clone(o.args), before, 1, probed-1), &furthest); err != nil {
			return 0, false, err
		}
		if furthest < least {
			best, least = i, furthest
		}
	}
	return best, least == 0, nil
}

// take uses the option with the index `best` as the source of the candidates, and turns all other
// options into conditions. If `best` is -1, all options become conditions.
func (l *Query) take(best int) {
	for i, o := range l.options {
		if i == best {
			l.sources = []listSource{o.listSource}
		} else {
			l.add(o.condition, o.values...)
		}
	}
	l.options = nil
}

func (l *Query) addStatuses(statuses []perdure.Status) {
	values := make([]any, len(statuses))
	for i, status := range statuses {
		values[i] = string(status)
	}
	l.add("x.status IN ("+statement.Marks(len(values))+")", values...)
}

func (l *Query) statusSources(statuses []perdure.Status) {
	for _, status := range statuses {
		switch status {
		case perdure.StatusPending:
			l.live = append(l.live, listSource{pendingOfOrg, []any{l.org}}, listSource{aloneOfOrg, []any{l.org}})
		case perdure.StatusWaiting:
			l.live = append(l.live, listSource{allWaiting, nil})
		case perdure.StatusRunning, perdure.StatusCancelling:
			if !slices.ContainsFunc(l.live, func(s listSource) bool { return s.query == allHeld }) {
				l.live = append(l.live, listSource{allHeld, nil})
			}
		default:
			l.sources = append(l.sources, listSource{sourceOfStatus, []any{l.org, string(status)}})
		}
	}
}

// textWeight is the cost of searching the texts of one row; the cost of reading a row is 1.
const textWeight = 3

// retryLeaf is the JSON in a stored wait for RetrySignal. No signal's name can contain this text,
// because JSON escapes quotation marks.
const retryLeaf = `"signal":"` + perdure.RetrySignal + `"`

// addRest adds the conditions of the filter that no index covers.
func (l *Query) addRest() {
	f := l.filter
	if f.Kind != "" {
		l.add("x.kind = ?", f.Kind)
	}
	if f.Kinds != nil {
		condition, list := l.dialect.KindAmong(f.Kinds)
		l.add(condition, list)
	}
	if f.FailedTurn {
		l.add("x.status = 'WAITING' AND x.kind = ? AND replace(x.wait, ?, '') <> x.wait", perdure.ReactKind, retryLeaf)
	}
	if f.CreatedAfter != nil {
		l.add("x.created_at > ?", column.Millis(*f.CreatedAfter))
	}
	if f.CreatedBefore != nil {
		l.add("x.created_at < ?", column.Millis(*f.CreatedBefore))
	}
	if f.Query != "" {
		l.Rows /= textWeight
		plain, escaped := trigram.QueryTexts(f.Query)
		condition, matched := l.dialect.QueryMatch(plain, escaped, strings.ReplaceAll(plain, "-", ""))
		l.add(condition, matched...)
	}
}

// begin chooses the sources of the candidates, at its first call.
func (l *Query) begin(v statement.View, before int64) error {
	if l.begun {
		return nil
	}
	l.begun = true
	if err := l.choose(v, before); err != nil {
		return err
	}
	return l.gather(v)
}

// gather reads the numbers that the statements in `live` select. If there are too many, every
// execution of the org becomes a candidate instead.
func (l *Query) gather(v statement.View) error {
	for _, s := range l.live {
		numbers, err := ReadNumbers(v, s.query, append(slices.Clone(s.args), l.Rows+1))
		if err != nil {
			return err
		}
		l.gathered = append(l.gathered, numbers...)
		if len(l.gathered) > l.Rows {
			l.gathered = nil
			l.walk()
			return nil
		}
	}
	l.live = nil
	slices.SortFunc(l.gathered, newestFirst)
	return nil
}

func newestFirst(a, b int64) int { return int(min(1, max(-1, b-a))) }

// ReadNumbers returns the numbers that a query selects.
func ReadNumbers(v statement.View, query *statement.Statement, args []any) (numbers []int64, err error) {
	err = v.Each(query, args, func(row func(...any) error) error {
		var number int64
		err := row(&number)
		numbers = append(numbers, number)
		return err
	})
	return numbers, err
}

// candidates returns about n candidates, the newest ones with numbers less than `before`.
func (l *Query) candidates(v statement.View, before int64, n int) (hits, error) {
	if l.text != nil {
		return l.text.below(v, l.org, before, n)
	}
	from, _ := slices.BinarySearchFunc(l.gathered, before-1, newestFirst)
	all := slices.Clone(l.gathered[from:min(len(l.gathered), from+n)])
	for _, s := range l.sources {
		numbers, err := ReadNumbers(v, s.query, append(slices.Clone(s.args), before, n))
		if err != nil {
			return hits{}, err
		}
		all = append(all, numbers...)
	}
	if len(l.sources) > 1 || len(l.gathered) > 0 {
		slices.SortFunc(all, newestFirst)
		all = slices.Compact(all)
	}
	if len(all) < n {
		return hits{numbers: all, cost: len(all), ended: true}, nil
	}
	return hits{numbers: all[:n], upto: all[n-1], cost: n}, nil
}

// matching returns the candidates whose rows meet all conditions.
func (l *Query) matching(v statement.View, candidates []int64) ([]int64, error) {
	if len(l.where) == 0 || len(candidates) == 0 {
		return candidates, nil
	}
	list, err := v.Dialect.Numbers(candidates)
	if err != nil {
		return nil, err
	}
	numbers, err := ReadNumbers(v, l.matchQuery(), append([]any{l.org, list}, l.args...))
	slices.SortFunc(numbers, newestFirst)
	return numbers, err
}

func (l *Query) matchQuery() *statement.Statement {
	return statement.NewAlone("SELECT x.number FROM " + l.dialect.AmongNumbers("agent_execution", "x", "org_id") + " WHERE " +
		numberedFrom(strings.Join(l.where, " AND "), 3))
}
