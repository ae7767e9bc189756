import { createRequire } from 'node:module'
import { join } from 'node:path'
import { formatError, UsageError } from './errors.js'

/**
 * Where optional packages are looked up: beside this package, beside the program (a bundle of it has no
 * address of its own, or that of the machine that built it), then in the current folder, for a command that
 * is installed globally.
 */
const PACKAGE_PLACES: readonly (() => string | undefined)[] = [
  () => import.meta.url,
  () => process.argv[1],
  () => join(process.cwd(), 'package.json'),
]

const listPlaces = (): readonly NodeJS.Require[] =>
  PACKAGE_PLACES.flatMap((find) => {
    try {
      return [createRequire(find() ?? '')]
    } catch {
      // Without an address, or one that is none here.
      return []
    }
  })

/** The folders in which an optional package may be. */
export const listPackageFolders = (name: string): readonly string[] =>
  listPlaces().flatMap((require) => require.resolve.paths(name) ?? [])

/**
 * Loads an optional package on demand. By `require`: `import()` would scan hundreds of CommonJS files for
 * export names first.
 *
 * @param install its name, as `npm install` takes it
 * @throws UsageError with the code `missing-package`; it ends with the command that installs the package
 */
export const requireOptional = <Module>(name: string, missing: string, install = name): Module => {
  for (const require of listPlaces()) {
    const path = resolveFrom(require, name)
    if (path === undefined) continue
    try {
      return require(path) as Module
    } catch (error) {
      throw new UsageError(`cannot load ${name} (${formatError(error)}): npm install ${install}`, {
        code: 'missing-package',
        cause: error,
      })
    }
  }
  throw new UsageError(`${missing}: npm install ${install}`, { code: 'missing-package' })
}

const resolveFrom = (require: NodeJS.Require, name: string): string | undefined => {
  try {
    return require.resolve(name)
  } catch {
    return undefined
  }
}
