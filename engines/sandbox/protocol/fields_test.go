package protocol_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// filler gives every field of a value a distinct content.
type filler struct {
	t    *testing.T
	last int64
}

func filled[T any](t *testing.T) T {
	var v T
	(&filler{t: t}).fill(reflect.ValueOf(&v).Elem())
	return v
}

func (f *filler) fill(v reflect.Value) {
	f.last++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(f.last, f.last).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("text " + time.Duration(f.last).String())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(f.last)
	case reflect.Uint64, reflect.Uint8:
		v.SetUint(uint64(f.last))
	case reflect.Struct:
		for _, field := range v.Fields() {
			f.fill(field)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key)
		f.fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Interface:
		f.fillInterface(v)
	default:
		f.t.Fatalf("a field is of type %s, which this test does not know", v.Type())
	}
}

func (f *filler) fillInterface(v reflect.Value) {
	if v.Type() == reflect.TypeFor[error]() {
		v.Set(reflect.ValueOf(context.DeadlineExceeded)) // A cause that is transmitted.
		return
	}
	v.Set(reflect.ValueOf(map[string]any{"value": f.last}))
}

func withoutHostFields(c engines.Call) engines.Call {
	c.Origin, c.Background = engines.Origin{}, false
	return c
}

// withoutFiles returns a load without what the worker makes of its Files.
func withoutFiles(l protocol.Load) protocol.Load {
	l.Script.Files, l.Script.Checked = nil, nil
	return l
}

// TestAllFields sends every field of the engines' types, so that a new field can't be forgotten here.
func TestAllFields(t *testing.T) {
	cases := map[string]struct {
		reason string
		want   any
		travel func(e *wire.Encoder, want any) (any, error)
	}{
		"call": {"all fields of a call but those that the worker need not know", withoutHostFields(filled[engines.Call](t)), func(e *wire.Encoder, want any) (any, error) {
			protocol.Call{Call: want.(engines.Call)}.Append(e)
			return protocol.ReadCall(wire.NewDecoder(e.Bytes()))
		}},
		"answer": {"all fields of an answer", filled[protocol.Answer](t), func(e *wire.Encoder, want any) (any, error) {
			return protocol.ReadAnswer(want.(protocol.Answer).Append(nil, none), none.Get)
		}},
		"load": {"all fields of a load", withoutFiles(filled[protocol.Load](t)), func(e *wire.Encoder, want any) (any, error) {
			want.(protocol.Load).Append(e)
			return protocol.ReadLoad(wire.NewDecoder(e.Bytes()))
		}},
		"question": {"all fields of a question", filled[protocol.Question](t), func(e *wire.Encoder, want any) (any, error) {
			want.(protocol.Question).Append(e)
			return protocol.ReadQuestion(wire.NewDecoder(e.Bytes()))
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			got, err := c.travel(wire.NewEncoder(nil), c.want)
			if err != nil || !reflect.DeepEqual(c.want, got) {
				t.Errorf("error %v\nwant %+v\ngot  %+v", err, c.want, got)
			}
		})
	}
}
