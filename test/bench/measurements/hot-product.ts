import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as Scripstream from '../../../src/index.js'
import type { RunReport } from '../../../src/index.js'
import type * as Streams from '../../../streams/registry.js'
import { type CpuUsage, HOT_PASSES, WARM_PASSES } from '../references/spent.js'

const ONLY = ['new-announcements', 'advanced-indicators']

const [product = '', out = '', count = ''] = process.argv.slice(2)
const importBuilt = (file: string): Promise<unknown> => import(pathToFileURL(join(product, 'dist', file)).href)
const { createCollector, loadSettings } = (await importBuilt('src/index.js')) as typeof Scripstream
const { streams } = (await importBuilt('streams/registry.js')) as typeof Streams

/** Collects everything once, into a separate folder. */
const runOnce = (folder: string): Promise<RunReport | undefined> =>
  new Promise((resolve, reject) => {
    const settings = loadSettings({ flags: { out: join(out, folder) }, env: process.env, streams })
    let report: RunReport | undefined
    createCollector({ settings })
      .run({ only: ONLY, asOf: Date.parse('2026-02-12T20:00:00+05:30') })
      .subscribe({ next: (value) => (report = value), error: reject, complete: () => resolve(report) })
  })

for (let turn = 0; turn < WARM_PASSES; turn++) await runOnce(`warm-${turn}`)
const before = process.cpuUsage()
for (let turn = 0; turn < HOT_PASSES; turn++) {
  const report = await runOnce(`hot-${turn}`)
  if (report?.outcome !== 'complete') throw new Error(`the run ended as ${report?.outcome}`)
}
const { user, system } = process.cpuUsage(before)
const spent: CpuUsage = { cpuMicros: user + system, items: Number(count) * ONLY.length * HOT_PASSES }
console.log(JSON.stringify(spent))
