import { concat, defer, NEVER, of } from 'rxjs'
import type { Session } from '../pipeline/session.js'
import type { Storage } from '../pipeline/storage.js'
import { createJournal, type JournalSpool } from './create-journal.js'
import { separateRecords } from './json-lines.js'

/** A session whose journals are in memory, so no run can be resumed. */
export const memorySession: Storage['begin'] = ({ choose, streams }) =>
  defer(() => {
    const session: Session = {
      record: choose(undefined),
      isContinued: false,
      journals: new Map(streams.map((facts) => [facts.stream, createJournal(facts, spool, { earlier: new Map(), groups: new Map() })])),
      finish: () => of(undefined),
    }
    return concat(of(session), NEVER)
  })

const spool: JournalSpool<readonly string[]> = {
  append: (_, records) => of(records ?? []),
  read: (records) => separateRecords(Array.from(records, ([texts, index]) => texts[index] as string)),
}
