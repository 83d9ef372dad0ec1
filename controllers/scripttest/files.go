package scripttest

import (
	"fmt"
	"io/fs"
	"path"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
)

// missingFiles returns the files that a case needs and that are not among the scripts. What the file says about the definition and its
// scripts does not matter: these are those of the cluster.
func (r *run) missingFiles(test *controllertest.ControllerTest, c *controllertest.Case) []string {
	var missing []string
	need := func(file string) {
		if _, there := r.text.Files[path.Join(path.Dir(test.File), file)]; file != "" && !there && len(missing) < maxMissing {
			missing = append(missing, file)
		}
	}
	for _, given := range test.Given {
		need(given.File)
	}
	for _, file := range c.Files() {
		need(file)
	}
	return missing
}

// maxMissing is how many missing files are listed.
const maxMissing = 5

// readFile returns a file of the scripts, by its path relative to a file of tests.
func (r *run) readFile(test, file string) ([]byte, error) {
	text, ok := r.text.Files[path.Join(path.Dir(test), file)]
	if !ok {
		return nil, fmt.Errorf("%s: %w", file, fs.ErrNotExist)
	}
	return []byte(text), controllertest.CheckHosted(file, text)
}
