package heap

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"
	"github.com/google/go-cmp/cmp"
)

// loaded leaves state of all kinds, in all, and has show, which writes all of it down by functions that nothing can replace.
const loaded = `
var all = [], v1 = 1; let l1 = {a: 1}; const sym = Symbol('own'), key = {};
const grown = []; grown.push(1, 2, 3, 4, 5);
const big = []; for (let i = 0; i < 40; i++) big.push({i});
class Base { #p = 1; static #s = 0; static n = 0; x = [1]; get p() { return this.#p } up(by) { Base.#s++; Base.n++; this.#p += by ?? 1; return this.#p + ':' + Base.#s } has(o) { return #p in o } }
class Derived extends Base { #q = new Map([[1, {}]]); up(by) { this.#q.set(by, this.#q.size); return super.up(by) + [...this.#q.keys()] } }
const counter = (() => { let n = 0; const list = []; return (x) => { list.push(x); return ++n + ':' + list.length } })();
const args = (function (a, b) { return [arguments, () => a, (x) => { b = x; return arguments[1] }] })(1, 2, 3);
const tag = (s, ...more) => [s, more], template = () => tag` + "`a${1}b${2}c`" + `;
const dynamic = (function (x) { var inner = 1; return (code) => eval(code) })(5);
function* made() { for (let i = 0; i < 9; i++) { try { const got = yield i; if (got) inner.push(got) } finally { inner.push('f' + i) } } } const inner = [];
const bag = {a: 1, b: 2, c: 3, 2: 1};
const going = made(); going.next();
const m = new Map([['a', 1], [key, {}], [NaN, 0], [1n, 2], ['ü', 'ö']]), s = new Set([1, 'b', key]);
const its = [[1, 2, 3].values(), m.entries(), s.values(), 'aüb'.matchAll(/./g), m.keys(), grown[Symbol.iterator]()]; its.forEach((i) => i.next());
const re = /(a)|(?<n>ü)/g, sticky = /a/y, uni = /./gu; re.exec('aü');
const buffer = new ArrayBuffer(16), bytes = new Uint8Array(buffer), words = new Uint16Array(buffer, 4, 4), floats = new Float64Array([1, -0, NaN]), view = new DataView(buffer, 2);
const proxied = new Proxy(bag, {get: (t, k, r) => k === 'seen' ? counter(k) : Reflect.get(t, k)}), revoking = new Proxy({}, {ownKeys: () => ['z']});
const frozen = Object.freeze({a: {b: 1}}), sealed = Object.seal({a: 1, b: [1]}), nulled = Object.assign(Object.create(null), {a: 1});
const sparse = []; sparse[9000] = 1; const holes = [1, , 3]; holes.more = 1; const accessors = {get g() { return this.h }, set g(x) { this.h = x }};
const error = new RangeError('x', {cause: key}); const caught = (() => { try { null.x } catch (e) { return e } })();
const boxed = [new String('aü'), new Number(1), Object(sym), Object(1n), new Date(0), new Boolean(false)];
const fns = [function f(a, b = 1) { return this }, () => l1, async (x) => { await x; l1.late = x }, class { static { this.z = 1 } }, counter, args[1], args[2], template, dynamic];
const labels = {[Symbol.for('shared')]: 1, [sym]: 2}; const long = 'x'.repeat(30) + 'ü'; let text = 'a'; for (let i = 0; i < 3; i++) text += long;
all.push(bag, l1, grown, big, holes, sparse, new Base(), new Derived(), args[0], m, s, ...its, going, re, sticky, uni, bytes, words, floats, view, buffer, proxied, revoking,
	frozen, sealed, nulled, accessors, error, caught, ...boxed, ...fns, labels, inner, key, Base, Derived, Base.prototype,
	Object.prototype, Array.prototype, Function.prototype, Map.prototype, Map, Array, RegExp.prototype, JSON, Math, Reflect, globalThis, Promise, Symbol, Error.prototype, String.prototype,
	Object.getPrototypeOf(going), Object.getPrototypeOf(made), Object.getPrototypeOf(its[0]), Object.getPrototypeOf(bytes.constructor), Date);
const show = (() => {
	const { ownKeys, getOwnPropertyDescriptor, getPrototypeOf, isExtensible, apply } = Reflect, { create, is } = Object, S = String, mapEntries = Map.prototype.forEach,
		setEntries = Set.prototype.forEach, time = Date.prototype.getTime, M = Map, get = Map.prototype.get, set = Map.prototype.set, symbolText = Symbol.prototype.toString, { min } = Math, roots = all.slice(), T = TypeError;
	return () => {
		const ids = new M(); let list = create(null), count = 0, out = '', todo = 0;
		const one = (v) => {
			if (v === null || typeof v !== 'object' && typeof v !== 'function') return typeof v === 'symbol' ? apply(symbolText, v, []) : typeof v + (is(v, -0) ? '-0' : S(v));
			const known = apply(get, ids, [v]);
			if (known !== undefined) return '#' + known;
			apply(set, ids, [v, count]); list[count] = v; return '#' + count++;
		};
		for (let i = 0; i < roots.length; i++) out += one(roots[i]) + ',';
		for (; todo < count && todo < 400; todo++) {
			const o = list[todo]; let line = '';
			try {
				line += '\n' + todo + (isExtensible(o) ? '' : '!') + '<' + one(getPrototypeOf(o)) + ' ';
				const keys = ownKeys(o);
				for (let i = 0; i < keys.length; i++) {
					const d = getOwnPropertyDescriptor(o, keys[i]);
					if (!d) continue;
					line += (typeof keys[i] === 'symbol' ? one(keys[i]) : keys[i]) + (d.writable ? 'w' : '') + (d.enumerable ? 'e' : '') + (d.configurable ? 'c' : '') + '=' +
						(keys[i] === 'stack' ? 'stack' : d.get || d.set ? one(d.get) + '/' + one(d.set) : one(d.value)) + ';';
				}
			} catch (e) { line += 'E' + (e instanceof T) }
			try { let n = 0; apply(mapEntries, o, [(v, k) => { if (n++ < 50) line += one(k) + '>' + one(v) + ' ' }]) } catch (e) { }
			try { apply(setEntries, o, [(v) => { line += one(v) + '|' }]) } catch (e) { }
			try { line += apply(time, o, []) } catch (e) { }
			out += line;
		}
		return out + v1 + text.length;
	};
})();`

