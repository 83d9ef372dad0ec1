package main

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// check looks at all that was seen so far. It says what there is now, and whether that is what was waited for.
type check func(sightings) (seen string, done bool)

// all holds when every one of the checks does.
func all(checks ...check) check {
	return func(log sightings) (string, bool) {
		var reports []string
		whole := true
		for _, c := range checks {
			seen, done := c(log)
			reports = append(reports, seen)
			whole = whole && done
		}
		return strings.Join(reports, "; "), whole
	}
}

// newRevision holds when other scripts serve than those of the old revision.
func newRevision(old string) check {
	return func(log sightings) (string, bool) {
		now := revision(log)
		return "scriptRevision " + now, now != "" && now != old
	}
}

// definitionReady holds when the newest scripts serve.
func definitionReady(log sightings) (string, bool) {
	definition := log.get(composites, controllerName)
	if definition == nil {
		return "no definition", false
	}
	ready, readyMessage := condition(definition, v1alpha1.ConditionReady)
	loaded, loadedMessage := scripts(definition)
	seen := fmt.Sprintf("Ready %q (%s), ScriptsReady %q (%s)", ready, readyMessage, loaded, loadedMessage)
	return seen, ready == "True" && loaded == "True"
}

// scriptsBroken holds when the condition says that the newest scripts do not load, and where they are wrong.
func scriptsBroken(position *regexp.Regexp) check {
	return func(log sightings) (string, bool) {
		definition := log.get(composites, controllerName)
		if definition == nil {
			return "no definition", false
		}
		return describeBroken(definition), isBroken(definition, position)
	}
}

func isBroken(definition *unstructured.Unstructured, position *regexp.Regexp) bool {
	status, message := scripts(definition)
	return status == "False" && position.MatchString(message)
}

func describeBroken(definition *unstructured.Unstructured) string {
	status, message := scripts(definition)
	return fmt.Sprintf("ScriptsReady %q (%s)", status, message)
}
