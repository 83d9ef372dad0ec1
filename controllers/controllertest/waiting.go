package controllertest

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// compareWaiting compares what waits: answers, or the children that differ from what the hooks want.
func (c *comparison) compareWaiting(ctx context.Context) error {
	switch {
	case c.want.Waiting == nil:
		return nil
	case c.want.Waiting.Answer != nil:
		c.compareWaits(c.want.Waiting.Answer)
		return nil
	}
	var got []string
	for _, p := range c.parents {
		object := c.find(p)
		if object == nil {
			continue
		}
		changes, err := p.answers.Unapplied(ctx, c.session, object)
		if err != nil {
			return err
		}
		for _, change := range changes {
			got = append(got, string(c.shortName(nameOf(change.Key.Kind.Kind, change.Key.Namespace, change.Key.Name))))
		}
	}
	var want []string
	for _, name := range c.want.Waiting.Children {
		want = append(want, string(c.shortName(name)))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(want, got) {
		c.mismatchf(".want.waiting", "what waits is %s, want %s", listed(got), listed(want))
	}
	return nil
}

// compareWaits compares the answers that wait.
func (c *comparison) compareWaits(want *WaitingAnswer) {
	if len(c.parents) == 0 {
		c.mismatchf(".want.waiting", "there is no parent: %s", c.parentNames())
	}
	for _, p := range c.parents {
		waits := c.session.Waits(p.object)
		message := regexp.MustCompile(want.Message)
		isWanted := func(wait variant.Wait) bool {
			return (want.Reason == "" || want.Reason == wait.Reason) && message.MatchString(wait.Message)
		}
		var got []string
		for _, wait := range waits {
			got = append(got, wait.String())
		}
		switch {
		case *want == WaitingAnswer{} && len(waits) > 0:
			c.mismatchf(".want.waiting", "%s: the last answer waits for %s, want none", p.name(), quotedList(got))
		case *want != WaitingAnswer{} && len(waits) == 0:
			c.mismatchf(".want.waiting", "%s: no hook waits in its last answer", p.name())
		case *want != WaitingAnswer{} && !slices.ContainsFunc(waits, isWanted):
			c.mismatchf(".want.waiting", "%s: the last answer waits for %s", p.name(), quotedList(got))
		}
	}
}

// checkWaits returns an error if a pass wrote a child though the hooks answered that they wait. That would be a fault of the host, which
// is looked for in each pass that tests and --explore make.
func (s *stepRun) checkWaits(p *parentState, result simulation.Result) error {
	waits := s.session.Waits(p.object)
	if len(result.Calls) == 0 || !slices.ContainsFunc(waits, func(wait variant.Wait) bool { return wait.Input == "" }) {
		return nil
	}
	for _, w := range result.Writes {
		for _, object := range []*unstructured.Unstructured{w.Before, w.After} {
			if object == nil {
				continue
			}
			if owner := metav1.GetControllerOf(object); owner != nil && owner.UID == p.uid {
				return fmt.Errorf("a pass over %s made the write %s, though the hook waits: please report this as a bug of libretto",
					p.name(), describeWrite(w))
			}
		}
	}
	return nil
}
