package protocol

import (
	"errors"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// maxCoverageBytes bounds the set of points that a call reached.
const maxCoverageBytes = (engines.MaxCoveragePoints + 7) / 8

// appendPoints appends the points of a program: the texts that they have in common, and then each point by numbers.
func appendPoints(e *wire.Encoder, points []engines.CoveragePoint) {
	var texts []string
	indices := map[string]uint64{}
	index := func(text string) uint64 {
		if _, known := indices[text]; !known {
			indices[text] = uint64(len(texts))
			texts = append(texts, text)
		}
		return indices[text]
	}
	for _, p := range points {
		index(p.Location.File)
		index(p.Decision)
	}
	e.Strings(texts)
	e.Uint(uint64(len(points)))
	for _, p := range points {
		e.Uint(index(p.Location.File))
		e.Uint(index(p.Decision))
		e.Int(int64(p.Location.Line))
		e.Int(int64(p.Location.Column))
		e.Int(int64(p.Outcome))
	}
}

// readPoints decodes what appendPoints wrote.
func readPoints(d *wire.Decoder) ([]engines.CoveragePoint, error) {
	texts, err := d.Strings()
	if err != nil {
		return nil, err
	}
	n, err := d.Uint()
	if err != nil || n > engines.MaxCoveragePoints || n > uint64(d.Len()) {
		return nil, errors.Join(err, wire.ErrMalformed)
	}
	if n == 0 {
		return nil, nil
	}
	points := make([]engines.CoveragePoint, n)
	for i := range points {
		if err := readPoint(d, texts, &points[i]); err != nil {
			return nil, err
		}
	}
	return points, nil
}

func readPoint(d *wire.Decoder, texts []string, p *engines.CoveragePoint) (err error) {
	for _, text := range []*string{&p.Location.File, &p.Decision} {
		index, err := d.Uint()
		if err != nil || index >= uint64(len(texts)) {
			return errors.Join(err, wire.ErrMalformed)
		}
		*text = texts[index]
	}
	for _, number := range []*int{&p.Location.Line, &p.Location.Column, &p.Outcome} {
		n, err := d.Int()
		if err != nil {
			return err
		}
		*number = int(n)
	}
	return nil
}

// readCoverage decodes the set of points that a call reached.
func readCoverage(d *wire.Decoder) (engines.Coverage, error) {
	text, err := d.String()
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxCoverageBytes:
		return nil, wire.ErrMalformed
	case text == "":
		return nil, nil
	}
	return engines.Coverage(text), nil
}