// operations are what a call does to a and b, of all, with the name k and the value x.
var operations = []string{
	`a[k] = x`, `a[k] = b`, `delete a[k]`, `Object.defineProperty(a, k, {get() { return x }, configurable: true})`, `Object.defineProperty(a, k, {value: x, enumerable: true, configurable: true})`,
	`Object.defineProperty(a, k, {writable: false})`, `Object.freeze(a)`, `Object.seal(a)`, `Object.preventExtensions(a)`, `Object.setPrototypeOf(a, b)`, `Object.setPrototypeOf(a, null)`,
	`[].push.call(a, x, b)`, `grown.push(x)`, `grown.length = 3`, `grown[n] = x`, `grown.pop()`, `grown.shift()`, `grown.unshift(x, b)`, `grown.splice(1, 2, x, b, a)`, `grown.splice(2, 2)`, `grown.reverse()`,
	`grown.sort()`, `grown.fill(x, 1)`, `grown.copyWithin(0, 2)`, `big.splice(3, 20)`, `big.length = 2`, `big.length = 60`, `big[45] = x`, `sparse[n * 1000] = x`, `sparse.length = n`, `holes[n] = x`, `holes[5000] = 1`,
	`m.set(k, x)`, `m.set(a, b)`, `m.delete(k)`, `m.delete(key)`, `m.clear()`, `s.add(a)`, `s.add(x)`, `s.clear()`, `s.delete(key)`, `for (const e of m) { m.delete('a'); m.set(n, 1); if (m.size > 20) break }`,
	`out += JSON.stringify(a.next(x))`, `out += JSON.stringify(its[n % 6].next())`, `out += JSON.stringify(going.next(x))`, `out += JSON.stringify(going.return(1))`, `going.throw(new Error('t'))`,
	`bag[k] = n; delete bag.a; bag.a = 1; bag[n] = 1`, `for (const q in a) { out += q; if (q === 'b') delete a.c; a.zz = 1 }`, `for (const q in bag) { bag['n' + q] = 1; delete bag[q]; break }`,
	`out += re.exec(text + 'aüa')`, `re.lastIndex = n`, `out += 'aüa'.replace(re, (q) => { re.lastIndex = 0; return q + n })`, `out += sticky.test('ab')`, `re.compile('b', 'i')`, `out += 'a😀b'.match(uni)`, `out += 'a,b'.split(/,/g)`,
	`bytes[n] = 200 + n`, `words.set([n, 700])`, `floats[1] = x`, `view.setInt32(1, n)`, `bytes.sort()`, `words.fill(n)`, `bytes.subarray(2)[0] = n`, `floats.x = 1`, `out += bytes.join() + words.join() + floats.join()`,
	`boxed[4].setFullYear(1990 + n)`, `out += a.up(n)`, `out += new Derived().up(n)`, `Base.n = x`, `Base.prototype.up = b`, `out += all[6].up()`, `out += all[7].up(a)`, `out += all[6].has(a)`, `out += counter(a)`,
	`args[0][1] = x`, `out += args[1]() + args[2](n)`, `args[0].length = n`, `delete args[0][0]`, `out += String(a)`, `out += a(x, b)`, `out += new a(x, b)`, `out += fns[n % 9](x)`, `out += JSON.stringify(template())`,
	`out += dynamic('inner += 1')`, `out += dynamic('var fresh = ' + n)`, `out += dynamic('typeof fresh + x')`, `eval('var global' + n + ' = 1')`, `(0, eval)('var v1 = 7')`, `out += typeof global3 + typeof v1`, `v1 = x`, `l1 = a`, `text += k`,
	`Object.assign(a, b)`, `Promise.resolve(x).then((y) => { l1.then = y })`, `fns[2](n)`, `new Promise(() => {}).then(counter)`, `out += Symbol.keyFor(Symbol.for(k))`, `a[Symbol.for(k)] = 1`, `a[Symbol.iterator] = undefined`, `delete a[sym]`,
	`error.message = x`, `out += caught.stack.length + error.stack.length`, `throw x`, `throw new TypeError(k)`, `(function f(i) { if (i) f(i - 1); else counter(1) })(50 + n)`, `out += [...a].length`, `out += [...its[n % 6]].length`,
	`const {[k]: q = counter(2), ...rest} = a; out += JSON.stringify(rest)`, `out += Array.from(a).length`, `label: for (const i of grown) { for (const j of s) { if (j) continue label; } }`, `try { throw a } catch ({ message }) { out += message } finally { counter(3) }`,
	`Reflect.ownKeys(a).forEach((q) => { try { delete a[q] } catch (e) { } })`, `out += Object.keys(a)`, `globalThis[k] = x`, `delete globalThis.Map`, `Object.prototype[k] = 1`, `Array.prototype[n] = x`, `JSON.stringify = counter`, `Array.prototype.push = counter`,
	`accessors.g = x`, `all.push(() => n)`, `all.length = 9`, `out += proxied.seen + proxied[k]`, `Proxy.revocable(a, {}).revoke()`, `grown.push.bind(grown, x)(b)`, `inner.length = 0`, `with (bag) { a = n }`, `out += [1, 2, 3].map((q) => q + n)`,
	`Object.defineProperty(grown, 'length', {writable: false})`, `Object.defineProperty(grown, n, {get: counter})`, `out += grown.concat(holes, a).length`, `out += [3, 1, 2].toSorted() + grown.at(-1) + grown.includes(x)`, `new Set([1]).union(s)`,
	`out += Object.entries(Object.getOwnPropertyDescriptors(a)).length`, `Date.prototype.getTime = counter`, `Symbol.prototype.description`, `out += (123.456).toFixed(n)`, `out += 10n ** BigInt(n)`, `out += parseInt(k, 36) + isNaN(x)`, `bag.__proto__ = a`, `out += 'x' in a`,
}

