import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'

/**
 * The folder of a built checkout, named by its path or as a commit of this repository, which is then built in
 * `folder` with the packages of the checkout at `root`.
 *
 * @throws Error if the commit is not in this clone, or cannot be built with these packages
 */
export const findBuild = (name: string, root: string, folder: string): string => {
  if (existsSync(join(name, 'package.json'))) return resolve(name)
  mkdirSync(folder, { recursive: true })
  try {
    const archive = execFileSync('git', ['-C', root, 'archive', name], {
      maxBuffer: 1 << 30,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    execFileSync('tar', ['-x', '-C', folder], { input: archive })
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: folder, stdio: 'pipe' })
  } catch (error) {
    throw new Error(`${name} cannot be built here: ${(error as Error).message.split('\n')[0]}`)
  }
  return folder
}
