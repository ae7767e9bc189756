import { defineCommand } from '../command.js'
import { describeInstall } from '../install.js'
import { flag, folderFlags, jsonFlag } from '../options.js'
import { stockLines } from './lines.js'

const EVENTS_SHOWN = 3
const EVENTS_IN_JSON = 100

export const addShow = defineCommand({
  name: 'show',
  about: 'Shows one stock at a glance.',
  args: [['<stock>', 'symbol, ISIN, former symbol or name of the company']],
  flags: () => ({
    ...folderFlags(),
    verify: flag('--verify', 'also show the findings of "verify" about it; takes some seconds'),
    json: jsonFlag('print everything as JSON'),
  }),
  examples: [
    ['scripstream show TCS', 'price, range, results, filings, news and deals'],
    ['scripstream show "Tata Consultancy"', 'by the name of the company; also by ISIN or a former symbol'],
    ['scripstream show TCS --verify', 'also with what "verify" finds about it'],
    ['scripstream show TCS --json', 'all columns of the screener, and the events'],
  ],
  notes: () => [`Needs DuckDB: ${describeInstall(['@duckdb/node-api'])}`],
  endsBySignal: true,
  run: async ({ json, verify: isVerified }, { typed: [stock = ''], dependencies: { streams }, settings }) => {
    const { out, exchange, verify: limits } = settings()
    const { readStockView, verify } = await import('../folder-readers.js')
    const view = await readStockView(out, { stock, streams, limit: json ? EVENTS_IN_JSON : EVENTS_SHOWN })
    const symbols = [String(view.facts.symbol)]
    const findings = isVerified ? (await verify(out, { streams, exchange, limits, symbols })).findings : undefined
    const whole = findings === undefined ? view : { ...view, findings }
    return { json: whole, lines: (columns) => stockLines(whole, columns) }
  },
})
