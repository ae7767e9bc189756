// Checks the licence of every package that a user gets: those that npm installs with this one, and those in
// the bundle of the command and the page.
import { readFileSync } from 'node:fs'

const ALLOWED = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'Unlicense',
]

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const installed = Object.entries(packages)
  .filter(([path, { dev }]) => path !== '' && !dev)
  .map(([path, { version, license }]) => `${path.replace(/^.*node_modules\//, '')} ${version} (${license})`)
// The build writes the licence of each bundled package, after a line with its name, version and licence.
const notices = readFileSync('dist/bundle/cli/LICENSES.txt', 'utf8')
const bundled = notices.match(/(?<=^|\n-{80}\n\n)\S+ \d\S* \(.+\)(?=\n)/g) ?? []

const all = [...new Set([...installed, ...bundled])].sort()
const refused = all.filter((title) => !ALLOWED.includes(/\((.+)\)$/.exec(title)?.[1] ?? ''))
console.log(all.join('\n'))
if (bundled.length === 0) throw new Error('dist/bundle/cli/LICENSES.txt names no package: run npm run build')
if (refused.length > 0) throw new Error(`these licences are not allowed: ${refused.join(', ')}`)
console.log(`${installed.length} installed, ${bundled.length} bundled: all licences are allowed`)
