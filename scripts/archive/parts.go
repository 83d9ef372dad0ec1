package archive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/engines"
)

const (
	// maxPartBytes is the most text of a part: it fits into an object even if it can't be compressed. A file with more is cut.
	maxPartBytes = 768 << 10
	// minPartBytes is the least text of a part that is not the last one, and partBytes what parts have on average, about.
	minPartBytes = 128 << 10
	partBytes    = 512 << 10
	// maxParts is more than the largest tree has.
	maxParts = 256
	// maxBytes bounds the text of a revision.
	maxBytes = engines.MaxSourceBytes
)

// part is a share of the files of a large revision. It has an object of its own, which all revisions with the same part share: an edit
// of a small file beside a large library writes little.
type part struct {
	files map[string]string
	size  int
	// sum identifies the files.
	sum string
}

// split divides files into parts. Where one ends depends on the paths at its end, not on what comes before: so an edit
// changes few parts.
func split(files map[string]string) []part {
	var parts []part
	var now part
	flush := func() {
		if len(now.files) > 0 {
			now.sum = sumOf(now.files)
			parts = append(parts, now)
		}
		now = part{files: map[string]string{}}
	}
	flush()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		text := files[path]
		// Each piece of a file that is too large has a part of its own, so that an edit of its end leaves the pieces before as they are.
		for most := max(maxPartBytes-len(path), minPartBytes); len(text) > most; {
			flush()
			end := most // Parts are stored as JSON strings, which can't have half of a character.
			for !utf8.RuneStart(text[end]) {
				end--
			}
			now.files[path], text = text[:end], text[end:]
			flush()
		}
		size := len(path) + len(text)
		if now.size+size > maxPartBytes {
			flush()
		}
		now.files[path] = text
		if now.size += size; now.size >= minPartBytes && endsPart(path, size) {
			flush()
		}
	}
	flush()
	return parts
}

// endsPart decides by the path whether a part ends with a file. The larger the file, the more likely it is: parts then have about the same
// size. If parts ended at a fixed size, a file that is added would move the ends of all parts after it.
func endsPart(path string, size int) bool {
	h := fnv.New64a()
	h.Write([]byte(path))
	return float64(h.Sum64()>>11)/(1<<53) < float64(size)/partBytes
}

// Sum returns the SHA-256 of files, and of what else belongs to them.
func Sum(files map[string]string, besides []byte) [sha256.Size]byte {
	h := sha256.New()
	w := bufio.NewWriterSize(h, 32<<10) // Texts are not copied as a whole.
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(w, "%d %d ", len(path), len(files[path]))
		_, _ = w.WriteString(path)
		_, _ = w.WriteString(files[path])
	}
	_, _ = w.Write(besides)
	w.Flush()
	return [sha256.Size]byte(h.Sum(nil))
}

func sumOf(files map[string]string) string {
	sum := Sum(files, nil)
	return hex.EncodeToString(sum[:])
}

// storedPart is the object of a part.
type storedPart struct {
	uid types.UID
	// sum is that of its files, or empty if they were not read or written by this process.
	sum string
}

// loadParts returns the files of parts together.
func (h *History) loadParts(ctx context.Context, sums []string) (map[string]string, error) {
	if len(sums) > maxParts {
		return nil, fmt.Errorf("%w: it has %d parts, more than %d", ErrNone, len(sums), maxParts)
	}
	files, size := map[string]string{}, 0
	for _, sum := range sums {
		name := h.partName(sum)
		found, err := h.Client.AppsV1().ControllerRevisions(h.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil, fmt.Errorf("%w: its part %s/%s is gone", ErrNone, h.Namespace, name)
		case err != nil:
			return nil, err
		}
		part, err := h.filesOf(found, sum)
		if err != nil {
			return nil, fmt.Errorf("%w: its part %s/%s: %w", ErrNone, h.Namespace, name, err)
		}
		for path, text := range part {
			files[path] += text // Pieces of a large file are in several parts, in their order.
			size += len(text)
		}
		if size > maxBytes || len(files) > maxFiles { // Checked after each part: objects can be forged to unfold to more than memory has.
			return nil, fmt.Errorf("%w: its parts unfold to more than %d MiB or %d files", ErrNone, maxBytes>>20, maxFiles)
		}
	}
	return files, nil
}

