import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

interface Manifest {
  readonly name: string
  readonly main?: string
  readonly exports: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>
}

export const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest

/** The package as npm would publish it, from the current build. */
export interface Packed {
  readonly tarball: string
  /** Every file in it, relative to the package. */
  readonly files: readonly string[]
  /**
   * An empty project that has the package installed, with its dependencies and rxjs, and no types of Node.
   */
  readonly project: string
  readonly remove: () => void
}

export const pack = (): Packed => {
  const folder = mkdtempSync(join(tmpdir(), 'scripstream-package-'))
  const project = join(folder, 'project')
  const modules = join(project, 'node_modules')
  mkdirSync(modules, { recursive: true })
  const json = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: ROOT,
    encoding: 'utf8',
    // npm does not start without a folder for its cache, and HOME may have none.
    env: { ...process.env, npm_config_cache: join(folder, 'cache') },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [packed] = Object.values(
    JSON.parse(json) as Readonly<Record<string, PackedByNpm>> | readonly PackedByNpm[],
  )
  if (packed === undefined) throw new Error('npm packed nothing')
  const tarball = join(folder, packed.filename)
  execFileSync('tar', ['-xzf', tarball, '-C', modules])
  renameSync(join(modules, 'package'), join(modules, manifest.name))
  const peers = Object.keys(manifest.peerDependencies).filter(
    (name) => !manifest.peerDependenciesMeta[name]?.optional,
  )
  for (const name of [...Object.keys(manifest.dependencies), ...peers])
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  return {
    tarball,
    files: packed.files.map(({ path }) => path),
    project,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

interface PackedByNpm {
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

/** The script of a command in `node_modules`. */
export const commandOf = (name: string, command: string): string => {
  const folder = join(ROOT, 'node_modules', name)
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly bin: Readonly<Record<string, string>> | string
  }
  return join(folder, typeof bin === 'string' ? bin : (bin[command] ?? ''))
}

export interface Ended {
  readonly status: number
  readonly output: string
}

/** Runs a script with Node; returns stdout and stderr. */
export const run = (args: readonly string[], cwd: string): Ended => {
  try {
    return {
      status: 0,
      output: execFileSync(process.execPath, args, {
        cwd,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    }
  } catch (error) {
    const { status, stdout, stderr } = error as {
      readonly status: number
      readonly stdout: string
      readonly stderr: string
    }
    return { status, output: stdout + stderr }
  }
}
