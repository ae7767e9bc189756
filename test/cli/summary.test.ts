import { describe, expect, test } from 'vitest'
import { buildFolderArgs, formatCommandLine } from '../../src/cli/command-line.js'
import { findHints } from '../../src/cli/hints.js'
import { width } from '../../src/cli/terminal/text.js'
import type { ReportedCause, RunReport, ScriptReport } from '../../src/model/report.js'
import { NOT_STARTED } from '../../src/model/run-stats.js'
import { runReport, scriptReport, summaryLines } from './support.js'

const print = summaryLines

const master = scriptReport({ durationMs: 100, files: 2, bytes: 20_500 })
const news = scriptReport({
  durationMs: 9_000,
  requests: 510,
  items: { success: 400, empty: 100, skipped: 0, rate_limit: 0, error: 0 },
  files: 400,
  bytes: 4_800_000,
})
const skipped = scriptReport({
  outcome: 'skipped',
  durationMs: 0,
  requests: 0,
  files: 0,
  bytes: 0,
  items: { success: 0, empty: 0, skipped: 0, rate_limit: 0, error: 0 },
})
const notBegun = { ...skipped, error: NOT_STARTED }

describe('the summary of a complete run', () => {
  const report = runReport({
    scripts: { 'master-data': master, 'market-news': news, 'all-ohlcv': { ...skipped, outcome: 'disabled' } },
  })

  test('shows a line for each phase and the location of the files', () => {
    expect(print(report)).toEqual([
      '✔ core        master-data     1 item    2 files   21 kB  0.1s',
      '✔ enrichment  market-news  500 items  400 files  4.8 MB  9.0s',
      'disabled: all-ohlcv',
      '',
      'Written to ./data: 402 files, 4.8 MB; report: .scripstream/report.json',
      '',
      'Complete: 2 streams (500 stocks, 12s).',
    ])
  })

  test('adds up the streams of a phase: its time is that of all, or of the longest if they run side by side', () => {
    const scripts = {
      'master-data': master,
      'fundamental-data': { ...news, rateLimited: 1_200 },
      'market-news': news,
      'company-filings': { ...news, durationMs: 95_000 },
      'all-ohlcv': news,
    }
    expect(print(runReport({ scripts })).slice(0, 4)).toEqual([
      '✔ core        2 streams    501 items  402 files  4.8 MB   9.1s  1,200 x 429',
      '✔ enrichment  2 streams  1,000 items  800 files  9.6 MB  1m35s',
      '✔ candles     all-ohlcv    500 items  400 files  4.8 MB   9.0s',
      '',
    ])
    expect(print(runReport({ scripts }), { columns: 50 })[1]).toBe(
      '✔ enrichment  2 streams  1,000 items  1m35s',
    )
  })

  test('fits a terminal of 24 lines for streams that are in no phase, with the verdict last', () => {
    const scripts = Object.fromEntries(
      Array.from({ length: 16 }, (_, index) => [`complete-price-bands-${index}`, news]),
    )
    const lines = print(runReport({ scripts }), { isSimulated: true })
    // The last line of the terminal is the prompt.
    expect(lines.length).toBeLessThan(24)
    expect(lines.at(-1)).toBe('Complete: 16 streams (500 stocks, 12s).')
    expect(lines.filter((line) => width(line) > 80)).toEqual([])
  })

  test('says that the folder is up to date, and how to download again', () => {
    const again = {
      ...report,
      run: 'r',
      finishedAt: '2026-02-12T15:00:05.000Z',
      finishedBefore: '2026-02-12T14:57:00.000Z',
    }
    expect(print(again, { isSimulated: true, args: ['run', '--out', 'a b'] })).toEqual([
      'Next',
      '  To download again:',
      "    scripstream run --out 'a b' --fresh",
      '',
      'Up to date: run r finished 3m05s ago, all 402 files present.',
    ])
  })

  test('says that simulated data is simulated', () => {
    expect(print(report, { isSimulated: true }).slice(-3)).toEqual([
      'This data is simulated; settings for real data: scripstream init',
      '',
      'Complete: 2 streams (500 stocks, 12s).',
    ])
  })
})

