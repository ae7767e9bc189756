import { encodeLines } from '../../sinks/ndjson.js'
import { UsageError } from '../model/errors.js'
import { WatchRule } from '../model/settings.js'
import { parseOptions } from '../model/settings-issues.js'
import { findClosest, suggest } from '../model/text.js'
import { requireFolder } from '../storage/run-state.js'
import { type Answer, defineCommand, type Input } from './command.js'
import {
  checkDay,
  choiceArgument,
  choiceOption,
  dayOption,
  flag,
  folderFlags,
  listFlag,
  trimDistinct,
} from './options.js'
import { signalLines } from './run/watch.js'
import { type AnswerLine, printWarning } from './terminal/terminal.js'
import { clean, formatQuantity } from './terminal/text.js'

const splitNames = (text: string): readonly string[] => trimDistinct(text.split(','))

export const addWatch = defineCommand({
  name: 'watch',
  about: 'Lists the signals of rules: what entered, left or changed in their rows. Adds and removes rules.',
  args: [
    choiceArgument(
      '[action]',
      'add: add a rule; remove: remove it (its signals stay); rules: list the worked ones',
      ['add', 'remove', 'rules'],
    ),
    ['[name]', 'the rule; without a statement a worked one'],
    ['[statement]', 'a SELECT, or the name of a saved or worked query'],
  ],
  flags: () => ({
    key: listFlag('--key <columns>', 'add: what a row is about (default: symbol, or all)', splitNames),
    only: listFlag('--only <changes>', 'add: entered, left or changed (default: all)', splitNames),
    cooldown: flag('--cooldown <sessions>', 'add: after a signal none of its subject for "5 sessions"'),
    notify: flag('--notify', 'add: a signal makes a notification due'),
    since: dayOption('--since <day>', 'signals from this day on, not only the newest'),
    replay: flag('--replay <days>', 'FROM..TO: what the rules would have found; records nothing'),
    format: choiceOption('--format <how>', 'default: text', ['text', 'json', 'ndjson'] as const),
    ...folderFlags(),
  }),
  examples: [
    ['scripstream watch add asm-stages', 'a worked rule, asked after each complete run'],
    ['scripstream watch add cheap "select symbol from screener where pe_ttm < 8"', 'your own'],
    ['scripstream watch --since 2026-02-02', 'the recorded signals'],
    ['scripstream watch --replay 2026-01-01..2026-02-13', 'as if the rules had stood then'],
  ],
  notes: ['Rules read the tables as of each recorded day: they never look ahead.'],
  needs: ['@duckdb/node-api'],
  run: async ({ since, replay, format, out: _, config: __, ...options }, input) => {
    const [action, name, statement] = input.typed
    const own = Object.keys(options).find((option) => options[option as keyof typeof options] !== undefined)
    if (action !== 'add' && own !== undefined)
      throw new UsageError(`--${own} belongs to "scripstream watch add"`)
    if (action === 'rules') return listWorked(format)
    if (action !== undefined && name === undefined) throw new UsageError(`watch ${action}: name the rule`)
    await requireFolder(input.settings().out)
    if (action === 'add') return addRule({ name, query: statement ?? name, ...options }, input)
    if (action === 'remove') return removeRule(String(name), input)
    return showSignals({ since, replay, format }, input)
  },
})

/** Rows as JSON or NDJSON; undefined for a text. */
const formatRecords = async (
  rows: readonly object[],
  format: string | undefined,
): Promise<Answer | undefined> => {
  if (format === 'json') return { text: `${JSON.stringify(rows, undefined, 2)}\n` }
  return format === 'ndjson' ? { text: (await encodeLines(rows)).join('') } : undefined
}

const listWorked = async (format: string | undefined): Promise<Answer> => {
  const { workedRules } = await import('../tables/changes/watch-rules.js')
  const answer = await formatRecords(workedRules, format)
  if (answer !== undefined) return answer
  const describe = ({ name, about, key, only, sql }: (typeof workedRules)[number]): readonly AnswerLine[] => [
    [[name, 'bold'], [`: ${about}`]],
    ...[`key ${key.join(', ')}; ${only.join(', ')}`, ...sql.split('\n')].map(
      (line) => [[`  ${line}`, 'dim']] as const,
    ),
  ]
  return { lines: () => workedRules.flatMap(describe) }
}

