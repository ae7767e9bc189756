import { listTables } from '../../engine/define-stream.js'
import { UsageError } from '../../model/errors.js'
import type { Deletable } from '../../storage/history/delete.js'
import { type Answer, defineCommand, type Input } from '../command.js'
import { checkDay, choiceArgument, flag, folderFlags, jsonFlag } from '../options.js'
import { type AnswerLine, printLines } from '../terminal/terminal.js'
import { formatBytes, formatQuantity } from '../terminal/text.js'
import { summaryLines } from './days.js'
import { showRuns } from './runs.js'

export const addHistory = defineCommand({
  name: 'history',
  about: 'Shows the days that runs have recorded, or the runs themselves; deletes days.',
  args: [
    choiceArgument(
      '[action]',
      'delete: that day; prune: the days before it; compact: bases (whole lists to which days add their changes) that no day needs',
      ['delete', 'prune', 'compact'],
    ),
    ['[day]', 'the day to delete, or the first that stays'],
  ],
  flags: () => ({
    ...folderFlags(),
    runs: flag('--runs [run]', 'the runs, or one: its id, a day, "last", or -2 for the one before'),
    dryRun: flag('--dry-run', 'show what would be deleted, and delete nothing'),
    yes: flag('--yes', 'do not ask for confirmation'),
    json: jsonFlag(),
  }),
  examples: [
    ['scripstream history', 'the recorded days, their sizes, and the sessions without a record'],
    ['scripstream history --runs', 'the last 20 runs: when, how long, outcome, what failed'],
    ['scripstream history --runs 2026-11-17', 'the runs of that day, and what failed'],
    ['scripstream history delete 2027-02-12', 'delete one day, such as one recorded with a wrong clock'],
    [
      'scripstream history prune 2025-01-01 --dry-run',
      'the days before 2025, which the command without --dry-run deletes',
    ],
    ['scripstream history compact', 'delete what no day needs'],
  ],
  run: async (flags, input) => {
    const [action, day] = input.typed
    const { dryRun = false, yes = false, json = false, runs } = flags
    checkAction(action, day, dryRun || yes)
    if (action !== undefined && runs !== undefined)
      throw new UsageError(`--runs lists runs; history ${action} takes none`)
    const { out, exchange } = input.settings()
    if (action !== undefined)
      return deleteFromHistory(
        out,
        { [action === 'prune' ? 'before' : 'day']: day, dryRun, yes, json },
        input,
      )
    if (runs !== undefined) return showRuns(out, runs, input)
    const { describeHistory } = await import('../../tables/history/describe-history.js')
    const summary = await describeHistory(out, { streams: input.dependencies.streams, exchange })
    const { describeEarlier } = await import('../../storage/history/choose.js')
    return {
      json: summary,
      lines: () => [...summaryLines(summary), ...describeEarlier(summary.earlier).map((text) => `${text}.`)],
    }
  },
})

const checkAction = (action: string | undefined, day: string | undefined, isDeletion: boolean): void => {
  if (action === undefined && isDeletion)
    throw new UsageError('--dry-run and --yes belong to "scripstream history delete", "prune" and "compact"')
  if (action === 'compact' && day !== undefined)
    throw new UsageError(`history compact takes no day; "scripstream history delete ${day}" deletes one`)
  if ((action === 'delete' || action === 'prune') && day === undefined) {
    const what = action === 'delete' ? 'the day' : 'the first day that stays'
    throw new UsageError(
      `history ${action}: name ${what}, such as "scripstream history ${action} 2026-02-12"`,
    )
  }
  if (day !== undefined) checkDay(`history ${action}`, day)
}

/** Which days are deleted: one, or those before a day. */
interface DeletionChoice {
  readonly day?: string | undefined
  readonly before?: string | undefined
}

const deleteFromHistory = async (
  out: string,
  { day, before, dryRun, yes, json }: DeletionChoice & Readonly<Record<'dryRun' | 'yes' | 'json', boolean>>,
  { io, dependencies: { streams } }: Input,
): Promise<Answer> => {
  const { findDeletable, deleteDays } = await import('../../storage/history/delete.js')
  const found = await findDeletable(out, { day, before })
  if (dryRun || found.files.length === 0)
    return { json: { folder: out, isDryRun: dryRun, ...found }, lines: () => deletableLines(found) }
  if (!json) printLines(deletableLines(found), io.stderr)
  if (!yes) await confirm(io, found)
  const deleted = await deleteDays(out, { day, before, tables: listTables(streams) }, io.scheduler.now())
  return {
    json: { folder: out, isDryRun: false, ...deleted },
    lines: () => [`Deleted ${describeAmount(deleted)}.`],
  }
}

/** Asks on a terminal. @throws UsageError without one, or if the answer is no */
const confirm = async (
  { stdin, stderr, readLine }: Input['io'],
  { days, files }: Deletable,
): Promise<void> => {
  if (!stdin.isTTY)
    throw new UsageError(
      'nothing was deleted: stdin is no terminal; add --yes to confirm, or --dry-run to preview',
    )
  const what =
    days.length === 0
      ? `${formatQuantity(files.length, 'base')}?`
      : `${formatQuantity(days.length, 'recorded day')}? ${days.length === 1 ? 'It' : 'They'} cannot be fetched again.`
  stderr.write(`Delete ${what} [y/N] `)
  if (!/^\s*y(es)?\s*$/i.test(await readLine())) throw new UsageError('cancelled; nothing was deleted')
}

const describeAmount = ({ days, files }: Deletable): string => {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  return `${days.length === 0 ? '' : `${formatQuantity(days.length, 'day')}, `}${formatQuantity(files.length, 'file')}, ${formatBytes(bytes)}`
}

const deletableLines = (found: Deletable): readonly AnswerLine[] => {
  const { days, files } = found
  if (files.length === 0) return ['Nothing to delete.']
  const bases = files.filter(({ path }) => path.includes('/bases/')).length
  return [
    ...days.map((day) => `  ${day}`),
    ...(bases === 0 ? [] : [`  ${formatQuantity(bases, 'base')} that no other day needs`]),
    `To be deleted: ${describeAmount(found)}.`,
  ]
}