describe('the summary of a partial run', () => {
  const report = runReport({
    outcome: 'partial',
    scripts: {
      'master-data': { ...master, problems: [{ reason: '3 rows were left out' }] },
      'market-news': {
        ...news,
        outcome: 'partial',
        items: { success: 480, empty: 8, skipped: 0, rate_limit: 9, error: 0, http_503: 3 },
        degraded: 2,
        rateLimited: 27,
        causes: [{ code: 'rate_limit', host: 'news' }, { code: 'http_503' }],
        problems: [
          ...['TCS', 'INFY', 'M&M', 'ITC', 'SBIN', 'LT'].map((item) => ({
            item,
            status: 'rate_limit' as const,
            reason: `POST news /v2/news: the provider answered 429: rate limited (text/plain, ${item.length} B, "slow (down)")`,
          })),
          { item: 'EVIL\x1b[2J', status: 'http_503', reason: 'the provider\nanswered 503' },
        ],
      },
      'surveillance-lists': scriptReport({
        outcome: 'failed',
        durationMs: 2_000,
        items: { success: 0, empty: 0, skipped: 0, rate_limit: 0, error: 2 },
        files: 0,
        bytes: 0,
        error: 'nothing answered: sheet: http_503; page: html',
        problems: [{ item: 'ASM', status: 'error', reason: 'nothing answered: sheet: http_503; page: html' }],
      }),
      'all-indices': skipped,
    },
  })

  test('shows what is missing and why, and the command to retry it', () => {
    expect(
      print(report, { args: ['run', '--skip', 'all-indices', '--out=/srv/my market', '--only=x'] }),
    ).toEqual([
      '✔ core  master-data  1 item  2 files  21 kB  0.1s',
      '',
      'stream              result    ok  empty  partly  lost  files    size  time',
      'market-news         partial  480      8       2    12    400  4.8 MB  9.0s',
      'surveillance-lists  failed     -      -       -     2      -       -  2.0s',
      'not selected: all-indices',
      '',
      'Missing',
      '  market-news: 12 of 500 items lost (9 rate_limit, 3 http_503); 2 items',
      '    incomplete',
      '    POST news /v2/news: the provider answered 429: rate limited (text/plain, 3',
      '      B, "slow (down)"): TCS, INFY, M&M, ITC, SBIN …',
      '    the provider answered 503: EVIL',
      '  surveillance-lists: failed: nothing answered: sheet: http_503; page: html; 2',
      '    of 2 items lost (2 error)',
      '',
      'Notes',
      '  master-data: 3 rows were left out',
      '',
      'Written to ./data: 402 files, 4.8 MB; report: .scripstream/report.json',
      '',
      'Next',
      '  news limited the rate; run again later, or set a lower hosts.news.maxRate',
      '    (requests a second).',
      '  The provider answered with a server error (5xx); run again later.',
      '  Run it again; it requests what is missing:',
      "    scripstream run --skip all-indices '--out=/srv/my market' --only=x",
      '',
      'Partial: something is missing from 2 of 3 streams (500 stocks, 12s).',
    ])
  })

  test('counts the complete streams of a phase with others', () => {
    const scripts = { ...report.scripts, 'company-filings': news }
    expect(print({ ...report, scripts }).slice(0, 5)).toEqual([
      '✔ core           master-data     1 item    2 files   21 kB  0.1s',
      '✔ enrichment  1 of 3 streams  500 items  400 files  4.8 MB  9.0s',
      '',
      'stream              result    ok  empty  partly  lost  files    size  time',
      'market-news         partial  480      8       2    12    400  4.8 MB  9.0s',
    ])
  })

  test('shows the same command if that requests only missing items', () => {
    expect(print({ ...report, isResumable: true }, { columns: 80 }).slice(-4, -2)).toEqual([
      '  Run it again today; only missing items are requested:',
      expect.stringContaining('scripstream run'),
    ])
  })

  test.each([80, 120, 200])('fits into %i columns, except the command', (columns) => {
    for (const line of print(report, { columns }).filter((text) => !text.startsWith('    scripstream ')))
      expect(width(line)).toBeLessThanOrEqual(columns)
  })

  test('leaves out the sizes of a table that is too wide', () => {
    expect(print(report, { columns: 70 })[2]).toBe(
      'stream              result    ok  empty  partly  lost  files  time',
    )
  })
})