/** Adds a rule, or replaces the one of that name, once its query has answered. */
const addRule = async (given: object, { settings, dependencies: { streams } }: Input): Promise<Answer> => {
  const rule = parseOptions(WatchRule, given, 'watch add')
  const { out: root, watch } = settings()
  const { readAddedRules, writeAddedRules } = await import('../tables/changes/watch-rules.js')
  const { readLastChanges } = await import('../tables/changes/watch.js')
  rejectOwn(rule.name, watch)
  const added = await readAddedRules(root)
  const { rows } = await readLastChanges(rule, { root, streams })
  const others = added.filter(({ name }) => name !== rule.name)
  await writeAddedRules(root, [...others, rule])
  const done = others.length < added.length ? 'is replaced' : 'stands'
  return {
    text: `${rule.name} ${done}: ${formatQuantity(rows, 'row')} now; each complete run looks for what changes in them\n`,
  }
}

const rejectOwn = (rule: string, watch: readonly WatchRule[]): void => {
  if (watch.some(({ name }) => name === rule))
    throw new UsageError(`${rule} stands in the settings ("watch"); change it there`)
}

const removeRule = async (rule: string, { settings }: Input): Promise<Answer> => {
  const { out: root, watch } = settings()
  const { readAddedRules, writeAddedRules } = await import('../tables/changes/watch-rules.js')
  rejectOwn(rule, watch)
  const added = await readAddedRules(root)
  const names = added.map(({ name }) => name)
  if (!names.includes(rule))
    throw new UsageError(
      `unknown rule: ${rule}${suggest(findClosest(rule, names))}; those of the folder: ${names.join(', ') || 'none'}`,
    )
  await writeAddedRules(
    root,
    added.filter(({ name }) => name !== rule),
  )
  return { text: `${rule} no longer stands; its signals stay\n` }
}

const readDayRange = (text: string) => {
  const [from = '', to = '', ...more] = text.split('..')
  if (more.length > 0 || to === '')
    throw new UsageError(
      `--replay: invalid days ${JSON.stringify(text)}; use FROM..TO, such as 2026-01-01..2026-02-13`,
    )
  if (checkDay('--replay', from) > checkDay('--replay', to))
    throw new UsageError(`--replay: ${from} is after ${to}`)
  return { from, to }
}

/** The recorded signals, or those of a replay, with what is known of the rules. */
const showSignals = async (
  { since, replay, format }: Readonly<Record<'since' | 'replay' | 'format', string | undefined>>,
  { settings, io, dependencies: { streams } }: Input,
): Promise<Answer> => {
  const days = replay === undefined ? undefined : readDayRange(replay)
  const { out: root, watch } = settings()
  const { listRules } = await import('../tables/changes/watch-rules.js')
  const { describeRules, replayRules } = await import('../tables/changes/watch.js')
  const { readSignals } = await import('../tables/changes/watch-record.js')
  const rules = await listRules(root, watch)
  const replayed = days && (await replayRules(rules, days, { root, streams }))
  for (const failure of replayed?.failures ?? []) printWarning(clean(failure), io.stderr)
  const signals = replayed?.signals ?? (await readSignals(root, { since: since ?? 'newest' }))
  const answer = await formatRecords(signals, format)
  if (answer !== undefined) return answer
  const states = days === undefined ? await describeRules(root, rules) : []
  return {
    lines: () => [
      ...(rules.length === 0 ? ['There is no rule; "scripstream watch rules" lists some to add.'] : []),
      ...states.map(
        ({ name, text, isBad }) =>
          [
            [name, 'bold'],
            [`: ${text}`, isBad ? 'yellow' : undefined],
          ] as const,
      ),
      ...(signals.length === 0 && rules.length > 0 ? ['No signal.'] : signalLines(signals)),
    ],
  }
}
