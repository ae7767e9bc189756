// Records states of a folder, two on each day, until it is killed. Prints what it does. Arguments: the folder, the number of the state to
// begin with, and, if it is to kill itself, before which call for a file; 0 to end after one record.
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { recordDay } from '../../dist/src/storage/history/record-day.js'
import { killAt, print } from './kill-at.js'

const [, , root, first, kill] = process.argv
const columns = ['Symbol', 'Version', 'Note'].map((key) => ({
  ...{ name: key.toLowerCase(), type: key === 'Version' ? 'BIGINT' : 'VARCHAR', comment: '', from: { row: [key] } },
}))
const tables = ['one', 'two'].map((name) => ({
  ...{ stream: 'lists', isPerItem: false, followsAsOf: true, changesDaily: false },
  table: { name, comment: '', shape: 'array', files: [{ path: `${name}.json` }], columns },
}))
const history = {
  ...{ tables, documents: [], isLateAllowed: false, holidays: new Set(), isSimulated: false },
  evidence: { streams: [], candles: [], trades: [] },
}
const scripts = { lists: { outcome: 'success' } }

let isRecording = false
killAt(Number(kill), () => isRecording)

/** Cannot be compressed. */
const createNote = (rank, generation) => createHash('sha512').update(`${rank} ${generation}`).digest('hex')

print('ready')
for (let version = Number(first); ; version++) {
  const day = new Date(Date.UTC(2026, 0, Math.floor(version / 2))).toISOString().slice(0, 10)
  // A twentieth of the rows change with each state.
  const rows = Array.from({ length: 500 }, (_, rank) => {
    const own = rank === 0 ? version : Math.floor((version + rank) / 20)
    return { Symbol: `S${rank}`, Version: own, Note: createNote(rank, own) }
  })
  for (const { table } of tables)
    writeFileSync(join(root, table.files[0].path), `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`)
  const at = `${day}T${14 + (version % 2)}:30:00.000Z`
  isRecording = true
  print(`recording ${version}`)
  const report = { startedAt: at, finishedAt: at, scripts }
  const record = { run: `state ${version}`, asOf: Date.parse(at), chosen: {} }
  const warning = await recordDay(root, { history, record, report, isPartOfEnded: false })
  isRecording = false
  if (warning !== undefined) throw new Error(warning)
  print(`recorded ${version}`)
  if (kill === '0') break
}
