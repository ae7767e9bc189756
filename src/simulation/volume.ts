import { resolve } from 'node:path'

interface DiskError extends Error {
  readonly code: string
}

export const fail = (code: string, call: string, path = ''): DiskError =>
  Object.assign(new Error(`${code}: ${call} '${path}'`), { code, syscall: call, path })

export interface FileNode {
  readonly ino: number
  mtimeMs: number
  bytes: Buffer
  /** The memory behind `bytes`: appending writes into it, so that earlier values of `bytes` stay valid. */
  room: Buffer
  /** What a power cut leaves for certain. */
  synced: { readonly bytes: Buffer; readonly mtimeMs: number }
  readonly names?: never
}

export interface FolderNode {
  readonly ino: number
  mtimeMs: number
  readonly bytes?: never
  names: Map<string, Node>
  readonly synced: Map<string, Node>
}

export type Node = FileNode | FolderNode

/** What a name becomes; undefined: it is removed. */
type NameChange = readonly [folder: FolderNode, name: string, node: Node | undefined]

const NO_CONTENT = { bytes: Buffer.alloc(0), mtimeMs: 0 }

/** Files and folders by name: as they are, and as far as they are synced. */
export class Volume {
  private lastIno = 0
  private readonly root: FolderNode
  /** Changes of names that are not synced, oldest first. Both names of a rename change together. */
  private unsynced: (readonly NameChange[])[] = []

  constructor(private readonly now: () => number) {
    this.root = this.createFolder()
  }

  private createFolder(): FolderNode {
    return { ino: ++this.lastIno, mtimeMs: this.now(), names: new Map(), synced: new Map() }
  }

  private createFile(): FileNode {
    return {
      ino: ++this.lastIno,
      mtimeMs: this.now(),
      bytes: NO_CONTENT.bytes,
      room: NO_CONTENT.bytes,
      synced: NO_CONTENT,
    }
  }

  find(path: string, call: string): Node {
    const found = this.lookUp(path)
    if (typeof found === 'string') throw fail(found, call, path)
    return found
  }

  /** Undefined instead of an error with one of these codes. */
  tryFind(path: string, ignored: readonly string[] = ['ENOENT', 'ENOTDIR']): Node | undefined {
    const found = this.lookUp(path)
    if (typeof found !== 'string') return found
    if (!ignored.includes(found)) throw fail(found, 'stat', path)
    return undefined
  }

  /** The node of a path, or the code of the error. */
  private lookUp(path: string): Node | 'ENOTDIR' | 'ENOENT' {
    let node: Node = this.root
    for (const name of toAbsolute(path).split('/')) {
      if (name === '') continue
      if (!node.names) return 'ENOTDIR'
      const next: Node | undefined = node.names.get(name)
      if (next === undefined) return 'ENOENT'
      node = next
    }
    return node
  }

  findFolder(path: string, call: string): FolderNode {
    const node = this.find(path, call)
    if (!node.names) throw fail('ENOTDIR', call, path)
    return node
  }

  /** The folder of a path, its last name, and what has that name. */
  private locate(path: string, call: string) {
    const absolute = toAbsolute(path)
    const end = absolute.lastIndexOf('/')
    const [folder, name] = [this.findFolder(absolute.slice(0, end) || '/', call), absolute.slice(end + 1)]
    return { folder, name, node: name === '' ? this.root : folder.names.get(name) }
  }

  private change(...changes: readonly NameChange[]): void {
    for (const one of changes) {
      setName(one[0].names, one)
      one[0].mtimeMs = this.now()
    }
    this.unsynced.push(changes)
  }

  open(path: string, flags: string): Node {
    const { folder, name, node } = this.locate(path, 'open')
    if (node === undefined && flags.startsWith('r')) throw fail('ENOENT', 'open', path)
    if (node !== undefined && flags === 'wx') throw fail('EEXIST', 'open', path)
    if (node?.names && flags !== 'r') throw fail('EISDIR', 'open', path)
    const opened = node ?? this.createFile()
    if (node === undefined) this.change([folder, name, opened])
    else if (flags.startsWith('w'))
      Object.assign(node, { bytes: NO_CONTENT.bytes, room: NO_CONTENT.bytes, mtimeMs: this.now() })
    return opened
  }

  write(file: FileNode, bytes: Uint8Array, at: number): void {
    const end = at + bytes.length
    if (at < file.bytes.length || end > file.room.length) {
      // Most files are written once.
      file.room = Buffer.alloc(file.bytes.length === 0 ? end : Math.max(file.bytes.length, end) * 2)
      file.room.set(file.bytes)
    }
    file.room.set(bytes, at)
    file.bytes = file.room.subarray(0, Math.max(file.bytes.length, end))
    file.mtimeMs = this.now()
  }

  makeFolder(path: string): void {
    const { folder, name, node } = this.locate(path, 'mkdir')
    if (node) throw fail('EEXIST', 'mkdir', path)
    this.change([folder, name, this.createFolder()])
  }

  link(from: string, to: string): void {
    const source = this.find(from, 'link')
    const { folder, name, node } = this.locate(to, 'link')
    if (node) throw fail('EEXIST', 'link', to)
    if (source.names) throw fail('EPERM', 'link', from)
    this.change([folder, name, source])
  }