var (
	fuzzKeys   = []string{`'a'`, `'b'`, `'zz'`, `'0'`, `'3'`, `'7'`, `'100'`, `'length'`, `'next'`, `'ü'`, `sym`, `Symbol.toPrimitive`, `'constructor'`, `'toString'`, `'seen'`}
	fuzzValues = []string{`1`, `-0`, `1.5`, `'s'`, `'ü'`, `undefined`, `null`, `NaN`, `2n ** 70n`, `{q: [1]}`, `[1, 2]`, `sym`, `counter`, `() => n`, `true`, `Symbol('new')`}
)

// callOf returns the script of a call with random operations.
func callOf(random *rand.Rand) string {
	var call strings.Builder
	call.WriteString("(() => { let out = '';\n")
	for range 1 + random.IntN(12) {
		pick := func(of []string) string { return of[random.IntN(len(of))] }
		fmt.Fprintf(&call, "try { let a = all[%d], b = all[%d], k = %s, n = %d, x = %s; %s } catch (e) { out += '!' + (e && e.name) + (e && e.message) }\n",
			random.IntN(90), random.IntN(90), pick(fuzzKeys), random.IntN(10), pick(fuzzValues), pick(operations))
	}
	call.WriteString("try { out += show() } catch (e) { out += '!!' + e } try { for (let i = grown.length + 3; i >= grown.length; i--) grown[i + 1] = i; out += grown.map(String) } catch (e) { out += '!' + e.message } return out })()")
	return call.String()
}

