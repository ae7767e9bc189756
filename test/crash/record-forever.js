// Records two states of a folder in turn, until it is killed. Arguments: the folder, and the number of the state to begin with.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { recordDay } from '../../dist/src/storage/history/record-day.js'

const [, , root, first] = process.argv
const files = ['one.json', 'two.json'].map((file) => ({ stream: 'lists', file, format: 'array', isPerItem: false }))
const report = { finishedAt: '2026-02-10T18:00:00.000Z', scripts: { lists: { outcome: 'success' } } }

process.stdout.write('ready\n')
for (let version = Number(first); ; version++) {
  // Large steps, so that new bases are written, too.
  const rows = Array.from({ length: 2_000 }, (_, rank) => ({ Symbol: `S${rank}`, Version: version, Note: `${rank * version}`.repeat(30) }))
  for (const { file } of files) writeFileSync(join(root, file), JSON.stringify(rows))
  const run = { history: { files, documents: [] }, record: { asOf: Date.parse('2026-02-10T20:00:00+05:30') }, report, isPartOfEnded: false }
  const warning = await recordDay(root, run)
  if (warning !== undefined) throw new Error(warning)
  process.stdout.write('recorded\n')
}