describe('the notes of a summary', () => {
  const because = (reason: string, ...items: readonly string[]) => items.map((item) => ({ item, reason }))
  const notesOf = (rewritten: NonNullable<ScriptReport['rewritten']>): readonly string[] => {
    const lines = print(runReport({ scripts: { 'all-ohlcv': scriptReport({ rewritten }) } }), {
      columns: 200,
    })
    return lines.slice(lines.indexOf('Notes') + 1, lines.indexOf('', lines.indexOf('Notes')))
  }

  test('state why a stored file was replaced', () => {
    const disagrees =
      'history fetched again: the stored candle of 2026-02-11 differs (close 101.5, now 50.75)'
    expect(
      notesOf([
        ...because('history fetched again: split on 2026-02-10', 'TCS'),
        ...because(disagrees, 'EVIL\x1b[2J'),
      ]),
    ).toEqual([
      '  all-ohlcv: history fetched again: split on 2026-02-10: TCS',
      `  all-ohlcv: ${disagrees}: EVIL`,
    ])
  })

  test('are one line for each kind of reason, however many files were replaced', () => {
    const split = (day: string, ...items: readonly string[]) =>
      because(`history fetched again: split on ${day}`, ...items)
    const other = (close: number) =>
      `history fetched again: the stored candle of 2026-02-11 differs (close ${close}, now 50.75)`
    const many = Array.from({ length: 1_300 }, (_, index) => ({ item: `S${index}`, reason: other(index) }))
    const torn = because('repaired: its last line was torn', 'A', 'B')
    expect(
      notesOf([...split('2026-02-10', 'TCS'), ...split('2026-02-11', 'INFY'), ...many, ...torn]),
    ).toEqual([
      '  all-ohlcv: history fetched again: split: TCS, INFY',
      '  all-ohlcv: history fetched again: the stored candle differs: S0, S1, S2, S3, S4 and 1,295 more',
      '  all-ohlcv: repaired: its last line was torn: A, B',
    ])
  })

  test('name what failed beside the run, of no stream', () => {
    const lines = print(runReport({ scripts: { 'master-data': master }, notes: ['the log is full\x1b[2J'] }))
    expect(lines.slice(lines.indexOf('Notes') + 1)[0]).toBe('  the log is full')
  })
})

describe('the summary of a run with wrong symbols', () => {
  const wrongSymbols = [
    { given: 'ZOMATO', now: 'ETERNAL' },
    { given: 'TCSS', near: ['TCS'] },
  ]
  const report = runReport({ outcome: 'partial', scripts: { 'master-data': master }, wrongSymbols })

  test('names them, what they mean now, and what to do', () => {
    expect(print(report).slice(2)).toEqual([
      'Wrong symbols',
      '  ZOMATO is now ETERNAL: fetched',
      '  TCSS (did you mean TCS?): not listed, nothing fetched',
      '',
      'Written to ./data: 2 files, 21 kB; report: .scripstream/report.json',
      '',
      'Next',
      '  Correct these symbols in the watchlist.',
      '',
      'Partial: all files are written, but 2 symbols of the watchlist are wrong (500',
      '  stocks, 12s).',
    ])
  })

  test('come with the advice on everything else, each with its command', () => {
    const stale = [
      {
        stream: 'all-ohlcv',
        output: 'candles',
        newest: '2026-02-10',
        expected: '2026-02-12',
        sessions: 2,
        shownBy: ['deals'],
      },
    ]
    const change = {
      ...({ stream: 'x', endpoint: 'POST /x', kind: 'gone', field: 'Band', example: 'TCS' } as const),
      answers: 9,
      of: 9,
      records: 9,
      ofRecords: 9,
    }
    const nextOf = (changes: Partial<RunReport>): readonly string[] => {
      const lines = print({ ...report, ...changes })
      return lines.slice(lines.indexOf('Next') + 1, lines.lastIndexOf(''))
    }
    const again = ['  Run it again later; only what is not up to date is requested:', '    scripstream run']
    const correct = '  Correct these symbols in the watchlist.'
    const drifted = [
      '  See what has changed; "scripstream verify --drift --accept" accepts it:',
      '    scripstream verify --drift',
    ]
    expect(nextOf({ stale })).toEqual([...again, correct])
    expect(nextOf({ stale, drift: [change] })).toEqual([...again, correct, ...drifted])
    const scripts = {
      'market-news': scriptReport({ outcome: 'partial', causes: [{ code: 'deadline', host: 'news' }] }),
    }
    expect(nextOf({ stale, scripts })).toEqual([
      '  news answered too slowly; set higher "timeoutsMs" or fewer "workers".',
      '  Run it again; it requests what is missing:',
      '    scripstream run',
      ...again,
      correct,
    ])
    expect(nextOf({ scripts, isResumable: true })).toContain(correct)
  })

  test('names the first few of many', () => {
    const many = Array.from({ length: 1_009 }, (_, index) => ({ given: `X${index}`, near: [] }))
    expect(print({ ...report, wrongSymbols: many }).slice(10, 12)).toEqual([
      '  X7: not listed, nothing fetched',
      '  and 1,001 more (--json names all)',
    ])
  })
})

