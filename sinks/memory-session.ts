import { concat, defer, NEVER, of } from 'rxjs'
import type { Session } from '../src/pipeline/session.js'
import type { Storage } from '../src/pipeline/storage.js'
import { journalOver, type Spool } from './journal-over.js'
import { separated } from './json-lines.js'

/** A session whose journals are in memory, so no run can be resumed. */
export const memorySession: Storage['begin'] = ({ choose, streams }) =>
  defer(() => {
    const session: Session = {
      record: choose(undefined),
      isContinued: false,
      journals: new Map(streams.map((facts) => [facts.stream, journalOver(facts, spool, { earlier: new Map(), groups: new Map() })])),
      finish: () => of(undefined),
    }
    return concat(of(session), NEVER)
  })

const spool: Spool<readonly string[]> = {
  append: (_, records) => of(records ?? []),
  read: (records) => separated(Array.from(records, ([texts, index]) => texts[index] as string)),
}
