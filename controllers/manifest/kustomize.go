package manifest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/manifest/kustomize"
	"github.com/libretto-k8s/libretto/engines"
)

// kustomizationNames are the names of the file that makes a directory a kustomization.
var kustomizationNames = konfig.RecognizedKustomizationFileNames()

// IsKustomization reports whether a directory has a kustomization.
func IsKustomization(directory string) bool {
	return slices.ContainsFunc(kustomizationNames, func(name string) bool {
		_, err := os.Stat(filepath.Join(directory, name))
		return err == nil
	})
}

// originAnnotation is where kustomize notes the file that an object is from, if it is asked to.
const originAnnotation = "config.kubernetes.io/origin"

// addKustomization builds a directory as kubectl apply -k does.
func (r *reader) addKustomization(ctx context.Context, directory string) error {
	if r.isRead(filepath.Join(directory, kustomizationNames[0])) {
		return nil
	}
	files, err := newKustomizeFiles(directory, r)
	if err != nil {
		return err
	}
	built, err := kustomize.Build(ctx, files, files.root)
	for _, name := range files.names {
		r.inputs[name] = true
	}
	if err != nil {
		return r.kustomizeError(files, err)
	}
	for _, text := range built {
		o, err := r.built(files, text)
		if err != nil {
			if r.readErrors(files) {
				return nil
			}
			return fmt.Errorf("%s: %w", directory, err)
		}
		if o.Object != nil {
			r.objects = append(r.objects, o)
		}
	}
	return nil
}

// kustomizeError records why a directory can't be built, with the best place there is.
func (r *reader) kustomizeError(files *kustomizeFiles, err error) error {
	var problem *document.Error
	var failed *kustomize.Error
	switch {
	case errors.As(files.err, &problem):
		r.problems = append(r.problems, problem)
		return nil
	case files.err != nil:
		return files.err
	case r.readErrors(files):
		return nil
	case errors.As(err, &failed) && failed.Remote:
		found := files.remoteEntry(failed)
		r.failf(found.at, "%s is not fetched: this command needs no network: run kustomize localize, or pipe kustomize build into -f -",
			found.value)
		return nil
	}
	at := engines.Location{File: files.rootName()}
	for _, named := range files.entries() {
		if strings.Contains(err.Error(), "'"+named.value+"'") || strings.Contains(err.Error(), "'./"+named.value+"'") {
			at = named.at
		}
	}
	message := strings.ReplaceAll(err.Error(), files.root, files.directory)
	for inner := accumulated.FindStringSubmatch(message); inner != nil; inner = accumulated.FindStringSubmatch(message) {
		message = inner[1] + ": " + inner[2]
	}
	message = goObject.ReplaceAllString(message, "an object")
	if absent := absentFile.FindStringSubmatch(message); absent != nil {
		message = fmt.Sprintf("there is no file %s: create it, or correct its name", strings.TrimPrefix(absent[1], "./"))
	}
	r.failf(at, "kustomize can't build it: %s%s", builtinConfig.ReplaceAllString(message, ""), kustomizeAdvice(message))
	return nil
}

// accumulated matches what kustomize says around what is wrong with an entry, which it takes for a file and then for a folder.
var accumulated = regexp.MustCompile(
	`^(?:accumulating (?:resources|components): )?accumulation err='accumulating resources from '([^']*)': (.*)': ` +
		`(?:must build at directory: |couldn't make target for path )'?[^']*'?: (?:file is not directory|unable to find one of .*)$`)

// goObject matches an object as Go prints it.
var goObject = regexp.MustCompile(`object \{\{.*\}\}$`)

// absentFile matches kustomize's message about a file of a generator that is not there.
var absentFile = regexp.MustCompile(`evalsymlink failure on '([^']+)' : lstat .*: no such file or directory$`)

// builtinConfig matches the configuration of a builtin plug-in, in several lines, before what is wrong with it.
var builtinConfig = regexp.MustCompile("(?s)trouble configuring builtin \\w+ with config: `.*`: ")

// kustomizeAdvice returns what to do about a message of kustomize, or "". It begins with a colon.
func kustomizeAdvice(message string) string {
	switch {
	case strings.Contains(message, "must specify --enable-helm"):
		return ": this command runs no Helm: pipe kustomize build --enable-helm into -f -"
	case strings.Contains(message, "already registered id"):
		return ": it is there twice: leave one out, or give it another name"
	case strings.Contains(message, "missing metadata.name in an object"):
		return ": give each object a name"
	case strings.HasSuffix(message, "must resolve to a file"):
		return ": it is a folder, and has no kustomization.yaml: name the files in it"
	case strings.Contains(message, "unable to parse SM or JSON patch"):
		return ": a patch is a part of the object, or a list of {op, path, value}: in one that begins with [ the names are in quotes"
	}
	return ""
}