test('what earlier runs did not fetch at all is one line', () => {
  const missing = { 'market-news': 'all', 'all-indices': 3, deals: 'all' } as const
  const lines = print(runReport({ scripts: { 'master-data': master }, missing }))
  const start = lines.indexOf('Missing from earlier runs')
  expect(lines.slice(start + 1, start + 4)).toEqual([
    '  all-indices: 3 items',
    '  all of market-news, deals',
    '',
  ])
})

describe('the summary of a failed run', () => {
  test('shows the cause, the streams that were not started, and what to do', () => {
    const report = runReport({
      outcome: 'failed',
      stocks: 0,
      error: 'master-data failed: the provider answered 500',
      scripts: {
        'master-data': scriptReport({
          outcome: 'failed',
          error: 'the provider answered 500',
          items: { success: 0, empty: 0, skipped: 0, rate_limit: 0, error: 0, http_500: 1 },
          files: 0,
          bytes: 0,
          causes: [{ code: 'http_500' }],
          problems: [{ item: 'all', status: 'http_500', reason: 'the provider answered 500' }],
        }),
        'market-news': notBegun,
      },
      missing: { 'master-data': 'all', 'market-news': 'all' },
    })
    expect(print(report)).toEqual([
      'stream       result  ok  lost  files  size  time  requests  429',
      'master-data  failed   -     1      -     -  1.0s         1    -',
      'not started: market-news',
      '',
      'Missing',
      '  master-data: failed: the provider answered 500',
      '',
      'Written to ./data: nothing; earlier files are unchanged; report:',
      '  .scripstream/report.json',
      '',
      'Next',
      '  The provider answered with a server error (5xx); run again later.',
      '  Fix the cause, then run it again:',
      '    scripstream run',
      '',
      'Failed: master-data failed: the provider answered 500.',
    ])
  })
})

describe('the summary of an interrupted run', () => {
  test('shows its progress and how to resume it', () => {
    const report = runReport({
      outcome: 'interrupted',
      scripts: {
        'master-data': master,
        'market-news': { ...news, outcome: 'failed', files: 0, bytes: 0 },
        'all-indices': notBegun,
        deals: skipped,
      },
    })
    expect(print(report, { args: ['run', '--only', 'market-news'], isReportStored: false })).toEqual([
      '✔ core  master-data  1 item  2 files  21 kB  0.1s',
      '',
      'stream       result    ok  empty  lost  files  size  time  requests  429',
      'market-news  stopped  400    100     -      -     -  9.0s       510    -',
      'not started: all-indices',
      'not selected: deals',
      '',
      'Written to ./data: at least 2 files, 21 kB',
      '',
      'Next',
      '  To resume (finished items are not requested again):',
      '    scripstream run --only market-news',
      '',
      'Interrupted: 1 of 3 streams finished in 12s. Written files are complete; all',
      '  others are unchanged.',
    ])
  })
})

