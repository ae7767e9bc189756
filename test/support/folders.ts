import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished } from 'vitest'

/**
 * Creates a folder that is deleted when the test ends, or, outside of one, when all tests of the file have
 * ended.
 */
export const temporaryFolder = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'scripstream-'))
  const remove = (): void => rmSync(path, { recursive: true, force: true })
  try {
    onTestFinished(remove)
  } catch {
    afterAll(remove)
  }
  return path
}

const listPaths = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()

const isFile = (path: string): boolean => statSync(path).isFile()

const hashFile = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex')

/** All outputs in a folder: path and digest. */
export const hashOutputs = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    listPaths(folder)
      .filter((name) => !name.startsWith('.scripstream') && isFile(join(folder, name)))
      .map((name) => [name, hashFile(join(folder, name))]),
  )

/**
 * Every file and folder below a folder, with its content and modification time; but not that of the folder in
 * which a lock comes and goes.
 */
export const snapshotFolder = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    listPaths(folder).map((name) => {
      const path = join(folder, name)
      return [
        name,
        `${name === '.scripstream' ? '' : statSync(path).mtimeMs} ${isFile(path) ? hashFile(path) : 'folder'}`,
      ]
    }),
  )

/** The texts of all files below a folder, by path. */
export const filesIn = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    listPaths(folder)
      .filter((name) => isFile(join(folder, name)))
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  )