  rename(from: string, to: string): void {
    const [source, target] = [this.locate(from, 'rename'), this.locate(to, 'rename')]
    if (source.node === undefined) throw fail('ENOENT', 'rename', from)
    if (isInside(to, from)) throw fail('EINVAL', 'rename', from)
    if (source.node === target.node) return
    if (source.node.names && target.node && !target.node.names) throw fail('ENOTDIR', 'rename', to)
    if (target.node?.names && !source.node.names && !isInside(from, to)) throw fail('EISDIR', 'rename', to)
    if (target.node?.names?.size) throw fail('ENOTEMPTY', 'rename', to)
    this.change([source.folder, source.name, undefined], [target.folder, target.name, source.node])
  }

  remove(path: string, node: Node): void {
    if (node.names?.size) throw fail('ENOTEMPTY', 'rmdir', path)
    const { folder, name } = this.locate(path, 'unlink')
    this.change([folder, name, undefined])
  }

  /** Makes the content of a file, or the names in a folder, survive a power cut. */
  sync(node: Node): void {
    if (!node.names) {
      node.synced = { bytes: node.bytes, mtimeMs: node.mtimeMs }
      return
    }
    const { due, rest } = splitChanges(this.unsynced, node)
    for (const one of due.flat()) setName(one[0].synced, one)
    this.unsynced = rest
  }

  /** Makes everything survive, as the system does by itself after half a minute. */
  syncAll(): void {
    for (const one of this.unsynced.flat()) setName(one[0].synced, one)
    this.unsynced = []
    const syncBelow = (node: Node) => (node.names ? node.names.forEach(syncBelow) : this.sync(node))
    syncBelow(this.root)
  }

  /** Each unsynced change of a name is kept or lost alone. */
  losePower(random: () => number): void {
    for (const changes of this.unsynced)
      if (random() < 0.5) for (const one of changes) setName(one[0].synced, one)
    this.unsynced = []
    restore(this.root, random, new Set())
  }

  /** The content of the files in a folder, by their paths relative to it. */
  listFiles(path: string): ReadonlyMap<string, Buffer> {
    const files = new Map<string, Buffer>()
    const add = (prefix: string, names: ReadonlyMap<string, Node>) => {
      for (const [name, node] of names)
        if (node.names) add(`${prefix}${name}/`, node.names)
        else files.set(prefix + name, node.bytes)
    }
    add('', this.tryFind(path)?.names ?? new Map())
    return files
  }
}

const setName = (names: Map<string, Node>, [, name, node]: NameChange): void => {
  if (node === undefined) names.delete(name)
  else names.set(name, node)
}

/**
 * A path that begins with a slash and has neither a dot behind one nor a slash at its end is resolved
 * already, which is most of them.
 */
const toAbsolute = (path: string): string =>
  path.startsWith('/') && !path.includes('/..') && !path.includes('/./') && !path.endsWith('/')
    ? path
    : resolve(path)

const isInside = (path: string, folder: string): boolean => resolve(path).startsWith(`${resolve(folder)}/`)

/**
 * The changes of the names in a folder, and the earlier ones that concern the same names: an older change
 * never follows a newer one.
 */
const splitChanges = (all: readonly (readonly NameChange[])[], folder: FolderNode) => {
  const names = new Set<string>()
  const keyOf = ([parent, name]: NameChange) => `${parent.ino}/${name}`
  const [due, rest]: [(readonly NameChange[])[], (readonly NameChange[])[]] = [[], []]
  for (const changes of all.toReversed()) {
    const isDue = changes.some((one) => one[0] === folder || names.has(keyOf(one)))
    if (isDue) for (const one of changes) names.add(keyOf(one))
    ;(isDue ? due : rest).unshift(changes)
  }
  return { due, rest }
}

/** Sets everything below a folder back to what survived. */
const restore = (node: Node, random: () => number, done: Set<Node>): void => {
  if (done.has(node)) return
  done.add(node)
  if (node.names) {
    node.names = new Map(node.synced)
    for (const child of node.names.values()) restore(child, random, done)
  } else {
    if (node.bytes !== node.synced.bytes) node.bytes = chooseContent(node, random)
    if (node.bytes === node.synced.bytes) node.mtimeMs = node.synced.mtimeMs
    node.room = node.bytes
    node.synced = { bytes: node.bytes, mtimeMs: node.mtimeMs }
  }
}

/**
 * Of a file with unsynced content: the synced content, a part or all of the new one, or its length without
 * its bytes.
 */
const chooseContent = ({ bytes, synced: { bytes: old } }: FileNode, random: () => number): Buffer => {
  const start = bytes.subarray(0, old.length).equals(old) ? old.length : 0
  const kept = start + Math.floor(random() * (bytes.length - start + 1))
  const zeros = Buffer.concat([bytes.subarray(0, start), Buffer.alloc(bytes.length - start)])
  return [old, bytes.subarray(0, kept), bytes, zeros][Math.floor(random() * 4)] as Buffer
}
