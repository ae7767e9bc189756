import { cpSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of `copyShared`, which all test files have in common. */
    readonly sharedFolder: string
  }
}

/** vitest calls it before all tests, and what it returns after them. */
export const setup = ({ provide }: TestProject): (() => void) => {
  const folder = mkdtempSync(join(tmpdir(), 'scripstream-shared-'))
  provide('sharedFolder', folder)
  return () => rmSync(folder, { recursive: true, force: true })
}

/**
 * Copies what is expensive to make and that several test files begin with, into an empty folder. It is made
 * once for each name.
 */
export const copyShared = async (
  name: string,
  to: string,
  make: (folder: string) => Promise<unknown>,
): Promise<void> => {
  const path = join(inject('sharedFolder'), name)
  if (!existsSync(path)) {
    const own = mkdtempSync(`${path}-`)
    await make(own)
    // Another worker may have made the same by now.
    if (!existsSync(path)) renameSync(own, path)
  }
  cpSync(path, to, { recursive: true, preserveTimestamps: true })
}