var loadedProgram = goja.MustCompile("loaded", loaded, false)

func loadedRuntime(t *testing.T) *goja.Runtime {
	rt := runtimeOf(t, "")
	rt.SetMaxCallStackSize(200)
	if _, err := rt.RunProgram(loadedProgram); err != nil {
		t.Fatal(err)
	}
	return rt
}

// outcome runs a script, and reports false if it does not end, or if goja fails, as it does when an iterator's next is no function. After that
// no runtime is used again.
func outcome(rt *goja.Runtime, call string) (shown string, ended bool) {
	timer := time.AfterFunc(10*time.Second, func() { rt.Interrupt("end") })
	defer func() {
		failed := recover() != nil
		ended = timer.Stop() && !failed
	}()
	value, err := rt.RunString(call)
	if err != nil {
		return fmt.Sprintf("%T", err), true // To format it runs what the script has thrown.
	}
	return addresses.ReplaceAllString(value.String(), ""), true
}

// addresses are in messages of goja.
var addresses = regexp.MustCompile(`0x[0-9a-f]+`)

// FuzzRestore runs random calls in a runtime that is restored after each, and in one of its own for each, which must end alike.
func FuzzRestore(f *testing.F) {
	f.Add(uint64(3))
	f.Add(uint64(4))
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		rt := loadedRuntime(t)
		state, err := Take(rt, nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 20 {
			call := callOf(random)
			got, ended := outcome(rt, call)
			want, alike := outcome(loadedRuntime(t), call)
			if ended != alike || got != want {
				t.Fatalf("call %d of seed %d ends otherwise in a restored runtime (-own +restored):\n%s\nafter\n%s", n, seed, cmp.Diff(want, got), call)
			}
			if !ended {
				return
			}
			state.Restore()
		}
	})
}
