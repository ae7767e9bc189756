// Moves the days of the former format in a folder to the present one, as the next run does. Arguments: the folder, and before which call for a
// file it kills itself, if at all.
import { createHistoryRequest } from '../../dist/src/pipeline/history-request.js'
import { recordDay } from '../../dist/src/storage/history/record-day.js'
import { streams } from '../../dist/streams/registry.js'
import { killAt, print } from './kill-at.js'

const [, , root, kill] = process.argv
const history = createHistoryRequest(
  streams.map((stream) => ({ stream, state: 'waiting' })),
  { exchange: 'NSE' },
)
killAt(Number(kill))
print('ready')
const at = '2026-02-09T14:30:00.000Z'
const record = { run: 'next', asOf: Date.parse(at), chosen: {} }
const report = { startedAt: at, finishedAt: at, scripts: {} }
const warning = await recordDay(root, { history, record, report, isPartOfEnded: false })
if (warning !== undefined) throw new Error(warning)