// filesOf returns the files of a part. It is an error if the object is not that part.
func (h *History) filesOf(object *appsv1.ControllerRevision, sum string) (map[string]string, error) {
	if !h.owns(object) {
		return nil, errors.New("it belongs to somebody else")
	}
	found, err := decode(object.Data.Raw)
	if err == nil && (found.Parts != nil || sumOf(found.Files) != sum) {
		err = errors.New("it has other files than it had")
	}
	return found.Files, err
}

// ensureParts writes the parts that are not listed. Those of which this process knows the files cost no request, others are read once.
func (h *History) ensureParts(ctx context.Context, parts []part) error {
	for _, p := range parts {
		name := h.partName(p.sum)
		known, exists := h.parts[name]
		if exists && known.sum == p.sum {
			continue
		}
		var err error
		if !exists {
			err = h.createPart(ctx, name, p)
		}
		if exists || apierrors.IsAlreadyExists(err) {
			err = h.checkPart(ctx, name, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *History) createPart(ctx context.Context, name string, p part) error {
	data, err := encodePacked(p.files)
	if err != nil {
		return err
	}
	labels := h.labels()
	labels[PartLabel] = ShortID(p.sum)
	created, err := h.write(ctx, metav1.ObjectMeta{Name: name, Labels: labels}, data, 0)
	if err == nil {
		h.parts[name] = storedPart{created.UID, p.sum}
	}
	return err
}

// checkPart reads the object of a part's name, and replaces one of the definition that has other files.
func (h *History) checkPart(ctx context.Context, name string, p part) error {
	found, err := h.check(ctx, name, func(o *appsv1.ControllerRevision) bool {
		_, err := h.filesOf(o, p.sum)
		return err == nil
	})
	if found != nil {
		h.parts[name] = storedPart{found.UID, p.sum}
		return nil
	}
	if err != nil {
		return err
	}
	delete(h.parts, name)
	return h.createPart(ctx, name, p)
}

// collect deletes the parts that neither an archived revision has nor needed, which is about to be archived.
func (h *History) collect(ctx context.Context, needed []part) error {
	used := map[string]bool{}
	for _, p := range needed {
		used[h.partName(p.sum)] = true
	}
	for _, e := range h.entries {
		for _, sum := range e.parts {
			used[h.partName(sum)] = true
		}
	}
	for name, stored := range h.parts {
		if used[name] {
			continue
		}
		// By its UID: an object of that name that was created meanwhile is another one, and stays.
		if err := h.remove(ctx, name, stored.uid); err != nil {
			return fmt.Errorf("parts of old revisions stay: %w", err)
		}
		delete(h.parts, name)
	}
	return nil
}

// partsAnnotation has the digits of the parts of a revision that are in their names: data is not listed with the metadata.
const partsAnnotation = "metacontroller.k8s.io/script-parts"

// shortSums returns what is in the annotation.
func shortSums(sums []string) string {
	short := make([]string, len(sums))
	for i, sum := range sums {
		short[i] = ShortID(sum)
	}
	return strings.Join(short, ",")
}

// listedParts returns what shortSums was given, shortened.
func listedParts(annotation string) []string {
	parts := strings.SplitN(annotation, ",", maxParts+1) // Bounded, as anybody who may write the object may write the annotation.
	return parts[:min(len(parts), maxParts)]
}

func sumsOf(parts []part) []string {
	sums := make([]string, len(parts))
	for i, p := range parts {
		sums[i] = p.sum
	}
	return sums
}
