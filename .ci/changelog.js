// Run by `npm version`: moves what is under "Unreleased" in the changelog under the new version and its date.
import { readFileSync, writeFileSync } from 'node:fs'

const HEADING = '## [Unreleased]\n'
const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const text = readFileSync('CHANGELOG.md', 'utf8')
const [before, after] = text.split(HEADING)
if (after === undefined) throw new Error(`CHANGELOG.md has no line "${HEADING.trim()}"`)
if (text.includes(`## [${version}]`)) throw new Error(`CHANGELOG.md already has ${version}`)
const [changes = ''] = after.split(/^## \[/m)
if (!/^- /m.test(changes))
  throw new Error('CHANGELOG.md names no change under "Unreleased": there is nothing to release')
writeFileSync(
  'CHANGELOG.md',
  `${before}${HEADING}\n## [${version}] - ${new Date().toISOString().slice(0, 10)}\n${after}`,
)
