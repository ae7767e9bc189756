import { writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createCollector } from '../src/collector.js'
import {
  findOrigins,
  loadNotifySettings,
  loadSettings,
  type SettingsSources,
  settingRows,
} from '../src/config.js'
import { findMisspeltVariables } from '../src/model/environment.js'
import { UsageError } from '../src/model/errors.js'
import { builtInHosts, type SettingsInput } from '../src/model/settings.js'
import { streams } from '../streams/registry.js'
import { temporaryFolder } from './support/folders.js'

const fileOf = (content: unknown): string => {
  const folder = temporaryFolder()
  const path = join(folder, 'settings.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const load = (sources: Omit<SettingsSources, 'streams'> = {}) =>
  loadSettings({ streams, configFile: fileOf({}), ...sources })

/** The settings with one value, given by its path: `options.market-news.newsLimit`. */
const nest = (path: string, value: unknown): SettingsInput =>
  path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as SettingsInput

/** The message of the usage error for these settings. */
const complaintOf = (sources: Omit<SettingsSources, 'streams'>): string => {
  try {
    load(sources)
  } catch (error) {
    if (error instanceof UsageError) return error.message
    throw error
  }
  throw new Error('nothing was wrong')
}

describe('settings', () => {
  it('have the interface document’s values as defaults', () => {
    expect(load()).toEqual({
      urls: {},
      hosts: {},
      exchange: 'NSE',
      out: './data',
      fetchOhlcv: true,
      with: [],
      history: true,
      lake: false,
      stale: 'note',
      options: {},
      retries: 2,
      patience: '5m',
      workers: {},
      timeoutsMs: {},
      headers: {},
      streams: [],
      watchlists: {},
      sessions: {},
      verify: {},
      watch: [],
      notifyOn: 'failure',
    })
  })

  it.each([
    ['out', 'data', 'SCRIPSTREAM_OUT'],
    ['holidays', 'nse/holidays.txt', 'SCRIPSTREAM_HOLIDAYS'],
    ['logFile', './run.log', 'SCRIPSTREAM_LOG_FILE'],
    ['metricsFile', '../x.prom', 'SCRIPSTREAM_METRICS_FILE'],
  ] as const)(
    'take the path of %s in a file relative to the file, and elsewhere relative to the current folder',
    (name, path, variable) => {
      const configFile = fileOf({ [name]: path })
      expect(load({ configFile })[name]).toBe(join(configFile, '..', path))
      expect(load({ configFile: relative(process.cwd(), configFile) })[name]).toBe(
        join(configFile, '..', path),
      )
      expect(load({ configFile, env: { [variable]: path } })[name]).toBe(path)
      expect(load({ configFile: fileOf({ [name]: `/a/${path}` }) })[name]).toBe(join('/a', path))
      expect(complaintOf({ configFile: fileOf({ [name]: '' }) })).toContain(`${name} in `)
    },
  )

  it.each([
    ['./notify.sh --all', 'FOLDER/notify.sh --all'],
    ['../notify.sh', 'PARENT/notify.sh'],
    ['mail me@example.com < ./note', 'mail me@example.com < ./note'],
    ['https://hooks.example/me', 'https://hooks.example/me'],
  ])('take a command relative to the file in which it is named: %s', (notify, expected) => {
    const configFile = fileOf({ notify, watchlists: { a: '@lists/a.txt', b: ['TCS'] } })
    const folder = dirname(configFile)
    const settings = load({ configFile })
    expect(settings.notify).toBe(expected.replace('FOLDER', folder).replace('PARENT', dirname(folder)))
    expect(settings.watchlists).toEqual({ a: `@${join(folder, 'lists/a.txt')}`, b: ['TCS'] })
    expect(load({ configFile, env: { SCRIPSTREAM_NOTIFY: './mine.sh' } }).notify).toBe('./mine.sh')
  })

  it.each([
    '{ "out": "x", "notify": "./notify.sh", ',
    '{ "notify": "./notify.sh" "newsLimit": 5, "out": "x" }',
    '{ // "notify": "./other.sh"\n "urls": { , }, "out": "x", "notify": "./notify.sh" }',
    '{ "notify": "./notify.sh", "notifyOn": "sometimes", "out": "x", "notifySecret": 5 }',
  ])('for a notification are found in a file with a mistake: %s', (text) => {
    const configFile = fileOf(text)
    const folder = dirname(configFile)
    const found = loadNotifySettings({ configFile, streams })
    expect(found).toMatchObject({
      notify: join(folder, 'notify.sh'),
      out: join(folder, 'x'),
      notifyOn: 'failure',
    })
    expect(found.notifySecret).toBeUndefined()
  })

  it('for a notification are the defaults without a file', () => {
    expect(loadNotifySettings({ configFile: '/none.json', streams }).notify).toBeUndefined()
  })

  it('name special sessions with their hours, in a file and in a variable', () => {
    const sessions = { '2026-11-08': '18:00-19:15', '2026-02-01': '09:15-24:00' }
    expect(load({ configFile: fileOf({ sessions }) }).sessions).toEqual(sessions)
    expect(
      load({ env: { SCRIPSTREAM_SESSIONS: '2026-11-08=18:00-19:15, 2026-02-01=09:15-24:00' } }).sessions,
    ).toEqual(sessions)
  })

  it.each([
    ['2026-02-30', '18:00-19:15', 'must have days such as 2026-11-08, but is "2026-02-30"'],
    ['8.11.2026', '18:00-19:15', 'must have days such as 2026-11-08, but is "8.11.2026"'],
    ['2026-11-08', '6 pm', '(2026-11-08) must be hours in India such as "18:00-19:15", but is "6 pm"'],
    [
      '2026-11-08',
      '25:00-26:00',
      '(2026-11-08) must be hours in India such as "18:00-19:15", but is "25:00-26:00"',
    ],
    ['2026-11-08', 18, '(2026-11-08) must be hours such as "18:00-19:15", but is 18'],
    ['2026-11-08', '19:15-18:00', '(2026-11-08) must end after it begins, but is "19:15-18:00"'],
    ['2026-11-08', '18:00-18:00', '(2026-11-08) must end after it begins, but is "18:00-18:00"'],
  ])('refuse a special session on %s at %s', (day, hours, message) => {
    const configFile = fileOf({ sessions: { [day]: hours } })
    expect(complaintOf({ configFile })).toMatch(/^sessions in .*:\d+ /)
    expect(complaintOf({ configFile })).toContain(message)
  })

  it('refuse two rules of one name', () => {
    const rule = { name: 'twice', query: 'from master' }
    expect(complaintOf({ configFile: fileOf({ watch: [rule, { ...rule, name: 'once' }, rule] }) })).toContain(
      'must be the name of one rule only',
    )
  })

  it.each([
    { setting: 'out', file: '/of-file', env: { SCRIPSTREAM_OUT: 'of-env' }, seen: 'of-env', flag: 'of-flag' },
    { setting: 'options.market-news.newsLimit', file: 10, env: { NEWS_LIMIT: '20' }, seen: 20, flag: 30 },
    {
      setting: 'with',
      file: ['index-members'],
      env: { SCRIPSTREAM_WITH: 'exchange-daily' },
      seen: ['exchange-daily'],
      flag: ['index-members'],
    },
    { setting: 'fetchOhlcv', file: true, env: { FETCH_OHLCV: 'false' }, seen: false, flag: true },
    {
      setting: 'options.company-filings.forceUpdate',
      file: false,
      env: { FORCE_UPDATE: 'true' },
      seen: true,
      flag: false,
    },
    { setting: 'exchange', file: 'BSE', env: { SCRIPSTREAM_EXCHANGE: 'MCX' }, seen: 'MCX', flag: 'NSE' },
    { setting: 'retries', file: 0, env: { SCRIPSTREAM_RETRIES: '4' }, seen: 4, flag: 5 },
    {
      setting: 'options.surveillance-lists.sheetId',
      file: 'f',
      env: { SCRIPSTREAM_SHEET_ID: 'e' },
      seen: 'e',
      flag: 'x',
    },
  ])(
    'use $setting from the flag, else the environment, else the file',
    ({ setting, file, env, seen, flag }) => {
      const configFile = fileOf(nest(setting, file))
      expect(load({ configFile })).toHaveProperty(setting, file)
      expect(load({ configFile, env })).toHaveProperty(setting, seen)
      expect(load({ configFile, env, flags: nest(setting, flag) })).toHaveProperty(setting, flag)
    },
  )

  it('use each address and each worker count from the highest source that has it', () => {
    const configFile = fileOf({
      urls: { static: 'http://file', news: 'http://file' },
      workers: { 'market-news': 1, 'all-ohlcv': 2 },
    })
    const env = {
      SCRIPSTREAM_STATIC_URL: 'http://env/a/b',
      SCRIPSTREAM_WORKERS: 'market-news=3, fundamental-data = 4',
    }
    expect(load({ configFile, env })).toMatchObject({
      urls: { static: 'http://env/a/b', news: 'http://file' },
      workers: { 'market-news': 3, 'all-ohlcv': 2, 'fundamental-data': 4 },
    })
  })

  it.each(builtInHosts)('read the address of %s from its variable', (host) => {
    expect(load({ env: { [`SCRIPSTREAM_${host.toUpperCase()}_URL`]: 'https://x/y' } }).urls).toEqual({
      [host]: 'https://x/y',
    })
  })

  it.each([
    ['true', true],
    ['TRUE', true],
    ['1', true],
    ['yes', true],
    ['on', true],
    ['false', false],
    ['False', false],
    ['0', false],
    ['no', false],
    ['off', false],
    [' false ', false],
  ])('read the boolean %j', (text, value) =>
    expect(load({ env: { FETCH_OHLCV: text } }).fetchOhlcv).toBe(value),
  )

  it('treat an empty or blank variable as not set', () => {
    expect(load({ env: { NEWS_LIMIT: '', FETCH_OHLCV: ' ', SCRIPSTREAM_STATIC_URL: '' } })).toEqual(load())
  })

  it('read headers and timeouts from the environment', () => {
    const env = { SCRIPSTREAM_HEADERS: '{"x-own":"1"}', SCRIPSTREAM_TIMEOUTS_MS: 'market-news=500' }
    expect(load({ env })).toMatchObject({ headers: { 'x-own': '1' }, timeoutsMs: { 'market-news': 500 } })
  })

  it('write the exchange in capitals', () =>
    expect(load({ env: { SCRIPSTREAM_EXCHANGE: 'nse' } }).exchange).toBe('NSE'))

  it('protect the prototypes from any file', () => {
    const configFile = fileOf('{"urls":{"static":"http://x"},"headers":{"__proto__":"y"},"workers":{}}')
    expect(load({ configFile }).urls).toEqual({ static: 'http://x' })
    expect(Object.getPrototypeOf(load({ configFile }).headers)).toBe(Object.prototype)
  })
})

describe('a wrong setting', () => {
  it.each([
    { setting: 'options.market-news.newsLimit', wrong: 101, env: 'NEWS_LIMIT', text: '101', says: /100/ },
    { setting: 'options.market-news.newsLimit', wrong: 0, env: 'NEWS_LIMIT', text: '0', says: /1/ },
    {
      setting: 'options.market-news.newsLimit',
      wrong: 1.5,
      env: 'NEWS_LIMIT',
      text: '1.5',
      says: /whole number/,
    },
    {
      setting: 'options.market-news.newsLimit',
      wrong: 'many',
      env: 'NEWS_LIMIT',
      text: 'many',
      says: /number/,
    },
    { setting: 'fetchOhlcv', wrong: 'maybe', env: 'FETCH_OHLCV', text: 'maybe', says: /true or false/ },
    {
      setting: 'options.company-filings.forceUpdate',
      wrong: 'ja',
      env: 'FORCE_UPDATE',
      text: 'ja',
      says: /true or false/,
    },
    { setting: 'exchange', wrong: 'N S E', env: 'SCRIPSTREAM_EXCHANGE', text: 'N S E', says: /such as NSE/ },
    { setting: 'exchange', wrong: '../x', env: 'SCRIPSTREAM_EXCHANGE', text: '../x', says: /such as NSE/ },
    { setting: 'retries', wrong: -1, env: 'SCRIPSTREAM_RETRIES', text: '-1', says: /0/ },
    ...['soon', '5', '-1s', '25h', '1.5m', 'm'].map((wrong) => ({
      setting: 'patience',
      wrong,
      env: 'SCRIPSTREAM_PATIENCE',
      text: wrong,
      says: /must be a time such as 90s, 10m or 1h, at most 24h/,
    })),
    {
      setting: 'sessions',
      wrong: 'evening',
      env: 'SCRIPSTREAM_SESSIONS',
      text: 'evening',
      says: /such as 2026-11-08=18:00-19:15/,
    },
  ])('is named with its source: $setting of $wrong', ({ setting, wrong, env, text, says }) => {
    const configFile = fileOf(nest(setting, wrong))
    const shown = JSON.stringify(wrong)
    for (const [complaint, source] of [
      [complaintOf({ configFile }), `${setting} in ${configFile}`],
      [complaintOf({ env: { [env]: text } }), env],
      [complaintOf({ flags: nest(setting, wrong) }), '--'],
    ] as const) {
      expect(complaint).toContain(source)
      expect(complaint).toContain(
        setting.startsWith('options') && typeof wrong === 'string' ? '(value not shown)' : shown,
      )
      expect(complaint).toMatch(says)
    }
  })

  it.each([
    { setting: 'headers', wrong: 'CANARY-1', env: 'SCRIPSTREAM_HEADERS', text: 'CANARY-1' },
    {
      setting: 'headers',
      wrong: { 'x-own': 'CANARY-1\n' },
      env: 'SCRIPSTREAM_HEADERS',
      text: '{"x-own":"CANARY-1\\n"}',
    },
    {
      setting: 'headers',
      wrong: { 'x: CANARY-1': 'x' },
      env: 'SCRIPSTREAM_HEADERS',
      text: '{"x: CANARY-1":"x"}',
    },
    { setting: 'headers', wrong: ['CANARY-1'], env: 'SCRIPSTREAM_HEADERS', text: '["CANARY-1"]' },
    {
      setting: 'options.surveillance-lists.sheetId',
      wrong: ['CANARY-1'],
      env: 'SCRIPSTREAM_HEADERS',
      text: '{"x-own":"CANARY-1"',
    },
    {
      setting: 'urls',
      wrong: 'https://u:CANARY-1@x',
      env: 'SCRIPSTREAM_STATIC_URL',
      text: 'https://x/?key=CANARY-1',
    },
    {
      setting: 'urls',
      wrong: { news: 'https://x#CANARY-1' },
      env: 'SCRIPSTREAM_NEWS_URL',
      text: 'https://CANARY-1@x',
    },
    { setting: 'urls', wrong: { news: 'u:CANARY-1@x' }, env: 'SCRIPSTREAM_NEWS_URL', text: 'x?CANARY-1' },
  ])(
    'is named, but its value is not shown if it may identify the user: $setting',
    ({ setting, wrong, env, text }) => {
      const configFile = fileOf(nest(setting, wrong))
      for (const [complaint, source] of [
        [complaintOf({ configFile }), configFile],
        [complaintOf({ env: { [env]: text } }), env],
        [complaintOf({ flags: nest(setting, wrong) }), '--'],
      ] as const) {
        expect(complaint).toContain(source)
        expect(complaint).not.toContain('CANARY')
      }
    },
  )

  it.each(['{"headers":{"x-own":CANARY-1}}', 'CANARY-1', '{"headers":{"x-own":"CANARY-1"'])(
    'is a file that is no JSON, which is not shown: %j',
    (text) => {
      const configFile = fileOf(text)
      expect(complaintOf({ configFile })).toContain(`cannot use the settings file ${configFile}: `)
      expect(complaintOf({ configFile })).not.toContain('CANARY')
    },
  )

  it.each(['localhost:8080', 'ftp://x', 'x', '//x', 'http://'])('is an invalid address: %s', (url) => {
    const configFile = fileOf({ urls: { static: url } })
    expect(complaintOf({ env: { SCRIPSTREAM_STATIC_URL: url } })).toMatch(
      /^SCRIPSTREAM_STATIC_URL must be an http\(s\) address such as .*, but is "/,
    )
    expect(complaintOf({ configFile })).toContain(`urls.static in ${configFile}`)
  })

  it('is the address of an unknown service', () => {
    const configFile = fileOf({ urls: { statics: 'http://x' } })
    expect(complaintOf({ configFile })).toContain(configFile)
    expect(complaintOf({ configFile })).toContain('statics')
  })

  it('is an unknown setting, with the likely name', () => {
    const configFile = fileOf({ retrys: 5 })
    expect(complaintOf({ configFile })).toMatch(/"retrys" \(did you mean retries\?\)$/)
    expect(complaintOf({ configFile })).toContain(configFile)
  })

  it('is an unknown check, with the known ones', () => {
    const env = { SCRIPSTREAM_VERIFY: 'errors=1,large-moves=20' }
    expect(load({ env, configFile: fileOf({ verify: { warnings: 5, errors: 9 } }) }).verify).toEqual({
      errors: 1,
      warnings: 5,
      'large-moves': 20,
    })
    expect(complaintOf({ env: { SCRIPSTREAM_VERIFY: 'large-move=20' } })).toMatch(
      /^SCRIPSTREAM_VERIFY has an unknown check: "large-move" \(did you mean large-moves\?\); checks: errors, warnings, .*large-moves/,
    )
  })

  it.each(['workers', 'timeoutsMs'])('is an unknown stream in %s, with the known ones', (setting) => {
    const configFile = fileOf({ [setting]: { 'market-new': 5 } })
    const complaint = complaintOf({ configFile })
    expect(complaint).toContain(`${setting} in ${configFile}`)
    expect(complaint).toContain('"market-new"')
    for (const { name } of streams) expect(complaint).toContain(name)
  })

  it('is an invalid worker count, with the stream’s name', () => {
    expect(complaintOf({ env: { SCRIPSTREAM_WORKERS: 'market-news=0' } })).toMatch(
      /SCRIPSTREAM_WORKERS.*market-news.* but is 0/,
    )
    expect(complaintOf({ env: { SCRIPSTREAM_WORKERS: 'market-news=many' } })).toMatch(
      /SCRIPSTREAM_WORKERS.*market-news.*"many"/,
    )
    expect(complaintOf({ env: { SCRIPSTREAM_WORKERS: '15' } })).toContain('SCRIPSTREAM_WORKERS')
  })

  it.each([
    [
      'SCRIPSTREAM_WORKERS',
      'market-news:10',
      'must be such as market-news=10, in a file { "market-news": 10 }, but is "market-news:10"',
    ],
    [
      'SCRIPSTREAM_TIMEOUTS_MS',
      'market-news=9,x',
      'must be such as market-news=10, in a file { "market-news": 10 }, but is "market-news=9,x"',
    ],
    ['SCRIPSTREAM_VERIFY', '5', 'must be such as warnings=10, in a file { "warnings": 10 }, but is "5"'],
    [
      'SCRIPSTREAM_HEADERS',
      'foo',
      'must be an object such as {"authorization":"Bearer …"} (value not shown)',
    ],
    ['SCRIPSTREAM_WATCHLISTS', 'foo', 'must be an object such as {"mine":["TCS","INFY"]}, but is "foo"'],
    [
      'SCRIPSTREAM_WATCH',
      'foo',
      'must be a list such as [{"name":"highs","query":"near-highs"}], but is "foo"',
    ],
    ['SCRIPSTREAM_NOTIFY_ON', 'never', 'must be failure, change or always, but is "never"'],
  ])('shows how to write %s instead of %j', (name, value, complaint) => {
    expect(complaintOf({ env: { [name]: value } })).toBe(`${name} ${complaint}`)
  })

  it('is an optional stream that is unknown, with its place and the optional ones', () => {
    const complaint =
      'has an unknown stream: "exchange-dialy" (did you mean exchange-daily?); streams: exchange-daily, index-members'
    for (const given of ['exchange-dialy', ['index-members', 'exchange-dialy']]) {
      const configFile = fileOf({ with: given })
      expect(complaintOf({ configFile })).toBe(`with in ${configFile}:1 ${complaint}`)
    }
    expect(complaintOf({ env: { SCRIPSTREAM_WITH: 'exchange-dialy' } })).toBe(`SCRIPSTREAM_WITH ${complaint}`)
    expect(load({ env: { SCRIPSTREAM_WITH: 'market-news' } }).with).toEqual(['market-news'])
  })

  it.each([{ 'bad name': 'x' }, { 'x-own': 'a\nb' }, { 'x-own': 1 }])(
    'is a header that cannot be sent: %j',
    (headers) => {
      expect(complaintOf({ configFile: fileOf({ headers }) })).toContain('headers in ')
    },
  )

  it('is reported for the source that has it, even if a higher one has a valid value', () => {
    const configFile = fileOf(nest('options.market-news.newsLimit', 'many'))
    expect(complaintOf({ configFile, env: { NEWS_LIMIT: '5' } })).toContain(configFile)
  })
})

it('names all wrong settings of all sources at once, as text and as data', () => {
  const configFile = fileOf(`{ // a comment with { and "
    "options": { "market-news": { "newsLimit": "many", /* "newLimit": 1 */
      "newLimit": 5 } },
    "retrys": 1,
    "workers": { "market-new": 1 },
    "urls": { "static": "https://x.test/{", "news": "x" },
    "hosts": { "news": {
      "ulr": "https://x.test" } },
  }`)
  const wrong = { configFile, env: { FETCH_OHLCV: 'maybe', NEWS_LIMIT: '5' }, flags: { retries: -1 } }
  const lines = complaintOf(wrong).split('\n')
  const starts = [
    '8 settings are wrong:',
    `urls.news in ${configFile}:6 must be an http(s) address such as https://example.com/path, but is "x"`,
    `hosts.news in ${configFile}:8 has no setting "ulr" (did you mean url?)`,
    `options.market-news.newsLimit in ${configFile}:2 must be a whole number from 1 to 100 (value not shown)`,
    `options.market-news in ${configFile}:3 has no setting "newLimit" (did you mean newsLimit?)`,
    `${configFile}:4 has no setting "retrys" (did you mean retries?)`,
    `workers in ${configFile}:5 has an unknown stream: "market-new" (did you mean market-news?); streams: `,
    'FETCH_OHLCV must be true or false, but is "maybe"',
    '--retries must be a whole number from 0 to 10, but is -1',
  ]
  expect(lines.map((line, index) => line.slice(0, starts[index]?.length))).toEqual(starts)
  expect(() => load(wrong)).toThrow(
    expect.objectContaining({
      issues: [
        ['urls.news'],
        ['hosts.news.ulr', 'url'],
        ['options.market-news.newsLimit'],
        ['options.market-news.newLimit', 'newsLimit'],
        ['retrys', 'retries'],
        ['workers.market-new', 'market-news'],
        ['fetchOhlcv'],
        ['retries'],
      ].map(([path, suggestion], index) => ({
        path,
        message: lines[index + 1],
        ...(suggestion === undefined ? {} : { suggestion }),
      })),
    }),
  )
})

describe('a configuration file', () => {
  it('that was named must exist', () => {
    expect(complaintOf({ configFile: '/nowhere/scripstream.json' })).toMatch(
      /\/nowhere\/scripstream\.json.*it does not exist/,
    )
  })

  it.each([
    ['', 'the file ends on line 1: expected {'],
    ['{', 'the file ends on line 1: expected a name in double quotes, or }'],
    ['newsLimit: 5', 'line 1, column 1: expected {'],
    ['[]', 'line 1, column 1: expected {'],
    ['null', 'line 1, column 1: expected {'],
    ['{}\n{}', 'line 2, column 1: expected nothing after the last }'],
    ['{ "a" 1 }', 'line 1, column 7: expected a colon'],
    ["{ 'a': 1 }", 'line 1, column 3: expected a name in double quotes, or }'],
    [
      '{ "out": "C:\\data" }',
      'line 1, column 10: expected a text that ends with " on its line, with \\\\ for each \\',
    ],
    ['{ "out": "x\n" }', 'line 1, column 10: expected a text that ends with " on its line'],
  ])('says what it should have, and where: %j', (content, says) => {
    const configFile = fileOf(content)
    expect(complaintOf({ configFile })).toContain(`cannot use the settings file ${configFile}: ${says}`)
  })

  it('in UTF-16 is refused with the cause', () => {
    const configFile = fileOf('')
    writeFileSync(configFile, '\ufeff{ "newsLimit": 5 }', 'utf16le')
    expect(complaintOf({ configFile })).toMatch(
      /: it is not UTF-8 text \(it may be UTF-16\); save it as UTF-8$/,
    )
  })

  it('need not exist if it was not named', () => expect(() => loadSettings({ streams })).not.toThrow())
})

describe('the origin of a setting', () => {
  it('is the file with the line, the variable or the option', () => {
    const configFile = fileOf(
      '{\n  "urls": {\n    "news": "https://n.test",\n    "web": "https://w.test"\n  },\n  "retries": 1, "options": { "market-news": { "newsLimit": 9 } }\n}',
    )
    const origins = findOrigins({
      configFile,
      env: { NEWS_LIMIT: '20', SCRIPSTREAM_WEB_URL: 'https://x.test' },
      flags: { patience: '5s', logFile: 'x' },
      streams,
    })
    expect(Object.fromEntries(origins)).toEqual({
      'urls.news': `urls.news in ${configFile}:3`,
      'urls.web': 'SCRIPSTREAM_WEB_URL',
      retries: `retries in ${configFile}:6`,
      'options.market-news.newsLimit': 'NEWS_LIMIT',
      patience: '--patience',
      logFile: '--log-file',
    })
  })

  it('is the line of each field of a service', () => {
    const configFile = fileOf(
      '{\n "hosts": {\n  "news": {\n   "url": "https://n.test",\n   "headers": { "a": "b" },\n   "maxRate": 5\n  },\n  "options": "https://o.test"\n }\n}',
    )
    expect(Object.fromEntries(findOrigins({ configFile, streams }))).toEqual({
      'hosts.news': `hosts.news in ${configFile}:3`,
      'hosts.news.url': `hosts.news.url in ${configFile}:4`,
      'hosts.news.headers': `hosts.news.headers in ${configFile}:5`,
      'hosts.news.maxRate': `hosts.news.maxRate in ${configFile}:6`,
      'hosts.options': `hosts.options in ${configFile}:8`,
      'hosts.options.url': `hosts.options in ${configFile}:8`,
    })
  })
})

describe('a setting that is gone', () => {
  it.each([
    ['downMs', 'SCRIPSTREAM_DOWN_MS', 'set patience'],
    ['throttleGiveUpMs', 'SCRIPSTREAM_THROTTLE_GIVE_UP_MS', 'set patience'],
    ['throttleRetries', 'SCRIPSTREAM_THROTTLE_RETRIES', 'set patience'],
    ['throttleMs', 'SCRIPSTREAM_THROTTLE_MS', 'set maxRate of the service in hosts'],
    [
      'throttleMaxMs',
      'SCRIPSTREAM_THROTTLE_MAX_MS',
      'a pause is never longer than 60 s; set maxRate of the service in hosts',
    ],
    ['backoffMs', 'SCRIPSTREAM_BACKOFF_MS', 'the first pause is 0.5 s at most; set retries'],
    ['newsLimit', undefined, 'write "options": { "market-news": { "newsLimit": … } }'],
    ['forceUpdate', undefined, 'write "options": { "company-filings": { "forceUpdate": … } }'],
    ['sheetId', undefined, 'write "options": { "surveillance-lists": { "sheetId": … } }'],
  ])('is refused with what to use now, in a file, a variable and code: %s', (name, variable, now) => {
    const configFile = fileOf({ [name]: 5 })
    expect(complaintOf({ configFile })).toBe(`${name} in ${configFile}:1 is gone: ${now}`)
    expect(() => createCollector({ settings: nest(name, 5) })).toThrow(`${name} is gone: ${now}`)
    if (variable === undefined) return
    expect(complaintOf({ env: { [variable]: '5' } })).toBe(`${variable} is gone: ${now}`)
    expect(findMisspeltVariables({ [variable]: '5' }, streams)).toEqual([])
  })
})

describe('the table of settings', () => {
  it('names each setting once, with its variable and what it is', () => {
    const names = settingRows(streams).map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const { env, description } of settingRows(streams)) expect([env, description]).not.toContain('')
    for (const host of builtInHosts) expect(names).toContain(`urls.${host}`)
    expect(settingRows(streams).find(({ name }) => name === 'options.market-news.newsLimit')).toMatchObject({
      env: 'NEWS_LIMIT',
      default: '50',
    })
  })
})

describe('a typing error', () => {
  it.each([
    [{ wokers: {} }, 'has no setting "wokers" (did you mean workers?)'],
    [{ urls: { newz: 'http://x.test' } }, 'has no setting "newz" (did you mean news?)'],
    [{ workers: { 'market-new': 3 } }, 'has an unknown stream: "market-new" (did you mean market-news?)'],
  ])('in a settings file is reported with a suggestion: %j', (content, says) => {
    expect(complaintOf({ configFile: fileOf(content) })).toContain(says)
  })

  it('in the name of a variable is reported, and no other variable', () => {
    const env = {
      SCRIPSTREAM_RETRY: '1',
      SCRISTREAM_OUT: 'x',
      SCRIPSTREAM_NEWSLIMIT: '5',
      SCRIPSTREAM_NEWS_LIMIT: '5',
      NEWSLIMIT: '5',
      FETCH_OHLVC: '0',
      SCRIPSTREAM_OUT: 'y',
      FETCH_ALL: '1',
      PATH: '/bin',
      NEWS_API: 'x',
    }
    expect(findMisspeltVariables(env, streams)).toEqual([
      'unknown variable SCRIPSTREAM_RETRY is ignored. Did you mean SCRIPSTREAM_RETRIES?',
      'unknown variable SCRISTREAM_OUT is ignored. Did you mean SCRIPSTREAM_OUT?',
      'unknown variable SCRIPSTREAM_NEWSLIMIT is ignored. Did you mean NEWS_LIMIT?',
      'unknown variable SCRIPSTREAM_NEWS_LIMIT is ignored. Did you mean NEWS_LIMIT?',
      'unknown variable FETCH_OHLVC is ignored. Did you mean FETCH_OHLCV?',
    ])
  })
})
