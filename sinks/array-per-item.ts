import { filter, switchMap } from 'rxjs'
import { runNamed } from '../src/model/errors.js'
import { isAnswered, isLost } from '../src/model/outcome.js'
import type { Row } from '../src/model/row.js'
import { type ArrayPerItem, toFilePath } from '../src/pipeline/output.js'
import type { Sink, SinkContext } from '../src/pipeline/storage.js'
import type { FileStore } from '../src/storage/file-store.js'
import { filePerItem } from '../src/storage/file-store.js'
import { arrayText } from '../src/storage/record-file.js'

/** Writes the records of each answered item as one JSON array. A failed item does not change the earlier file. */
export const arrayPerItem = (
  { select, emptyWhenLost = false, keepsWhenEmpty = false, ...output }: ArrayPerItem,
  { stream, exchange, asOf }: SinkContext,
  files: FileStore,
): Sink =>
  filePerItem((outcome) => {
    if (!isAnswered(outcome) && !(emptyWhenLost && isLost(outcome))) return undefined
    const file = toFilePath(output, exchange, outcome.item)
    const rows = [...outcome.rows] as readonly Row[]
    const write$ = files.write(
      file,
      arrayText((select ? runNamed(`select of ${stream}`, outcome.item.key, () => select(rows)) : rows).map((row) => JSON.stringify(row))),
      asOf,
    )
    const keepsEarlier = isLost(outcome) || (keepsWhenEmpty && outcome.status === 'empty')
    if (!keepsEarlier) return { file, write$ }
    const ifMissing$ = files.exists(file).pipe(
      filter((exists) => !exists),
      switchMap(() => write$),
    )
    return { file, write$: ifMissing$ }
  })
