import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/folders.js'
import { run, typed } from './command.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

const STREAM = `
import { map } from 'rxjs'
import { column, createResult, dataEnvelope, defineStream, json, perStock, post, Rows, row, StockRecord, toStockRecord } from 'scripstream/define'
import { BadAnswerError } from 'scripstream/errors'
import { z } from 'zod'

const Pledge = row({ promoter: column(z.string(), { about: 'who pledged', sql: 'promoter' }) })
const pledges = post({
  name: 'pledges', host: 'pledging', path: '/pledges', input: z.strictObject({ isin: z.string() }),
  read: (text, _, inspect) => {
    if (text.includes('Refused')) throw new BadAnswerError('schema', 'refused')
    return json(Rows)(text, undefined, inspect).data ?? []
  },
  shape: dataEnvelope(z.array(Pledge)),
  sample: ({ isin }, market) => ({ data: [{ promoter: market.stocks[0].ISIN === isin ? 'Refused' : 'Trust', bank: 'B' }] }),
})
export const promoterPledges = defineStream({
  name: 'promoter-pledges', summary: 'pledged shares', phase: 'enrichment', workers: 10, timeoutMs: 10_000, endpoints: [pledges],
  work: perStock((stock, { ask }) =>
    ask(pledges, { isin: stock.ISIN }).pipe(map((rows) => createResult(rows.map((one) => toStockRecord(stock, one)))))),
  outputs: [{ shape: 'rows-in-one-file', file: 'pledges.json', tables: [{ name: 'pledges', about: 'pledges', columns: [StockRecord, Pledge] }] }],
})
`

it('runs, compares and queries a stream of a module that imports the package, whose errors fail one stock only', async () => {
  const cwd = temporaryFolder()
  symlinkSync(join(root, 'node_modules'), join(cwd, 'node_modules'))
  writeFileSync(join(cwd, 'package.json'), '{"type":"module"}')
  writeFileSync(
    join(cwd, 'my-streams.js'),
    STREAM.replaceAll(/'scripstream\/(\w+)'/g, `'${join(root, 'dist/src/$1.js')}'`),
  )
  writeFileSync(join(cwd, 'scripstream.config.json'), '{"streams":"./my-streams.js"}')
  const ran = await run(['run', '--simulate=5', '--only', 'promoter-pledges', '--json'], { cwd })
  expect(ran.code).toBe(3)
  expect(JSON.parse(ran.stdout)).toMatchObject({
    scripts: { 'promoter-pledges': { outcome: 'partial', items: { success: 4, error: 1 } } },
  })
  expect((await run(['verify', '--drift', '--json'], { cwd })).stdout).toContain('data[].bank')
  // The commands that a run shows name the module too, and without it nothing passes for complete.
  writeFileSync(join(cwd, 'scripstream.config.json'), '{}')
  const own = ['--streams', './my-streams.js']
  expect(
    (await run(['run', '--simulate=5', '--only', 'promoter-pledges', '--fresh', ...own], { cwd })).stdout,
  ).toContain(`${typed} run --streams ./my-streams.js --simulate=5`)
  const other = await run(['run', '--simulate=5', '--only', 'listing-dates', '--json'], { cwd })
  expect(JSON.parse(other.stdout)).toMatchObject({ missing: { 'promoter-pledges': 1 } })
  const again = await run(['run', '--simulate=5', '--only', 'promoter-pledges', ...own, '--json'], { cwd })
  expect(JSON.parse(again.stdout)).toMatchObject({ missing: { 'promoter-pledges': 1 } })
  writeFileSync(join(cwd, 'scripstream.config.json'), '{"streams":"./my-streams.js"}')
  const tables = JSON.parse((await run(['query', '--json'], { cwd })).stdout) as readonly {
    readonly name: string
  }[]
  expect(tables.map(({ name }) => name)).toContain('pledges')
})
