// Records states of a folder, two on each day, until it is killed. Prints what it does. Arguments: the folder, the number of the state to
// begin with, and, if it is to kill itself, before which call for a file.
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileCalls } from '../../dist/src/storage/file-system.js'
import { recordDay } from '../../dist/src/storage/history/record-day.js'

const [, , root, first, killAt] = process.argv
const files = ['one.json', 'two.json'].map((file) => ({ stream: 'lists', file, isPerItem: false }))
const scripts = { lists: { outcome: 'success' } }

const print = (line) => process.stdout.write(`${line}\n`)

let calls = 0
let isRecording = false
let file = ''
for (const name of ['open', 'write', 'sync', 'close', 'rename']) {
  const call = fileCalls[name]
  fileCalls[name] = (...args) => {
    if (name === 'open') file = args[0].includes('work-') ? 'base' : 'day'
    if (isRecording && ++calls === Number(killAt)) {
      print(`killed before ${name} of a ${file}${name === 'rename' ? `, ${basename(args[1])}` : ''}`)
      process.kill(process.pid, 'SIGKILL')
    }
    return call(...args)
  }
}

/** Cannot be compressed. */
const createNote = (rank, generation) => createHash('sha512').update(`${rank} ${generation}`).digest('hex').repeat(2)

print('ready')
for (let version = Number(first); ; version++) {
  const day = new Date(Date.UTC(2026, 0, Math.floor(version / 2))).toISOString().slice(0, 10)
  // A twentieth of the notes change with each state, so that there are bases that differ from others.
  const rows = Array.from({ length: 2_000 }, (_, rank) => ({
    ...{ Symbol: `S${rank}`, Day: day, Version: version, Note: createNote(rank, Math.floor((version + rank) / 20)) },
  }))
  for (const { file } of files) writeFileSync(join(root, file), `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`)
  const record = { asOf: Date.parse(`${day}T20:00:00+05:30`) }
  isRecording = true
  print(`recording ${version} ${day}`)
  const report = { finishedAt: `${day}T18:00:00.000Z`, scripts }
  const warning = await recordDay(root, { history: { files, documents: [] }, record, report, isPartOfEnded: false })
  isRecording = false
  if (warning !== undefined) throw new Error(warning)
  print(`recorded ${version} ${day}`)
}
