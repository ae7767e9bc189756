import { existsSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The command that installs packages where this command finds them: as it was itself installed, by the path of its file. In a checkout, and
 * beside the global packages of other tools than npm, that is the current folder.
 */
export const describeInstall = (packages: readonly string[], file = fileURLToPath(import.meta.url)): string => {
  if (file.includes(`${sep}_npx${sep}`)) return `npx ${['scripstream', ...packages].map((name) => `-p ${name}`).join(' ')} scripstream …`
  const end = file.lastIndexOf(`${sep}node_modules${sep}`)
  const isGlobal = end >= 0 && !file.includes(`${sep}.pnpm${sep}`) && !existsSync(join(file.slice(0, end), 'package.json'))
  return `npm install ${isGlobal ? '-g ' : ''}${packages.join(' ')}`
}
