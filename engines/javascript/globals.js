// What current JavaScript has and goja lacks: an object of functions, each of which adds a part to the runtime of a call. globals.go
// says which scripts need which.
({
  groupBy() {
    const group = (name, items, key, add) => {
      if (typeof key !== "function") {
        throw new TypeError(`${name}: a function of an item is needed, and there is ${typeof key}`);
      }
      let index = 0;
      for (const item of items) {
        add(key(item, index++), item);
      }
    };
    define(Object, {
      groupBy(items, key) {
        const groups = Object.create(null);
        group("Object.groupBy", items, key, (name, item) => {
          const property = typeof name === "symbol" ? name : String(name);
          (groups[property] ??= []).push(item);
        });
        return groups;
      },
    });
    define(Map, {
      groupBy(items, key) {
        const groups = new Map();
        group("Map.groupBy", items, key, (value, item) => {
          groups.has(value) ? groups.get(value).push(item) : groups.set(value, [item]);
        });
        return groups;
      },
    });
  },

  // Bound functions whose arguments are variables of a function, and not of Go, so that they are restored with all others.
  bind() {
    define(Function.prototype, {
      bind(self, ...given) {
        const target = this;
        if (typeof target !== "function") {
          throw new TypeError("Function.prototype.bind: this is no function");
        }
        const bound = function (...args) {
          const all = [...given, ...args];
          return new.target === undefined
            ? Reflect.apply(target, self, all)
            : Reflect.construct(target, all, new.target === bound ? target : new.target);
        };
        const name = typeof target.name === "string" ? target.name : "";
        const length = Object.hasOwn(target, "length") && Number.isFinite(target.length) ? Math.max(0, target.length - given.length) : 0;
        bound.prototype = undefined;
        Object.setPrototypeOf(bound, Object.getPrototypeOf(target));
        Object.defineProperties(bound, {
          name: { value: `bound ${name}` },
          length: { value: length },
          [Symbol.hasInstance]: { value: (object) => object instanceof target },
        });
        return bound;
      },
    });
  },

  // Patterns that are made of text while the script runs. Those that are written in it are expanded when it is compiled.
  patterns() {
    const native = globalThis.RegExp;
    const given = (args) => {
      const [pattern, flags] = args;
      return typeof pattern === "string" && typeof flags === "string" && flags.includes("u") ? [expandPattern(pattern), flags] : args;
    };
    function RegExp(pattern, flags) {
      const args = given([pattern, flags]);
      return new.target === undefined ? native(...args) : Reflect.construct(native, args, new.target);
    }
    Object.defineProperties(RegExp, Object.getOwnPropertyDescriptors(native));
    define(native.prototype, { constructor: RegExp });
    define(globalThis, { RegExp });
  },

  // goja's own leave something at a key for each entry, which stays as long as the key: if that is an object of a module, each call would
  // add to it. These keep their keys until the call ends, which no script can see.
  weak() {
    const check = (key) => {
      if (Object(key) !== key) {
        throw new TypeError(`Value is not an object: ${String(key)}`);
      }
      return key;
    };
    class WeakMap {
      #entries = new Map();
      constructor(entries = null) {
        for (const [key, value] of entries ?? []) {
          this.set(key, value);
        }
      }
      get(key) {
        return this.#entries.get(key);
      }
      set(key, value) {
        this.#entries.set(check(key), value);
        return this;
      }
      has(key) {
        return this.#entries.has(key);
      }
      delete(key) {
        return this.#entries.delete(key);
      }
    }
    class WeakSet {
      #items = new Set();
      constructor(items = null) {
        for (const item of items ?? []) {
          this.add(item);
        }
      }
      add(item) {
        this.#items.add(check(item));
        return this;
      }
      has(item) {
        return this.#items.has(item);
      }
      delete(item) {
        return this.#items.delete(item);
      }
    }
    for (const { name, prototype } of [WeakMap, WeakSet]) {
      Object.defineProperty(prototype, Symbol.toStringTag, { value: name, configurable: true });
    }
    define(globalThis, { WeakMap, WeakSet });
  },

  iterators() {
    const prototype = Object.getPrototypeOf(Object.getPrototypeOf([].values()));
    // In a loop over these an iterator is closed when the loop is left, and its own Symbol.iterator is not asked for.
    const over = (iterator) => ({ [Symbol.iterator]: () => iterator });
    const check = (name, iterator, f) => {
      if (Object(iterator) !== iterator) {
        throw new TypeError(`${name}: this is no iterator`);
      }
      if (typeof f !== "function") {
        throw new TypeError(`${name}: a function is needed, and there is ${f === null ? "null" : typeof f}`);
      }
    };
    const count = (name, value) => {
      const limit = Math.trunc(value);
      if (!(limit >= 0)) {
        throw new RangeError(`${name}: a number from 0 is needed, and there is ${String(value)}`);
      }
      return limit;
    };
    class Helper {
      #source;
      #items;
      #started = false;
      constructor(source, generator) {
        this.#source = source;
        this.#items = generator(over(source));
      }
      next() {
        this.#started = true;
        return this.#items.next();
      }
      return() {
        if (!this.#started) { // A generator that has not begun would not close what it loops over.
          this.#started = true;
          this.#source.return?.();
        }
        return this.#items.return();
      }
    }
    delete Helper.prototype.constructor;
    Object.setPrototypeOf(Helper.prototype, prototype);
    const tag = (of, value) => Object.defineProperty(of, Symbol.toStringTag, { value, configurable: true });
    tag(Helper.prototype, "Iterator Helper");
    const isIterable = (value) => value[Symbol.iterator] !== undefined && value[Symbol.iterator] !== null;

    function Iterator() {
      if (new.target === Iterator || new.target === undefined) {
        throw new TypeError("Iterator is a class to extend: write Iterator.from(x)");
      }
    }
    define(Iterator, {
      from(items) {
        if (Object(items) !== items && typeof items !== "string") {
          throw new TypeError("Iterator.from: a list, an iterator or a string is needed");
        }
        const iterator = isIterable(items) ? items[Symbol.iterator]() : items;
        return prototype.isPrototypeOf(iterator) ? iterator : new Helper(iterator, function* (all) { yield* all; });
      },
    });
    Object.defineProperty(Iterator, "prototype", { value: prototype, writable: false });
    define(prototype, {
      constructor: Iterator,
      map(f) {
        check("map", this, f);
        return new Helper(this, function* (items) {
          let index = 0;
          for (const item of items) {
            yield f(item, index++);
          }
        });
      },
      filter(f) {
        check("filter", this, f);
        return new Helper(this, function* (items) {
          let index = 0;
          for (const item of items) {
            if (f(item, index++)) {
              yield item;
            }
          }
        });
      },
      take(limit) {
        let left = count("take", limit);
        return new Helper(this, function* (items) {
          if (left === 0) {
            items[Symbol.iterator]().return?.();
            return;
          }
          for (const item of items) {
            yield item;
            if (--left === 0) {
              return;
            }
          }
        });
      },
      drop(limit) {
        let left = count("drop", limit);
        return new Helper(this, function* (items) {
          for (const item of items) {
            if (left > 0) {
              left--;
            } else {
              yield item;
            }
          }
        });
      },
      flatMap(f) {
        check("flatMap", this, f);
        return new Helper(this, function* (items) {
          let index = 0;
          for (const item of items) {
            const inner = f(item, index++);
            if (Object(inner) !== inner) {
              throw new TypeError("flatMap: the function must return a list or an iterator");
            }
            yield* isIterable(inner) ? inner : over(inner);
          }
        });
      },
      reduce(f, ...initial) {
        check("reduce", this, f);
        let index = 0, [result] = initial, isSet = initial.length > 0;
        for (const item of over(this)) {
          result = isSet ? f(result, item, index) : item;
          isSet = true;
          index++;
        }
        if (!isSet) {
          throw new TypeError("No initial value");
        }
        return result;
      },
      toArray() {
        return [...over(this)];
      },
      forEach(f) {
        check("forEach", this, f);
        let index = 0;
        for (const item of over(this)) {
          f(item, index++);
        }
      },
      some(f) {
        check("some", this, f);
        let index = 0;
        for (const item of over(this)) {
          if (f(item, index++)) {
            return true;
          }
        }
        return false;
      },
      every(f) {
        check("every", this, f);
        return !prototype.some.call(this, (item, index) => !f(item, index));
      },
      find(f) {
        check("find", this, f);
        let index = 0;
        for (const item of over(this)) {
          if (f(item, index++)) {
            return item;
          }
        }
      },
    });
    tag(prototype, "Iterator");
    define(globalThis, { Iterator });
  },

  texts() {
    class TextEncoder {
      get encoding() {
        return "utf-8";
      }
      encode(text = "") {
        return new Uint8Array(encodeUTF8(String(text)));
      }
    }
    class TextDecoder {
      #fatal;
      #ignoreBOM;
      constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
        if (!/^\s*utf-?8\s*$/i.test(label)) {
          throw new RangeError(`TextDecoder: there is utf-8 alone, and not ${label}`);
        }
        this.#fatal = Boolean(fatal);
        this.#ignoreBOM = Boolean(ignoreBOM);
      }
      get encoding() {
        return "utf-8";
      }
      get fatal() {
        return this.#fatal;
      }
      get ignoreBOM() {
        return this.#ignoreBOM;
      }
      decode(bytes = new Uint8Array()) {
        const isView = ArrayBuffer.isView(bytes);
        const text = decodeUTF8(isView ? bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) : bytes);
        if (this.#fatal && text.isReplaced) {
          throw new TypeError("TextDecoder.decode: the bytes are no UTF-8");
        }
        return this.#ignoreBOM ? text.value : text.value.replace(/^\ufeff/, "");
      }
    }
    define(globalThis, { TextEncoder, TextDecoder });
  },
})