describe('the command to run next', () => {
  test('quotes arguments for the shell', () => {
    expect(formatCommandLine(['run', '--symbols', 'M&M,TCS', '--out', "it's", ''])).toBe(
      "scripstream run --symbols 'M&M,TCS' --out 'it'\\''s' ''",
    )
  })

  test.each([
    ['postgres://me:secret@db/market', "'postgres://…@db/market'"],
    ['postgres:postgres://me:se@cr/et@db/market', "'postgres:postgres://…@db/market'"],
    [
      '--sink=postgres://db/market?user=me&password=secret&ssl=on',
      "'--sink=postgres://db/market?user=me&password=…&ssl=on'",
    ],
  ])('shows no credentials of an address: %s', (address, shown) => {
    expect(formatCommandLine(['run', address])).toBe(`scripstream run ${shown}`)
  })

  test.each([
    [['run', '-q', '--fresh', '-o', 'here', '--only', 'a']],
    [['run', '-qo', 'here']],
    [['run', '-ohere', '--json']],
    [['run', '--out', 'here']],
  ])('names the folder of another command: %j', (args) => {
    expect(buildFolderArgs(args, 'verify')).toEqual(['verify', '--out', 'here'])
  })
})

describe('the advice on a failure', () => {
  const hintsFor = (
    causes: readonly ReportedCause[],
    items: Partial<ScriptReport['items']> = { error: 1 },
  ): readonly string[] => {
    const counts = {
      success: 9,
      empty: 0,
      skipped: 0,
      rate_limit: 0,
      error: 0,
      ...items,
    } as ScriptReport['items']
    return findHints(
      runReport({ outcome: 'partial', scripts: { x: scriptReport({ items: counts, causes }) } }),
    )
  }

  test.each<[readonly ReportedCause[], string, string]>([
    [[{ code: 'http_403', host: 'static' }], 'static denied access (401, 403)', 'SCRIPSTREAM_HEADERS'],
    [[{ code: 'http_302', host: 'archive' }], 'archive redirected', 'SCRIPSTREAM_ARCHIVE_URL'],
    [[{ code: 'html', host: 'static' }], 'static sent HTML', 'SCRIPSTREAM_STATIC_URL'],
    [[{ code: 'dns', host: 'news' }], 'news cannot be found', 'SCRIPSTREAM_NEWS_URL'],
    [[{ code: 'connect', host: 'news' }], 'news cannot be reached', 'SCRIPSTREAM_NEWS_URL'],
    [[{ code: 'tls', host: 'ticks' }], 'The TLS connection to ticks fails', 'NODE_EXTRA_CA_CERTS'],
    [[{ code: 'deadline', host: 'ticks' }], 'ticks answered too slowly', '"timeoutsMs"'],
    [[{ code: 'shrink' }], 'Refused, the earlier files stay', '--accept shrink'],
    [
      [{ code: 'reset', host: 'news', advice: 'may-need-tls' }],
      'if the port expects TLS',
      'SCRIPSTREAM_NEWS',
    ],
    [[{ code: 'reset', host: 'news' }], 'news closed connections without an answer; run', '"workers"'],
    [[{ code: 'http_400', host: 'news', advice: 'needs-tls' }], 'news expects TLS', 'SCRIPSTREAM_NEWS_URL'],
    [
      [{ code: 'no-http', host: 'news', advice: 'http2' }],
      'news must speak HTTP/1.1',
      'SCRIPSTREAM_NEWS_URL',
    ],
    [
      [{ code: 'tls', host: 'news', advice: 'issuer' }],
      'the certificate of the issuer',
      'NODE_EXTRA_CA_CERTS',
    ],
    [[{ code: 'proxy', host: 'news', advice: 'proxy-denies' }], 'the host of news', 'NO_PROXY'],
    [[{ code: 'stale', host: 'news' }], 'between this machine and news', 'the earlier files stay'],
    [[{ code: 'http_421', host: 'news' }], 'news answered 421', 'SCRIPSTREAM_NEWS_URL'],
    [[{ code: 'http_431', host: 'news' }], 'news answered 431', 'SCRIPSTREAM_HEADERS'],
    [[{ code: 'http_451', host: 'news' }], 'news answered 451', 'ask the provider'],
    [[{ code: 'connect' }], 'The provider cannot be reached', 'check its address'],
    [
      [
        { code: 'http_500', host: 'analytics' },
        { code: 'http_503', host: 'web' },
      ],
      'analytics, web answered with a server error',
      '5xx',
    ],
  ])('is given for %j', (causes, says, wayOut) => {
    const hints = hintsFor(causes)
    expect(hints).toEqual([expect.stringContaining(says)])
    expect(hints[0]).toContain(wayOut)
  })

  test('names a cache for equal answers, and does not have them accepted', () => {
    const [hint, ...more] = hintsFor([{ code: 'identity', host: 'news', advice: 'cache' }])
    expect(hint).toContain('A cache or proxy between this machine and news')
    expect(hint).not.toContain('--accept')
    expect(more).toEqual([])
    expect(hintsFor([{ code: 'identity', host: 'news' }])[0]).toContain('--accept identity')
  })

  test('is left out where the message is the advice', () => {
    expect(hintsFor([{ code: 'tls', host: 'news', advice: 'said' }])).toEqual([])
  })

  test('names where the address is set', () => {
    const origins = new Map([['urls.news', 'urls.news in scripstream.config.json:8']])
    const scripts = {
      x: scriptReport({
        causes: [
          { code: 'connect', host: 'news' },
          { code: 'connect', host: 'web' },
        ],
      }),
    }
    expect(findHints(runReport({ outcome: 'partial', scripts }), origins)).toEqual([
      expect.stringContaining(
        'check urls.news in scripstream.config.json:8, SCRIPSTREAM_WEB_URL, the network',
      ),
    ])
  })

  test('names what is set for a service alone', () => {
    const [file, all] = ['scripstream.config.json', 'headers.cookie in scripstream.config.json:3']
    const origins = new Map([
      ...['url', 'headers', 'maxRate'].map(
        (field, line) => [`hosts.news.${field}`, `hosts.news.${field} in ${file}:${line + 5}`] as const,
      ),
      ['headers.cookie', all],
    ])
    const hintFor = (code: string, host = 'news', set: typeof origins = origins): string =>
      findHints(
        runReport({
          scripts: {
            x: scriptReport({
              items: { ...news.items, success: 0, empty: 0, http_404: 2 },
              causes: [{ code, host }],
            }),
          },
        }),
        set,
      ).join('')
    for (const code of ['http_302', 'http_404', 'html', 'dns', 'connect', 'tls']) {
      expect(hintFor(code)).toContain(' hosts.news.url in scripstream.config.json:5')
      expect(hintFor(code)).not.toContain('SCRIPSTREAM_')
    }
    expect(hintFor('http_401')).toContain(`check hosts.news.headers in ${file}:6, ${all} and your`)
    expect(hintFor('http_401', 'web')).toContain(`check ${all} and your`)
    expect(hintFor('rate_limit')).toContain(`a lower hosts.news.maxRate in ${file}:7 (`)
    // An address in `urls` goes before it.
    expect(
      hintFor('connect', 'news', new Map([...origins, ['urls.news', 'SCRIPSTREAM_NEWS_URL']])),
    ).toContain('check SCRIPSTREAM_NEWS_URL,')
  })

  test('is given for 404 only if all items are not found', () => {
    const causes = [{ code: 'http_404', host: 'static' }]
    expect(hintsFor(causes, { http_404: 2 })).toEqual([])
    expect(hintsFor(causes, { success: 0, http_404: 2 })).toEqual([
      expect.stringContaining('SCRIPSTREAM_STATIC_URL'),
    ])
  })

  test.each(['schema', 'http_418', 'a-code-of-a-later-version'])('gives no hint for the code %s', (code) =>
    expect(hintsFor([{ code, host: 'static' }])).toEqual([]),
  )
})