// readErrors records what is wrong with the YAML of the files that kustomize has read, at its place, without which kustomize tells of it.
// It reports whether there is anything.
func (r *reader) readErrors(files *kustomizeFiles) bool {
	found := false
	for _, name := range files.names {
		if extension := filepath.Ext(name); extension != ".yaml" && extension != ".yml" && extension != ".json" || isKustomization(name) {
			continue
		}
		_, problems := document.Read(name, files.text[name])
		r.problems = append(r.problems, problems...)
		found = found || len(problems) > 0
	}
	return found
}

// built returns an object that kustomize has built, with its place in the file that it is from.
func (r *reader) built(files *kustomizeFiles, text []byte) (loaded, error) {
	objects, problems := document.Read(files.rootName(), text)
	if len(problems) > 0 || len(objects) != 1 {
		for _, p := range problems {
			r.failf(engines.Location{File: files.rootName()}, "what kustomize builds of it: %s", p.Message)
		}
		return loaded{}, nil
	}
	o := objects[0]
	origin, err := takeOrigin(o, files.keepsOrigin)
	if err != nil {
		return loaded{}, err
	}
	if origin.ConfiguredIn != "" {
		return files.generated(o, filepath.Join(files.directory, origin.ConfiguredIn)), nil
	}
	if from := files.original(o, filepath.Join(files.directory, origin.Path)); from != nil {
		return loaded{Object: o.WithPlaces(from)}, nil
	}
	return loaded{Object: document.At(o, engines.Location{File: filepath.Join(files.directory, origin.Path)})}, nil
}

// takeOrigin returns what the annotation of an object's origin holds, and removes it unless keep is set.
func takeOrigin(o *document.Object, keep bool) (resource.Origin, error) {
	annotations := o.GetAnnotations()
	var origin resource.Origin
	if err := yaml.Unmarshal([]byte(annotations[originAnnotation]), &origin); err != nil {
		return origin, fmt.Errorf("annotation %s: %w", originAnnotation, err)
	}
	if !keep {
		if delete(annotations, originAnnotation); len(annotations) == 0 {
			annotations = nil
		}
		o.SetAnnotations(annotations)
	}
	return origin, nil
}

// original returns the object of a file that a built one was made from, or nil. Its name may have got a prefix and a suffix.
func (f *kustomizeFiles) original(o *document.Object, file string) *document.Object {
	text, known := f.text[file]
	if !known {
		return nil
	}
	if _, parsed := f.parsed[file]; !parsed {
		f.parsed[file], _ = document.Read(file, text)
	}
	var best *document.Object
	for _, candidate := range f.parsed[file] {
		if candidate.GetKind() == o.GetKind() && strings.Contains(o.GetName(), candidate.GetName()) &&
			(best == nil || len(candidate.GetName()) > len(best.GetName())) {
			best = candidate
		}
	}
	return best
}

// generated returns an object with the place of its generator in a kustomization, and the files that its keys are from.
func (f *kustomizeFiles) generated(o *document.Object, file string) loaded {
	at := engines.Location{File: file}
	var kustomization types.Kustomization
	if yaml.Unmarshal(f.text[file], &kustomization) != nil || o.GetKind() != "ConfigMap" {
		return loaded{Object: document.At(o, at)}
	}
	best := -1
	for i, g := range kustomization.ConfigMapGenerator {
		if strings.Contains(o.GetName(), g.Name) && (best < 0 || len(g.Name) > len(kustomization.ConfigMapGenerator[best].Name)) {
			best = i
		}
	}
	if best < 0 {
		return loaded{Object: document.At(o, at)}
	}
	if place := document.PlaceOf(file, f.text[file], fmt.Sprintf("configMapGenerator[%d]", best)); place.Line > 0 {
		at = place
	}
	return loaded{Object: document.At(o, at), files: f.keys(o, filepath.Dir(file), kustomization.ConfigMapGenerator[best].FileSources)}
}

// keys returns the files that hold the same text as the keys of a ConfigMap.
func (f *kustomizeFiles) keys(o *document.Object, directory string, sources []string) map[string]string {
	keys := map[string]string{}
	data, _ := o.Object["data"].(map[string]any)
	binary, _ := o.Object["binaryData"].(map[string]any) // Kustomize puts there what is not UTF-8.
	for _, source := range sources {
		key, path, named := strings.Cut(source, "=")
		if !named {
			key, path = filepath.Base(source), source
		}
		path = filepath.Join(directory, path)
		text, isText := data[key].(string)
		if encoded, isBinary := binary[key].(string); isBinary {
			decoded, err := base64.StdEncoding.DecodeString(encoded)
			text, isText = string(decoded), err == nil
		}
		if isText && bytes.Equal(f.text[path], []byte(text)) {
			keys[key] = path
		}
	}
	return keys
}
