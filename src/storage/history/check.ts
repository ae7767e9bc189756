import { readdir, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { omitUndefined } from '../../model/row.js'
import { readDay } from '../../model/trading-day.js'
import { isTemporaryName } from '../atomic-file.js'
import { listGuide } from './guide.js'
import {
  type Damage,
  FACTS_FILE,
  findCopy,
  type History,
  listRecordFiles,
  nameHistoryFile,
  RESTORE,
  readIntact,
  toHistoryPath,
} from './record.js'
import { WORK_FOLDER } from './write-record.js'

/**
 * Reads every byte of the record and compares it with its digests: facts, lists and bases, and the chain from each record to the one before.
 * Also finds files that do not belong to it. Changes nothing.
 */
export const findDamages = async (history: History): Promise<readonly Damage[]> => {
  const { root, records, deleted, damages } = history
  const found: Damage[] = [...damages, ...checkChain(history)]
  const report = (name: string, detail: string): void =>
    void found.push(omitUndefined({ day: readDay(name.slice(0, 10)), file: nameHistoryFile(name), detail }))
  const files = new Map([...records, ...deleted].flatMap(listRecordFiles).map((file) => [file.name, file]))
  for (const file of files.values()) {
    const state = readIntact(history, file)
    const copy = typeof state === 'string' && findCopy(history, file)
    if (typeof state === 'string')
      report(file.name, `it ${state}; ${copy ? `${nameHistoryFile(copy.name)} is the same file: copy it` : RESTORE}`)
    await yieldToEventLoop()
  }
  for (const [name, text] of records.length === 0 ? [] : listGuide(history))
    if ((await readText(root, name)) !== text) report(name, 'it differs from what the records say; the next run rewrites it')
  for (const name of await listStrangers(history, new Set(files.keys()))) report(name, 'it does not belong to the history; move it away')
  return found
}

const readText = (root: string, name: string): Promise<string | undefined> =>
  readFile(toHistoryPath(root, name), 'utf8').catch(() => undefined)

/** Each record names the one before with its digest; a missing one must have been deleted on request. */
const checkChain = ({ records, deleted, damages }: History): readonly Damage[] => {
  const links = [...records, ...deleted]
  const damaged = new Set(damages.map(({ file }) => file))
  const numbers = new Set(links.map(({ number }) => number))
  return records.flatMap(({ name, day, number, previous }): readonly Damage[] => {
    if (previous === undefined || damaged.has(nameHistoryFile(`${previous.name}/${FACTS_FILE}`))) return []
    const before = links.filter((one) => one.name === previous.name)
    if (before.some(({ digest }) => digest === previous.digest) && numbers.has(number - 1)) return []
    const missing = `missing record: ${name} names it as the one before, and it was not deleted on request; restore it from a backup`
    if (before.length === 0) return [{ day, file: nameHistoryFile(previous.name), detail: missing }]
    const detail = `its link to ${previous.name} does not match that record: one of the two was replaced`
    return [{ day, file: nameHistoryFile(`${name}/${FACTS_FILE}`), detail }]
  })
}

/** What belongs to the record besides the files that records name. A kill can leave a base that none needs; compaction deletes it. */
const OWN =
  /^(\d{4}(-\d\d){2}(\.day|\/\d{8}T\d{6}Z(-\d+)?(\/record\.json)?)?|bases(\/.+(-[\da-f]{16}\.parquet|\.base))?|README\.md|views\.sql)$/

/** Files and folders that do not belong to the record. Files of a killed run are not listed: the next run deletes them. */
const listStrangers = async ({ root, deleted, damages }: History, known: ReadonlySet<string>): Promise<readonly string[]> => {
  const all = (await readdir(toHistoryPath(root), { recursive: true }).catch(() => [])).map((name) => name.replaceAll('\\', '/')).sort()
  const unread = [
    ...damages.map(({ file }) => file.slice(0, -FACTS_FILE.length)),
    ...deleted.map(({ name }) => nameHistoryFile(`${name}/`)),
  ]
  const isOwn = (name: string): boolean =>
    known.has(name) || OWN.test(name) || name.startsWith(WORK_FOLDER) || unread.some((folder) => nameHistoryFile(name).startsWith(folder))
  const strangers = all.filter((name) => !isOwn(name) && !isTemporaryName(basename(name)))
  return strangers.filter((name) => !strangers.some((other) => name.startsWith(`${other}/`)))
}
