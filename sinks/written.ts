import { mergeMap, type Observable, type OperatorFunction, reduce } from 'rxjs'
import type { SinkReport } from '../src/pipeline/storage.js'

const WRITES_AT_ONCE = 8

/** Runs a few writes at a time and sums them up; a source emits for each thing to write the write itself, which emits its bytes. */
export const written = (): OperatorFunction<Observable<number>, SinkReport> => (write$) =>
  write$.pipe(
    mergeMap((write) => write, WRITES_AT_ONCE),
    reduce(({ files, bytes }, more) => ({ files: files + 1, bytes: bytes + more }), { files: 0, bytes: 0 }),
  )
