import { basename } from 'node:path'
import { omitUndefined } from '../../model/row.js'
import { readDay } from '../../model/trading-day.js'
import { disk } from '../disk.js'
import { isTemporaryName, yieldTurn } from '../file-system.js'
import { listHistoryGuide } from './guide.js'
import { findCopy, RESTORE, readIntact } from './intact-files.js'
import {
  BASES,
  type Damage,
  EARLIER_DAY,
  FACTS_FILE,
  type History,
  listRecordFiles,
  nameHistoryFile,
  readHead,
  toHistoryPath,
  WORK_FOLDER,
} from './record.js'

/**
 * Reads every byte of the record and compares it with its digests: facts, lists and bases, and the chain from
 * each record to the one before. Also finds files that do not belong to it. Changes nothing.
 */
export const findDamages = async (history: History): Promise<readonly Damage[]> => {
  const { root, records, deleted, damages } = history
  const found: Damage[] = [...damages, ...(await checkChain(history))]
  const report = (name: string, detail: string): void => void found.push(toDamage(name, detail))
  const files = new Map([...records, ...deleted].flatMap(listRecordFiles).map((file) => [file.name, file]))
  for (const file of files.values()) {
    const state = readIntact(history, file)
    const copy = typeof state === 'string' && findCopy(history, file)
    if (typeof state === 'string')
      report(
        file.name,
        `it ${state}; ${copy ? `${nameHistoryFile(copy.name)} is the same file: copy it` : RESTORE}`,
      )
    await yieldTurn()
  }
  for (const [name, text] of records.length === 0 ? [] : listHistoryGuide(history))
    if ((await disk.readFile(toHistoryPath(root, name), 'utf8').catch(() => undefined)) !== text)
      report(name, 'it differs from what the records say; the next run rewrites it')
  for (const name of await listStrangers(history, files.keys()))
    report(name, 'it does not belong to the history; move it away')
  return found
}

/**
 * Each record names the one before with its digest, and views.sql the newest one; a missing one must have
 * been deleted on request.
 */
const checkChain = async ({ root, records, deleted, damages }: History): Promise<readonly Damage[]> => {
  const links = [...records, ...deleted]
  const damaged = new Set(damages.map(({ file }) => file))
  const numbers = new Set(links.map(({ number }) => number))
  const head = await readHead(root)
  const last = head ? [{ name: 'views.sql', file: 'views.sql', number: head.number + 1, previous: head }] : []
  const all = records.map(({ name, number, previous }) => ({
    name,
    file: `${name}/${FACTS_FILE}`,
    number,
    previous,
  }))
  return [...all, ...last].flatMap(({ name, file, number, previous }): readonly Damage[] => {
    if (previous === undefined || damaged.has(nameHistoryFile(`${previous.name}/${FACTS_FILE}`))) return []
    const before = links.filter((one) => one.name === previous.name)
    if (before.some(({ digest }) => digest === previous.digest) && numbers.has(number - 1)) return []
    const missing = `missing record: ${name} names it, and it was not deleted on request; restore it from a backup`
    if (before.length === 0) return [toDamage(previous.name, missing)]
    return [
      toDamage(file, `its link to ${previous.name} does not match that record: one of the two was replaced`),
    ]
  })
}

const toDamage = (name: string, detail: string): Damage =>
  omitUndefined({ day: readDay(name.slice(0, 10)), file: nameHistoryFile(name), detail })

/**
 * Files and folders that do not belong to the record. Temporary files and unneeded bases, which a killed run
 * leaves, are deleted later.
 */
const listStrangers = async (
  { root, records, deleted, damages, earlier }: History,
  files: Iterable<string>,
): Promise<readonly string[]> => {
  const facts = records.flatMap(({ name }) => [name, `${name}/${FACTS_FILE}`])
  const own = new Set([
    ...files,
    ...facts,
    ...earlier.map((day) => `${day}${EARLIER_DAY}`),
    BASES,
    'README.md',
    'views.sql',
  ])
  // The files of a damaged record are unknown; those of a deleted one are about to go.
  const unread = [
    ...damages.map(({ file }) => file.slice(nameHistoryFile('').length, -1 - FACTS_FILE.length)),
    ...deleted.map(({ name }) => name),
  ]
  const isOwn = (name: string) =>
    own.has(name) ||
    readDay(name) === name ||
    [`${BASES}/`, WORK_FOLDER, ...unread].some((start) => name.startsWith(start))
  const all = (await disk.readdir(toHistoryPath(root), { recursive: true }).catch(() => []))
    .map((name) => name.replaceAll('\\', '/'))
    .sort()
  const strangers = all.filter((name) => !isOwn(name) && !isTemporaryName(basename(name)))
  return strangers.filter((name) => !strangers.some((other) => name.startsWith(`${other}/`)))
}
