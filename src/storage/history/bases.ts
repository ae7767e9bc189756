import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Day } from '../../model/trading-day.js'
import { fileCalls, listNames } from '../file-system.js'
import { statePaths } from '../run-state.js'

/**
 * A state of a file from which days differ. Its name has the file, its day, the digest of its content, and that of the base that it differs
 * from itself, if it is not complete. It is never changed.
 */
export interface Base {
  readonly name: string
  /** With `~` instead of `/`. */
  readonly file: string
  readonly day: Day
  readonly parent: string | undefined
  readonly digest: string
}

const BASE_FILE = /^((.+) (\d{4}-\d{2}-\d{2}) (?:([\da-f]{16})-)?([\da-f]{16}))\.base$/

export const toBaseFolder = (root: string): string => join(statePaths(root).history, 'bases')
export const toBasePath = (root: string, name: string): string => join(toBaseFolder(root), `${name}.base`)

/** All bases, by file and then by day. */
export const listBases = async (root: string): Promise<readonly Base[]> =>
  [...(await listNames(toBaseFolder(root)))].sort().flatMap((entry) => {
    const [, name, file = '', day = '', parent, digest = ''] = BASE_FILE.exec(entry) ?? []
    return name === undefined ? [] : [{ name, file, day, parent, digest }]
  })

/** A base after those that it needs. If one is missing, the chain begins after it. */
export const listChain = (all: readonly Base[], name: string | undefined): readonly Base[] => {
  const base = all.find((one) => one.name === name)
  if (base === undefined) return []
  const parent = all.find(({ file, digest }) => file === base.file && digest === base.parent)
  return [...listChain(all, parent?.name), base]
}

const toQuarter = (day: Day): string => `${day.slice(0, 4)} ${Math.ceil(Number(day.slice(5, 7)) / 3)}`

/**
 * The bases that a day of a file can differ from, best first: the newest of the quarter, and one that needs no other. Each quarter begins
 * with a complete base, so that a damaged one is not the end of all later days.
 */
export const chooseBases = (all: readonly Base[], file: string, day: Day): readonly Base[] => {
  const own = all.filter((base) => base.file === toFileName(file) && toQuarter(base.day) === toQuarter(day))
  const newest = own.findLast((base) => base.day <= day) ?? own[0]
  const complete = own.findLast(({ parent }) => parent === undefined)
  return [...new Set([newest, complete])].filter((base) => base !== undefined)
}

const toFileName = (file: string): string => file.replaceAll('/', '~')

interface NewBase {
  readonly file: string
  readonly day: Day
  readonly parent?: Base
}

/** Stores a base while its bytes arrive; resolves to its name. `temporary` is where it is written first. */
export const writeBase = async (
  root: string,
  { file, day, parent }: NewBase,
  { bytes, temporary }: { readonly bytes: AsyncIterable<Buffer> | Iterable<Buffer>; readonly temporary: string },
): Promise<string> => {
  const hash = createHash('sha256')
  const fd = await fileCalls.open(temporary, 'wx')
  try {
    for await (const chunk of bytes) {
      hash.update(chunk)
      await fileCalls.write(fd, chunk)
    }
    await fileCalls.sync(fd)
  } finally {
    await fileCalls.close(fd)
  }
  const name = [toFileName(file), day, [...(parent ? [parent.digest] : []), hash.digest('hex').slice(0, 16)].join('-')].join(' ')
  await mkdir(toBaseFolder(root), { recursive: true })
  await fileCalls.rename(temporary, toBasePath(root, name))
  return name
}
