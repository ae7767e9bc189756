import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { listErrorCodes } from '../src/cli/hints.js'
import { settingRows } from '../src/config.js'
import { isListWork, listTables, type StreamDefinition } from '../src/engine/define-stream.js'
import { groupBy } from '../src/model/map.js'
import { listViews } from '../src/tables/views/index.js'
import { workedQueries } from '../src/tables/worked-queries.js'
import { createMetrics } from '../src/telemetry/prometheus.js'
import { checkNames, REMEDIES } from '../src/verify/finding.js'
import { streams } from '../streams/registry.js'
import { readResults } from './bench/report/results.js'
import { formatCapacity, formatMachines, formatScaleTable, formatTable } from './bench/report/table.js'
import { formatTrouble, readTrouble } from './bench/report/trouble.js'

const table = (header: readonly string[], rows: readonly (readonly string[])[]): string =>
  [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

const code = (text: string): string => (text === '' ? '' : `\`${text}\``)

const names = ({ outputs, work }: StreamDefinition): string =>
  outputs
    .flatMap(({ file }) =>
      work.parts.length < 2
        ? [file]
        : work.parts.map(({ fileName }) => file.replace(/\{(?!exch)\w+\}/, fileName)),
    )
    .map(code)
    .join(', ')

const node = ({ name, workers }: StreamDefinition): string => `${name}["${name} (${workers})"]`

const phase = (title: string, wanted: StreamDefinition['phase'], joined: string): string =>
  [
    `  subgraph ${wanted}["${title}"]`,
    `    ${streams
      .filter((stream) => stream.phase === wanted)
      .map(node)
      .join(joined)}`,
    '  end',
  ].join('\n')

const toBenchFile = (name: string): string => fileURLToPath(new URL(`./bench/${name}`, import.meta.url))
const results = readResults(toBenchFile('results.json'))
/** `results.json` has further figures, without a goal. */
const judged = results.figures.filter(({ goal }) => goal !== undefined)

const EXAMPLES = new URL('../src/examples/', import.meta.url)
const readExample = (file: string): string => readFileSync(new URL(file, EXAMPLES), 'utf8')

/** A line for each example: its file, and its first comment. */
const listExamples = (): string =>
  readdirSync(EXAMPLES)
    .filter((file) => file.endsWith('.ts'))
    .sort()
    .map((file) => `- [\`${file}\`](../examples/${file}): ${readComment(readExample(file))}`)
    .join('\n')

/** The text of the first comment of a file. */
const readComment = (source: string): string =>
  (/^\/\*\*(.+?)\*\/$/ms.exec(source)?.[1] ?? '').replace(/\n \*/g, ' ').replace(/\s+/g, ' ').trim()

/** A part of an example, from one text to the end of the next other one, without its margin. */
const quoteExample = (file: string, from: string, to: string): string => {
  const source = readExample(file)
  const start = source.indexOf(from)
  const end = source.indexOf(to, start) + to.length
  if (start < 0 || end < start) throw new Error(`${file} has no part from "${from}" to "${to}"`)
  return ['```ts', source.slice(start, end).replace(/^ {2}/gm, ''), '```'].join('\n')
}

const views = listViews(listTables(streams))

interface Metric {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
}

/** The metrics of runs. */
const listMetrics = (): readonly Metric[] => {
  const registry = new Registry()
  createMetrics({ registry })
  const all = registry.getMetricsAsArray() as unknown as readonly Metric[]
  // Said once for all of them.
  return all.map(({ labelNames, ...metric }) => ({
    ...metric,
    labelNames: labelNames.filter((label) => label !== 'collector'),
  }))
}

const ROOT = new URL('../', import.meta.url)
const read = (page: string): string => readFileSync(new URL(page, ROOT), 'utf8')

/** How an answer becomes a line in a file: the functions that it passes, in this order. */
const PATH: readonly (readonly [file: string, name: string, what: string])[] = [
  [
    'src/engine/graph.ts',
    'runGraph',
    'reads the master list, multicasts it (`connect`) to one branch per stream, and ends each phase with a barrier',
  ],
  [
    'src/engine/branch.ts',
    'runBranch',
    'one stream: its items, their work in two passes, the sinks, the count of what was stored',
  ],
  [
    'src/operators/merge-map-with-pauses.ts',
    'mergeMapWithPauses',
    '`mergeMap(work, workers)`; an item that must pause for long gives its worker to the next one',
  ],
  [
    'src/engine/in-process.ts',
    'workOnItems',
    'the outcome of an item: its result, or its failure as a value; a worker waits while too much is being stored',
  ],
  [
    'streams/market-news.ts',
    'marketNews',
    'what the stream requests for a stock, and what it makes of the answer',
  ],
  [
    'src/http/ask.ts',
    'createAsk',
    'a request as a pipe: send, `deadline`, read and check, `through`, `retryFailures`',
  ],
  [
    'src/limiter/through.ts',
    'through',
    'waits for a permit of the endpoint and one of the host, and tells both how the attempt ended',
  ],
  [
    'src/http/exchange.ts',
    'createTransport',
    'one attempt over HTTP: status, bytes, redirects; unsubscribing aborts it',
  ],
  [
    'sinks/create-storage.ts',
    'createStorage',
    'the sinks: each writes an output as a whole, and never worse data over good',
  ],
  [
    'src/storage/journal.ts',
    'createJournal',
    'the line that says that the item is stored, by which a killed run resumes',
  ],
]

/** What happens at an event, by the functions to read in this order. */
const EVENTS: readonly (readonly [
  what: string,
  functions: readonly (readonly [file: string, name: string])[],
])[] = [
  [
    'A 429 ends its attempt, holds its own request or all of them, and is sent again',
    [
      ['src/http/ask.ts', 'createAsk'],
      ['src/limiter/through.ts', 'through'],
      ['src/limiter/state.ts', 'applyAttemptEnd'],
      ['src/limiter/judge.ts', 'judgeRefusal'],
      ['src/operators/retry-failures.ts', 'retryFailures'],
      ['src/operators/retry-after-429.ts', 'createThrottleDelay'],
      ['src/operators/merge-map-with-pauses.ts', 'mergeMapWithPauses'],
    ],
  ],
  [
    'A candle update requests the days that the file lacks, or the whole history',
    [
      ['streams/all-ohlcv.ts', 'allOhlcv'],
      ['src/market/update-candles.ts', 'updateCandles'],
      ['src/market/candle-rules.ts', 'acceptHistory'],
      ['sinks/create-storage.ts', 'createStorage'],
      ['src/market/candle-file.ts', 'formatAppended'],
    ],
  ],
  [
    'A kill leaves files, journals and the record of the run; the next run takes them over',
    [
      ['src/storage/file-system.ts', 'writeFileAtomically'],
      ['src/storage/journal.ts', 'createJournal'],
      ['src/storage/folder-session.ts', 'openFolderSession'],
      ['src/engine/earlier-runs.ts', 'decide'],
      ['src/engine/branch.ts', 'runBranch'],
    ],
  ],
]

/** The number of the line on which something is exported. */
const findLine = (file: string, name: string): number => {
  const lines = read(file).split('\n')
  const place = lines.findIndex(
    (line) => line.startsWith(`export const ${name} =`) || line.startsWith(`export const ${name}: `),
  )
  if (place < 0) throw new Error(`${file} does not export ${name}`)
  return place + 1
}

const linkTo = ([file, name]: readonly [file: string, name: string]): string =>
  `[\`${name}\`](../../${file}#L${findLine(file, name)})`

const listPath = (): string =>
  PATH.map(([file, name, what], place) => `${place + 1}. ${linkTo([file, name])}: ${what}.`).join('\n')

const listEvents = (): string =>
  EVENTS.map(([what, functions]) => `- **${what}**: ${functions.map(linkTo).join(', ')}.`).join('\n')

/** The generated blocks of the pages, by the name of their markers. */
const blocks = (): Readonly<Record<string, string>> => ({
  graph: [
    '```mermaid',
    'flowchart LR',
    phase('1: core, one after the other', 'core', ' --> '),
    phase('2: enrichment, in parallel', 'enrichment', '\n    '),
    phase('2.5: candles, beside phase 2', 'candles', '\n    '),
    '  core --> first{{barrier}} --> enrichment --> second{{barrier}} --> report([run report])',
    '  first --> candles --> second',
    ...streams.flatMap(({ name, work }) =>
      isListWork(work) || work.of === 'master-data' ? [] : [`  ${work.of} -.-> ${name}`],
    ),
    ...streams.flatMap(({ name, after = [] }) => after.map((awaited) => `  ${awaited} -.-> ${name}`)),
    '```',
  ].join('\n'),
  path: listPath(),
  events: listEvents(),
  outputs: table(
    ['stream', 'writes', 'what'],
    streams.map((stream) => [
      code(stream.name),
      names(stream),
      `${stream.summary}${stream.optional ? '; optional: `--with`' : ''}`,
    ]),
  ),
  settings: table(
    ['setting', 'environment', 'default', 'what'],
    settingRows(streams).map((row) => [code(row.name), code(row.env), code(row.default), row.description]),
  ),
  errors: table(
    ['code', 'meaning', 'what to do'],
    listErrorCodes().map(([name, meaning, hint]) => [
      name.split(', ').map(code).join(', '),
      meaning,
      hint.replace(`: ${meaning}.`, '.'),
    ]),
  ),
  speed: `${formatTable(judged)}\n\n${formatMachines(judged)}`,
  scale: `${formatScaleTable(results.scale)}\n\n${formatCapacity(results.scale)} Measured on ${results.scaleMachine}.`,
  outages: formatTrouble(readTrouble(toBenchFile('outages.json'))),
  examples: listExamples(),
  embedding: quoteExample('01-one-stream.ts', '  createCollector', '`))'),
  marbles: quoteExample('07-marble-test.ts', '  new TestScheduler', '\n  })'),
  queries: table(
    ['name', 'answers'],
    workedQueries.map(({ name, about }) => [code(name), about]),
  ),
  metrics: table(
    ['metric', 'labels', 'what'],
    listMetrics().map(({ name, labelNames, help }) => [code(name), labelNames.map(code).join(', '), help]),
  ),
  remedies: table(
    ['checks', 'what to do'],
    [...groupBy(checkNames, (check) => REMEDIES[check])].map(([remedy, checks]) => [
      checks.map(code).join(', '),
      remedy,
    ]),
  ),
  viewlist: table(
    ['table', 'one row for', 'columns'],
    views.map(({ name, comment, columns }) => [code(name), comment, String(columns.length)]),
  ),
})

const marks = (name: string) => [`<!-- ${name} -->`, `<!-- /${name} -->`] as const

/** The names of the blocks in a page. */
const listBlocks = (page: string): readonly string[] =>
  [...page.matchAll(/<!-- (\w+) -->/g)].map(([, name = '']) => name)

/** A page with its blocks generated from the code. */
const withBlocks = (page: string, all: ReturnType<typeof blocks>): string =>
  listBlocks(page).reduce((text, name) => {
    const [open, close] = marks(name)
    const [from, to] = [text.indexOf(open), text.indexOf(close)]
    if (to < from || all[name] === undefined) throw new Error(`the block ${name} is not closed or unknown`)
    return `${text.slice(0, from + open.length)}\n\n${all[name]}\n\n${text.slice(to)}`
  }, page)

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'src/guides/excel-and-sql.md',
  'src/guides/node.md',
  'src/guides/operator.md',
  'src/guides/python.md',
  'src/storage/UPGRADING.md',
  'src/cli/README.md',
  'src/tables/README.md',
  'src/engine/README.md',
  'src/fleet/README.md',
  'src/limiter/README.md',
  'src/market/README.md',
  'src/operators/README.md',
  'src/storage/README.md',
  'src/telemetry/README.md',
  'src/web/README.md',
  'streams/README.md',
  'test/bench/README.md',
  'test/simulation/README.md',
]
const all = blocks()

