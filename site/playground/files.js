// A file system in memory, as Go's WebAssembly uses that of Node: the functions of globalThis.fs that the Go library calls.

const flags = { O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536, O_SYNC: 1052672 };
const isFolder = 0o040000;
const isFile = 0o100000;

function failure(code) {
  const error = new Error(code);
  error.code = code;
  return error;
}

/** Where the files of an author are. The host finds it as the working directory. */
export const root = "/playground";

/** Returns a file system with files of an author. output is called with each text that is written to stdout or stderr. */
export function newFiles(texts, output) {
  let inodes = 0;
  const folder = () => ({ ino: ++inodes, mode: isFolder | 0o755, entries: new Map(), mtime: Date.now() });
  const top = folder();
  const open = new Map();
  let descriptors = 100;

  const parts = (path) => {
    const all = [];
    for (const part of path.split("/")) {
      if (part === "..") all.pop();
      else if (part !== "" && part !== ".") all.push(part);
    }
    return all;
  };
  const find = (path) => {
    let at = top;
    for (const part of parts(path)) {
      if (!at.entries) throw failure("ENOTDIR");
      at = at.entries.get(part);
      if (!at) throw failure("ENOENT");
    }
    return at;
  };
  const parentOf = (path) => {
    const all = parts(path);
    const name = all.pop();
    const at = find(all.join("/"));
    if (!at.entries) throw failure("ENOTDIR");
    return { at, name };
  };
  const stat = (node) => ({
    dev: 1, ino: node.ino, mode: node.mode, nlink: 1, uid: 0, gid: 0, rdev: 0, size: node.entries ? 0 : node.bytes.length, blksize: 4096,
    blocks: 1, atimeMs: node.mtime, mtimeMs: node.mtime, ctimeMs: node.mtime, isDirectory: () => Boolean(node.entries),
  });
  const make = (path, node) => {
    const { at, name } = parentOf(path);
    at.entries.set(name, node);
    at.mtime = Date.now();
    return node;
  };
  const newFile = (bytes, mode = 0o644) => ({ ino: ++inodes, mode: isFile | mode, bytes, mtime: Date.now() });
  const remove = (path, wantsFolder) => {
    const { at, name } = parentOf(path);
    const node = at.entries.get(name);
    if (!node) throw failure("ENOENT");
    if (Boolean(node.entries) !== wantsFolder) throw failure(wantsFolder ? "ENOTDIR" : "EISDIR");
    if (node.entries?.size) throw failure("ENOTEMPTY");
    at.entries.delete(name);
  };
  const handle = (fd) => open.get(fd) ?? (() => { throw failure("EBADF"); })();
  const resize = (node, length) => {
    const bytes = new Uint8Array(length);
    bytes.set(node.bytes.subarray(0, length));
    node.bytes = bytes;
    node.mtime = Date.now();
  };

  const sync = {
    open(path, how, mode) {
      let node;
      try {
        node = find(path);
        if (how & flags.O_EXCL && how & flags.O_CREAT) throw failure("EEXIST");
      } catch (error) {
        if (error.code !== "ENOENT" || !(how & flags.O_CREAT)) throw error;
        node = make(path, newFile(new Uint8Array(), mode & 0o777));
      }
      if (how & flags.O_DIRECTORY && !node.entries) throw failure("ENOTDIR");
      if (how & flags.O_TRUNC) resize(node, 0);
      open.set(++descriptors, { node, at: 0, appends: Boolean(how & flags.O_APPEND) });
      return descriptors;
    },
    close(fd) { open.delete(fd); },
    read(fd, buffer, offset, length, position) {
      if (fd < 3) return 0;
      const h = handle(fd);
      if (h.node.entries) throw failure("EISDIR");
      const from = position ?? h.at;
      const part = h.node.bytes.subarray(from, from + length);
      buffer.set(part, offset);
      if (position === null || position === undefined) h.at = from + part.length;
      return part.length;
    },
    write(fd, buffer, offset, length, position) {
      const part = buffer.subarray(offset, offset + length);
      if (fd < 3) {
        output(new TextDecoder().decode(part), fd);
        return length;
      }
      const h = handle(fd);
      const from = h.appends ? h.node.bytes.length : position ?? h.at;
      if (from + length > h.node.bytes.length) resize(h.node, from + length);
      h.node.bytes.set(part, from);
      h.node.mtime = Date.now();
      if (position === null || position === undefined) h.at = from + length;
      return length;
    },
    stat: (path) => stat(find(path)),
    lstat: (path) => stat(find(path)),
    fstat: (fd) => (fd < 3 ? stat(newFile(new Uint8Array())) : stat(handle(fd).node)),
    readdir(path) {
      const node = find(path);
      if (!node.entries) throw failure("ENOTDIR");
      return [...node.entries.keys()];
    },
    mkdir(path, mode) {
      const { at, name } = parentOf(path);
      if (at.entries.has(name)) throw failure("EEXIST");
      at.entries.set(name, folder());
    },
    unlink: (path) => remove(path, false),
    rmdir: (path) => remove(path, true),
    rename(from, to) {
      const node = find(from);
      const { at, name } = parentOf(from);
      make(to, node);
      at.entries.delete(name);
    },
    truncate: (path, length) => resize(find(path), length),
    ftruncate: (fd, length) => resize(handle(fd).node, length),
    utimes(path, accessed, modified) { find(path).mtime = modified * 1000; },
    chmod() {}, fchmod() {}, chown() {}, fchown() {}, lchown() {}, fsync() {},
    readlink() { throw failure("EINVAL"); },
    link() { throw failure("ENOSYS"); },
    symlink() { throw failure("ENOSYS"); },
  };

  const fs = { constants: flags, writeSync: (fd, buffer) => sync.write(fd, buffer, 0, buffer.length) };
  for (const [name, call] of Object.entries(sync)) {
    fs[name] = (...args) => {
      const done = args.pop();
      let result;
      try {
        result = call(...args);
      } catch (error) {
        queueMicrotask(() => done(error));
        return;
      }
      queueMicrotask(() => done(null, result));
    };
  }
  const write = (path, text) => {
    const all = parts(path);
    for (let i = 1; i < all.length; i++) {
      const at = all.slice(0, i).join("/");
      try { find(at); } catch { sync.mkdir(at); }
    }
    make(path, newFile(new TextEncoder().encode(text)));
  };
  for (const at of ["/tmp", root]) sync.mkdir(at);
  for (const [path, text] of Object.entries(texts)) write(`${root}/${path}`, text);
  return fs;
}
