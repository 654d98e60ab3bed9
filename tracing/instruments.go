package tracing

import (
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/zklocker/go-zksync/zksync"
)

// The attributes of metrics. Spans have them, too, except contended.
const (
	keyName      = attribute.Key("zksync.lock.name")
	keyMode      = attribute.Key("zksync.lock.mode")
	keyTry       = attribute.Key("zksync.lock.try")
	keyResult    = attribute.Key("zksync.lock.result")
	keyContended = attribute.Key("zksync.lock.contended")
	keyReason    = attribute.Key("zksync.lock.release.reason")
	keyError     = attribute.Key("error.type")
)

// maxNames bounds the number of names that are told apart, and so the memory.
const (
	maxNames  = 200
	otherName = "_OTHER"
)

// sets has the attributes that calls have in common. Each combination is made once,
// so that a call makes none.
type sets struct {
	fixed []attribute.KeyValue // WithAttributes

	mu    sync.RWMutex
	names map[string]struct{} // guarded by mu
	locks map[lockKey]*set    // guarded by mu
}

type lockKey struct {
	name string
	mode zksync.Mode
}

// set has what the calls of one name and mode have in common.
type set struct {
	measure // name and mode
	ages    ages

	acquire, try, hold, release spanKind

	sets     *sets
	name     string
	mode     attribute.KeyValue
	mu       sync.RWMutex
	outcomes map[outcome]*measure          // guarded by mu
	endings  map[zksync.EndReason]*measure // guarded by mu
	losses   map[zksync.EndReason]*measure // guarded by mu
}

// spanKind is a span's name and what else is known before it starts.
type spanKind struct {
	name  string
	opts  []trace.SpanStartOption
	attrs []attribute.KeyValue
}

// measure is one set of attributes, in the forms that instruments take.
type measure struct {
	add     []metric.AddOption
	record  []metric.RecordOption
	observe []metric.ObserveOption
}

// outcome is how a call ended. Its texts come from closed lists.
type outcome struct {
	result    string
	contended bool
	errorType string
}

func newSets(fixed []attribute.KeyValue) *sets {
	return &sets{fixed: fixed, names: make(map[string]struct{}), locks: make(map[lockKey]*set)}
}

// measure returns the set of attrs and of the attributes that all have in common.
func (s *sets) measure(name string, attrs ...attribute.KeyValue) *measure {
	all := slices.Concat(s.fixed, attrs)
	if name != "" {
		all = append(all, keyName.String(name))
	}
	o := metric.WithAttributeSet(attribute.NewSet(all...))
	return &measure{add: []metric.AddOption{o}, record: []metric.RecordOption{o}, observe: []metric.ObserveOption{o}}
}

// of returns the set of a name and a mode, and whether it is new.
func (s *sets) of(name string, mode zksync.Mode) (set *set, fresh bool) {
	key := lockKey{name, mode}
	s.mu.RLock()
	known := s.locks[key]
	s.mu.RUnlock()
	if known != nil {
		return known, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.names[name]; !ok && len(s.names) >= maxNames {
		key.name = otherName
	} else {
		s.names[name] = struct{}{}
	}
	if known := s.locks[key]; known != nil {
		return known, false
	}
	made := s.make(key)
	s.locks[key] = made
	return made, true
}

func (s *sets) make(key lockKey) *set {
	mode := keyMode.String(string(key.mode))
	made := &set{
		measure: *s.measure(key.name, mode), sets: s, name: key.name, mode: mode,
		outcomes: make(map[outcome]*measure),
		endings:  make(map[zksync.EndReason]*measure),
		losses:   make(map[zksync.EndReason]*measure),
	}
	kind := func(verb string, k trace.SpanKind, attrs ...attribute.KeyValue) spanKind {
		all := slices.Concat(s.fixed, []attribute.KeyValue{mode}, attrs)
		name := "zksync " + verb
		if key.name != "" {
			name = verb + " " + key.name
			all = append(all, keyName.String(key.name))
		}
		return spanKind{name, []trace.SpanStartOption{trace.WithSpanKind(k)}, all}
	}
	made.acquire = kind("acquire", trace.SpanKindClient, keyTry.Bool(false))
	made.try = kind("acquire", trace.SpanKindClient, keyTry.Bool(true))
	made.hold = kind("hold", trace.SpanKindInternal)
	made.release = kind("release", trace.SpanKindClient)
	return made
}

// each calls f for every set.
func (s *sets) each(f func(*set)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, set := range s.locks {
		f(set)
	}
}

// kept returns the value of key in a map of the set, and makes it if it is missing.
func kept[K comparable](s *set, list map[K]*measure, key K, attrs func() []attribute.KeyValue) *measure {
	s.mu.RLock()
	known := list[key]
	s.mu.RUnlock()
	if known != nil {
		return known
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if list[key] == nil {
		list[key] = s.sets.measure(s.name, attrs()...)
	}
	return list[key]
}

// outcome, ending and loss return the attributes of acquire.duration, hold.duration
// and losses.
func (s *set) outcome(o outcome) *measure {
	return kept(s, s.outcomes, o, func() []attribute.KeyValue {
		list := []attribute.KeyValue{s.mode, keyResult.String(o.result), keyContended.Bool(o.contended)}
		if o.errorType != "" {
			list = append(list, keyError.String(o.errorType))
		}
		return list
	})
}

func (s *set) ending(reason zksync.EndReason) *measure {
	return kept(s, s.endings, reason, func() []attribute.KeyValue {
		return []attribute.KeyValue{s.mode, keyReason.String(string(reason))}
	})
}

func (s *set) loss(reason zksync.EndReason) *measure {
	return kept(s, s.losses, reason, func() []attribute.KeyValue {
		return []attribute.KeyValue{keyReason.String(string(reason))}
	})
}