/** After a change, `UPDATE_README=1 npx vitest run test/readme.test.ts` writes the blocks again. */
it.each(pages)('%s shows graph, outputs, settings, example and figures as the code has them', (page) => {
  const expected = withBlocks(read(page), all)
  if (process.env.UPDATE_README) writeFileSync(new URL(page, ROOT), expected)
  else expect(read(page)).toBe(expected)
})

it('shows each generated block on exactly one page', () => {
  expect(pages.flatMap((page) => listBlocks(read(page))).sort()).toEqual(Object.keys(all).sort())
})

it.each(pages)('%s links to files that exist', (page) => {
  const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link = '']) => link)
  expect(links.filter((link) => !existsSync(new URL(link, new URL(page, ROOT))))).toEqual([])
})

it('checks the page of every folder', () => {
  const found = ['src', 'streams', 'sinks', 'test'].flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' }).map(
      (file) => `${folder}/${file}`,
    ),
  )
  const isPage = (file: string): boolean => file.endsWith('.md') && !/FAULTS\.md$|\/node_modules\//.test(file)
  expect(found.filter(isPage).sort()).toEqual(pages.filter((page) => page.includes('/')).sort())
})

it.each(pages.filter((page) => page.includes('/')))('%s names source files that exist', (page) => {
  const names = [...read(page).matchAll(/`([\w./-]+\.ts)`/g)].map(([, name = '']) => name)
  const links = [...read(page).matchAll(/\]\(([^)#]+\.ts)\)/g)].map(([, link = '']) => link.split('/').at(-1))
  const isFound = (name: string): boolean =>
    links.includes(name) ||
    [ROOT, new URL(page, ROOT), new URL('streams/', ROOT)].some((base) => existsSync(new URL(name, base)))
  expect(names.filter((name) => !isFound(name))).toEqual([])
})

it('names the stream and the workers of each Python script', () => {
  const rows = [...read('streams/README.md').matchAll(/\[`(\S+)`\]\(\1\.ts\) \| .+, (\d+) \|$/gm)]
  expect(rows).toHaveLength(16)
  for (const [, name, workers] of rows)
    expect(streams.find((stream) => stream.name === name)?.workers).toBe(Number(workers))
})

it('keeps the README within 200 lines', () => {
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(201)
})
